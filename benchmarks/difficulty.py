"""How hard each kind of question is, by the share that plain retrieval gets right.

    python benchmarks/difficulty.py DIR ...

Each DIR is the folder of a built persona. The lexical, the vector and the hybrid baseline ingest all
of it and answer every question that still holds at its end; the offline judge grades them. An answer
is right if its correctness is 2 of 3 or more. Prints the share right by kind and baseline, then the
table for `features/personas/world/difficulty.toml`.
"""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import recall_bench
from recall_bench.core.event import Judged, NotAnswered
from recall_bench.core.scenario import CATEGORIES
from recall_bench.core.yaml12 import load_yaml
from recall_bench.stories.persona_files import Layout
from recall_bench.stories.story_folders import find_story

BASELINES = ("bm25", "vector", "hybrid")
RIGHT = 2
"""The least correctness, of three, of a right answer."""
EASY = 0.5
"""The least share right, as the mean of the baselines, of an easy kind."""
HARD = 0.2
"""The highest share right of a hard kind."""
FEWEST = 10
"""Kinds with fewer questions are not in the table, and so count as medium."""


@dataclass
class QuestionKind:
    """The results of the baselines on one kind of question."""

    right: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BASELINES, 0))
    asked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BASELINES, 0))

    @property
    def n(self) -> int:
        return max(self.asked.values())

    def compute_share(self, baseline: str) -> float:
        return self.right[baseline] / self.asked[baseline]

    @property
    def mean(self) -> float:
        return fmean(self.compute_share(baseline) for baseline in BASELINES)

    @property
    def is_measured(self) -> bool:
        return self.n >= FEWEST

    @property
    def difficulty(self) -> str:
        return "easy" if self.mean >= EASY else "hard" if self.mean <= HARD else "medium"


def read_kinds(layout: Layout) -> dict[str, str]:
    """The kind of every question, as the simulator recorded it."""
    rows = load_yaml(layout.questions_file)
    assert isinstance(rows, list)
    try:
        return {row["id"]: row["kind"] for row in rows}
    except KeyError:
        sys.exit(f"{layout.name(layout.questions_file)} has no kinds; build the persona again")


def list_verdicts(folder: Path, arcs: str, baseline: str) -> Iterator[tuple[str, bool]]:
    """Each question asked at the end, and whether the baseline got it right."""
    with tempfile.TemporaryDirectory() as scratch:
        run = recall_bench.run(
            adapter=baseline,
            data=folder.parent,
            personas=(folder.name,),
            arcs=arcs,
            ranges="full",
            judge="offline",
            groups_enabled=True,
            into=Path(scratch, "run"),
            heatmap_png=False,
            write_question_log=False,
        )
        if not run.is_valid:
            sys.exit(f"{folder.name}, {baseline}: {run.summary.validity.reason}")
        for result in run.folder.results(folder.name):
            match result.outcome:
                case Judged(verdict=verdict):
                    yield result.item.id, verdict.marks["correctness"] >= RIGHT
                case NotAnswered():
                    yield result.item.id, False
                case _:
                    print(f"{result.trial}: no verdict, left out", file=sys.stderr)


def measure_kinds(folders: list[Path]) -> dict[str, QuestionKind]:
    """The results of every kind of question, in the order of the categories."""
    found: dict[str, QuestionKind] = defaultdict(QuestionKind)
    for folder in folders:
        arcs = find_story(folder, None).arcs
        kinds = read_kinds(Layout(folder, arcs))
        for baseline in BASELINES:
            print(f"{folder.name}: {baseline}", file=sys.stderr)
            for question, is_right in list_verdicts(folder, arcs, baseline):
                kind = found[kinds[question]]
                kind.asked[baseline] += 1
                kind.right[baseline] += is_right
    return dict(sorted(found.items(), key=lambda pair: (_get_category_rank(pair[0]), pair[0])))


def _get_category_rank(kind: str) -> int:
    return CATEGORIES.index(kind.partition("/")[0])


def main(words: list[str]) -> None:
    if not words:
        sys.exit("name the folders of built personas: python benchmarks/difficulty.py DIR ...")
    kinds = measure_kinds([Path(word).resolve() for word in words])
    print(f"{'kind':40}{'n':>6}" + "".join(f"{name:>8}" for name in BASELINES) + f"{'mean':>8}")
    for name, kind in kinds.items():
        shares = "".join(f"{kind.compute_share(baseline):>8.0%}" for baseline in BASELINES)
        label = kind.difficulty if kind.is_measured else "too few"
        print(f"{name:40}{kind.n:>6,}{shares}{kind.mean:>8.0%}  {label}")
    print(f"\neasy from {EASY:.0%} on, hard up to {HARD:.0%}, too few below {FEWEST} questions\n")
    for name, kind in kinds.items():
        if kind.is_measured:
            print(f'"{name}" = "{kind.difficulty}"  # {kind.mean:.0%} of {kind.n:,}')


if __name__ == "__main__":
    main(sys.argv[1:])
