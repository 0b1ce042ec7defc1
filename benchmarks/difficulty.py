"""How hard each kind of question is, by what plain retrieval gets right.

    python benchmarks/difficulty.py DIR ...

Each DIR is the folder of a built persona. The lexical, the vector and the hybrid baseline live
through all of it and are asked everything that still holds at its end; the offline judge rules. An
answer is right if its correctness is 2 of 3 or more. Printed are the share right by kind and
baseline and then the table of `generate/world/difficulty.toml`, ready to be put there.
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
from recall_bench.datasets.persona_files import Layout
from recall_bench.generate.shipped_personas import find_story

BASELINES = ("bm25", "vector", "hybrid")
RIGHT = 2
"""The correctness, of three, from which on an answer counts as right."""
EASY = 0.5
"""Kinds of which plain retrieval gets so many right, in the mean of the baselines, are easy."""
HARD = 0.2
"""Kinds of which it gets no more right than so many are hard."""
FEWEST = 10
"""Kinds with fewer questions say nothing: they stay out of the table, and so count as medium."""


@dataclass
class Kind:
    """How the baselines fared at one kind of question."""

    right: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BASELINES, 0))
    asked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BASELINES, 0))

    @property
    def n(self) -> int:
        return max(self.asked.values())

    def share(self, baseline: str) -> float:
        return self.right[baseline] / self.asked[baseline]

    @property
    def mean(self) -> float:
        return fmean(self.share(baseline) for baseline in BASELINES)

    @property
    def is_measured(self) -> bool:
        return self.n >= FEWEST

    @property
    def difficulty(self) -> str:
        return "easy" if self.mean >= EASY else "hard" if self.mean <= HARD else "medium"


def kinds_in(layout: Layout) -> dict[str, str]:
    """The kind of every question, as the simulator wrote it down."""
    rows = load_yaml(layout.questions_file)
    assert isinstance(rows, list)
    try:
        return {row["id"]: row["kind"] for row in rows}
    except KeyError:
        sys.exit(f"{layout.name(layout.questions_file)} says no kind; build the persona anew")


def verdicts(folder: Path, arcs: str, baseline: str) -> Iterator[tuple[str, bool]]:
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


def measured(folders: list[Path]) -> dict[str, Kind]:
    """Every kind that is asked anywhere, in the order of the categories."""
    found: dict[str, Kind] = defaultdict(Kind)
    for folder in folders:
        arcs = find_story(folder, None).arcs
        kinds = kinds_in(Layout(folder, arcs))
        for baseline in BASELINES:
            print(f"{folder.name}: {baseline}", file=sys.stderr)
            for question, is_right in verdicts(folder, arcs, baseline):
                kind = found[kinds[question]]
                kind.asked[baseline] += 1
                kind.right[baseline] += is_right
    return dict(sorted(found.items(), key=lambda pair: (_place(pair[0]), pair[0])))


def _place(kind: str) -> int:
    return CATEGORIES.index(kind.partition("/")[0])


def main(words: list[str]) -> None:
    if not words:
        sys.exit("name the folders of built personas: python benchmarks/difficulty.py DIR ...")
    kinds = measured([Path(word).resolve() for word in words])
    print(f"{'kind':40}{'n':>6}" + "".join(f"{name:>8}" for name in BASELINES) + f"{'mean':>8}")
    for name, kind in kinds.items():
        shares = "".join(f"{kind.share(baseline):>8.0%}" for baseline in BASELINES)
        label = kind.difficulty if kind.is_measured else "too few"
        print(f"{name:40}{kind.n:>6,}{shares}{kind.mean:>8.0%}  {label}")
    print(f"\neasy from {EASY:.0%} on, hard up to {HARD:.0%}, too few below {FEWEST} questions\n")
    for name, kind in kinds.items():
        if kind.is_measured:
            print(f'"{name}" = "{kind.difficulty}"  # {kind.mean:.0%} of {kind.n:,}')


if __name__ == "__main__":
    main(sys.argv[1:])
