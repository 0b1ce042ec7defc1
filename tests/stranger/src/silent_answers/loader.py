"""A dataset by name: a function from a path to scenarios."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path

from recall_bench import Episode, Item, Scenario, Truth
from recall_bench.core.scenario import Evidence


def load_two_lines(data: Path, layers: Mapping[str, Path]) -> Sequence[Scenario]:
    """Load a file of pairs of lines: what was said, and a question `what? | the answer`."""
    lines = [line for line in data.read_text(encoding="utf-8").splitlines() if line]
    episodes, items = [], []
    for day, (said, question) in enumerate(zip(lines[::2], lines[1::2], strict=True), start=1):
        text, _, reference = question.partition(" | ")
        episodes.append(Episode(id=f"day-{day}", day=day, at=datetime(2026, 1, day), text=said))
        truth = Truth(reference=reference, category="factual-recall", evidence=(Evidence(day=day),))
        items.append(Item(id=f"q{day}", text=text, truth=truth, known_from=day))
    return [
        Scenario(
            id="two-lines", epoch=date(2026, 1, 1), episodes=tuple(episodes), items=tuple(items)
        )
    ]
