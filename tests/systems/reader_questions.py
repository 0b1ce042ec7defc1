"""Questions and passages in a line."""

from datetime import datetime

from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Question


def ask(text: str, **more: object) -> Question:
    """A question put on the third of March."""
    usual: dict[str, object] = {"asked_at": datetime(2024, 3, 3), "scenario": "ada", "id": "q"}
    return Question(text=text, **usual | more)  # type: ignore[arg-type]


def found(*texts: str) -> tuple[Passage, ...]:
    """These texts as passages, best first."""
    return tuple(Passage(text=text) for text in texts)
