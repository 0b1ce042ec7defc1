"""Adapters with the optional parts of the contract."""

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

from recall_bench.systems.python.adapter import DayMetadata


class LedgerMemory:
    """An honest memory with everything: entries in a file, which are found by their words."""

    version = "1"

    def __init__(self, state_dir: Path) -> None:
        self._file = Path(state_dir) / "ledger.json"
        self._entries: list[dict[str, object]] = []
        self._kept_days: int | None = None

    def setup(self) -> None:
        self._entries = []
        self._write()

    def reopen(self) -> None:
        self._entries = json.loads(self._file.read_text())

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        self._entries.append(
            {
                "text": content,
                "id": metadata.episode_id,
                "day": day,
                "date": metadata.date,
                "session": metadata.session,
            }
        )
        if self._kept_days is not None:
            self.keep_days(self._kept_days)
        self._write()

    def query(self, question: str) -> str:
        words = {word.strip("?.,").lower() for word in question.split()}

        def count(entry: dict[str, object]) -> int:
            return len(words & {word.strip("?.,").lower() for word in str(entry["text"]).split()})

        best = max(self._entries, key=count, default=None)
        return str(best["text"]) if best and count(best) else "I do not know."

    def forget(self, subject: str) -> int:
        return self._erase(lambda entry: subject.lower() in str(entry["text"]).lower())

    def delete(self, name: str) -> bool:
        return self._erase(lambda entry: entry["id"] == name) > 0

    def delete_session(self, session: str) -> int:
        return self._erase(lambda entry: entry["session"] == session)

    def delete_person(self, name: str) -> None:
        self.forget(name)

    def keep_days(self, days: int) -> int:
        self._kept_days = days
        latest = max((str(entry["date"]) for entry in self._entries), default="2026-01-01")
        oldest = (date.fromisoformat(latest) - timedelta(days=days)).isoformat()
        return self._erase(lambda entry: str(entry["date"]) < oldest)

    def stored(self) -> list[dict[str, object]]:
        return [{key: entry[key] for key in ("text", "id", "day")} for entry in self._entries]

    def consolidate(self) -> None:
        merged: dict[object, dict[str, object]] = {}
        for entry in self._entries:
            merged.setdefault(entry["text"], entry)
        self._entries = list(merged.values())
        self._write()

    def _erase(self, is_erased: Callable[[dict[str, object]], bool]) -> int:
        left = [entry for entry in self._entries if not is_erased(entry)]
        count, self._entries = len(self._entries) - len(left), left
        self._write()
        return count

    def _write(self) -> None:
        self._file.write_text(json.dumps(self._entries))


class PlainMemory:
    """A memory with none of the optional parts."""

    def __init__(self) -> None:
        self._days: list[str] = []

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        self._days.append(content)

    def query(self, question: str) -> str:
        return self._days[-1]


class AsyncMemory(PlainMemory):
    """Its optional methods are coroutines; one of them is not implemented."""

    async def forget(self, subject: str) -> None:
        raise NotImplementedError

    async def delete(self, name: str) -> int:
        return 3

    async def stored(self) -> tuple[str, ...]:
        return tuple(self._days)


class OddMemory(PlainMemory):
    """Its optional methods return what cannot be read."""

    def forget(self, subject: str) -> str:
        return "done"

    def delete(self, name: str) -> int:
        return -1

    def stored(self) -> object:
        return [{"title": "no text"}]
