"""Adapters whose state can be saved in each of the three ways, loaded from this file by path."""

import json
from pathlib import Path


class Entry:
    """Something of the adapter's own file that is part of its state."""

    def __init__(self, text: str) -> None:
        self.text = text


class Plain:
    """Saved as the object it is."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        self.entries.append(Entry(content))

    def query(self, question: str) -> str:
        self.entries.append(Entry("asked"))
        return " | ".join(entry.text for entry in self.entries[:-1])

    def days_ingested(self) -> int:
        return sum(entry.text != "asked" for entry in self.entries)


class Filed:
    """Saved as what lies in its folder, which it goes on writing to."""

    def __init__(self, *, state_dir: Path) -> None:
        self.file = state_dir / "deep" / "days.txt"

    def setup(self) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.touch()

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        with self.file.open("a") as file:
            file.write(content.replace("\n", " ") + "\n")

    def query(self, question: str) -> str:
        said = self.file.read_text()
        with self.file.open("a") as file:
            file.write("asked\n")
        return said


class Own:
    """Saves itself, and restores by taking the file away."""

    def setup(self) -> None:
        self.days: list[str] = []

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        self.days.append(content)

    def query(self, question: str) -> str:
        self.days.append("asked")
        return " | ".join(self.days[:-1])

    def snapshot(self, path: Path) -> None:
        path.write_text(json.dumps(self.days))

    def restore(self, path: Path) -> None:
        self.days = json.loads(path.read_text())
        path.write_text("taken")

    def teardown(self) -> None:
        self.days = []
