"""`eval` as a command, with adapters in files that remember what they were asked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.commands import Invoke, Shown
from tests.features.datasets.evaluation.eval_datasets import write_locomo

Run = Callable[..., Shown]

ADAPTER = '''
from pathlib import Path

class Adapter:
    """Remembers every turn, and quotes those that share most words with the question."""

    name, version = "overlap", "1"
    answers = {answers}

    def setup(self):
        self.turns = []

    def ingest_day(self, day, content, metadata):
        self.turns += content.split("\\n\\n")

    def query(self, question):
        with Path({log!r}).open("a") as file:
            file.write(question + "\\n")
{before}
        wanted = set(question.lower().strip("?").split())
        best = sorted(self.turns, key=lambda turn: -len(wanted & set(turn.lower().split())))
        passages = [{{"text": turn}} for turn in best]
        return {{"passages": passages, **({{"answer": best[0]}} if self.answers else {{}})}}
'''


class Adapters:
    """Writes adapters, and knows what they were asked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "asked.txt"

    def __call__(self, before: str = "", *, answers: bool = True) -> Path:
        """An adapter that does this before it answers."""
        path = self._folder / "overlap.py"
        indented = "\n".join(f"        {line}" for line in before.splitlines())
        path.write_text(ADAPTER.format(before=indented, log=str(self._log), answers=answers))
        return path

    @property
    def asked(self) -> list[str]:
        """Every question that was put to one of them, in order."""
        return self._log.read_text().splitlines() if self._log.exists() else []


def runner(invoke: Invoke, folder: Path) -> Run:
    """`eval` on the hand-made LoCoMo, without floors unless they are named."""
    data = write_locomo(folder / "locomo10.json")

    def start(*words: object) -> Shown:
        floors = () if "--floors" in words else ("--no-floors",)
        # Its adapters write down what they are asked, which an isolated one could not.
        own = (*floors, "--in-process")
        return invoke("eval", "--dataset", "locomo", "--data", data, *own, *words)

    return start


def report(number: int = 1, place: str = "reports/locomo/strict-2") -> dict[str, Any]:
    path = Path(place, f"run-{number}", f"{Path(place).parts[1]}.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def numbers() -> list[str]:
    return sorted(path.name for path in Path("reports").glob("*/*/run-*"))


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what differs from one day, and one machine's mood, to the next."""
    kept = {key: value for key, value in report.items() if key not in ("at", "active_s", "code")}
    kept["service"] = {
        key: value for key, value in report["service"].items() if not key.endswith(("_s", "_ms"))
    }
    kept["questions"] = [
        {key: value for key, value in each.items() if key != "seconds"}
        for each in report["questions"]
    ]
    return kept


def figures(report: dict[str, Any], group: str = "all") -> dict[str, float]:
    found = next(each["figures"] for each in report["groups"] if each["name"] == group)
    return {name: each["mean"] for name, each in found.items()}
