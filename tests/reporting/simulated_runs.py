"""Runs on disk whose marks follow a rule that is known."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import numpy as np
from numpy.random import Generator

from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Item
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from tests.written_runs import NOON, Story, plan_of, question, trial

LABELS = ("2d", "4d")
_WRITTEN = count()


def questions(count: int, *categories: str) -> tuple[Item, ...]:
    """Questions that are asked at both checkpoints, the categories in turn."""
    names = categories or ("factual-recall",)
    return tuple(question(f"q{n}", names[n % len(names)]) for n in range(count))


def verdict_of(points: int) -> Verdict:
    """A verdict with these points, grounded if there are any."""
    grounded = min(points, 1)
    correctness = min(points - grounded, 3)
    return Verdict.of(correctness, points - grounded - correctness, grounded)


def write_run(
    folder: Path, items: Sequence[Item], points: Mapping[Trial, int], **settings: object
) -> Path:
    """A finished run over one persona, in which each trial came to these points.

    No two begin at the same time: that would make one a copy of the other.
    """
    start = NOON + timedelta(hours=next(_WRITTEN))
    return write_run_at(start, folder, items, points, **settings)


def write_run_at(
    start: datetime,
    folder: Path,
    items: Sequence[Item],
    points: Mapping[Trial, int],
    **settings: object,
) -> Path:
    """The same, begun at a given time."""
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(folder, scenarios, plan_of(scenarios, **settings), start=start)
    for each, mark in points.items():
        story.both(each, verdict_of(mark))
    story.end()
    return story.save()


def drawn(chance: Generator, own: np.ndarray) -> dict[Trial, int]:
    """Points at both checkpoints, `own` being how each question goes in this run."""
    noise = chance.normal(0.0, 0.3, (len(own), len(LABELS)))
    points = np.clip(np.rint(own[:, np.newaxis] + noise), 0, 6).astype(int)
    return {
        trial(f"q{number}", label): int(points[number, place])
        for number in range(len(own))
        for place, label in enumerate(LABELS)
    }


def drawn_pair(
    chance: Generator, folder: Path, items: Sequence[Item], *, shift: float = 0.0
) -> list[RunFolder]:
    """Two runs that find a question as hard as it is, each with its own luck with it.

    The second is better by `shift` points on every question, as far as marks go.
    """
    hard = chance.normal(3.0, 1.2, len(items))
    folders = []
    for number, more in enumerate((0.0, shift)):
        own = hard + chance.normal(0.0, 0.9, len(items)) + more
        path = write_run(folder / str(number), items, drawn(chance, own))
        folders.append(RunFolder.open(path))
    return folders
