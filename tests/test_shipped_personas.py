"""The six personas that ship: written with care, played to the byte, and proved from their text."""

from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from recall_bench.core.question import CATEGORIES, GROUP_CATEGORIES
from recall_bench.datasets.layout import DEFAULT_ARCS
from recall_bench.datasets.persona import Inspection, inspect, read_persona
from recall_bench.datasets.story import ARC_TYPES
from recall_bench.lint.finding import Severity
from recall_bench.lint.report import examine
from recall_bench.proof.check import check
from recall_bench.shipped import SOURCES, catalogue, materialised
from recall_bench.world.build import build
from recall_bench.world.knobs import Knobs
from recall_bench.world.sources import read_sources
from recall_bench.world.validation import problems

PERSONAS = (
    "backend-eng-saas",
    "er-physician",
    "executive-assistant",
    "financial-advisor",
    "litigation-attorney",
    "research-scientist",
)
STORIES = [*((name, DEFAULT_ARCS) for name in PERSONAS), ("executive-assistant", "arcs-180d.yaml")]

pytestmark = pytest.mark.slow


def test_these_are_the_ones() -> None:
    assert tuple(catalogue()) == PERSONAS


@pytest.mark.parametrize(("name", "arcs"), STORIES)
def test_the_sources_are_sound(name: str, arcs: str) -> None:
    sources = read_sources(SOURCES / name, arcs)
    kinds = Counter(arc.type for arc in sources.story.arcs)
    isolated = [session.id for session in sources.persona.sessions if session.isolated]

    assert problems(sources) == []
    assert 12 <= len(sources.story.arcs) <= 25
    assert set(kinds) == set(ARC_TYPES)
    assert kinds["correction"] >= (4 if arcs == DEFAULT_ARCS else 2)
    assert sources.story.away
    assert len(isolated) >= (4 if name == "executive-assistant" else 2)


@pytest.mark.parametrize(("name", "arcs"), STORIES)
def test_every_answer_is_derived_from_the_text_again(name: str, arcs: str) -> None:
    folder = materialised(name, arcs)

    report = check(folder, arcs)

    assert report.findings == ()
    assert report.rederived == report.questions == catalogue()[name][arcs].questions


@pytest.mark.parametrize("name", PERSONAS)
def test_the_text_and_the_questions_stand_up_to_an_editor(name: str) -> None:
    folder = materialised(name, DEFAULT_ARCS)
    found = inspect(folder, arcs=DEFAULT_ARCS)
    report = examine(folder, arcs=DEFAULT_ARCS)
    words = [len(text.split()) for text in _texts(folder)]

    assert (found.problems, found.warnings) == ([], [])
    assert report.count(Severity.ERROR) == 0
    assert "repeated-sentences" not in report.counts
    assert "copied-day" not in report.counts
    assert 300 <= median(words) <= 900
    assert min(words) < 200
    assert max(words) < 2500
    _are_enough(found)
    assert read_persona(folder).principal is not None


def _are_enough(found: Inspection) -> None:
    counts = Counter(item.truth.category for item in found.items)
    early = {item.truth.category for item in found.items if item.is_open(30)}
    levels = Counter(item.truth.difficulty for item in found.items)

    assert sum(counts.values()) >= 600
    assert {name: counts[name] for name in CATEGORIES if counts[name] < _least(name)} == {}
    assert len(early) >= 8
    assert set(levels) == {"easy", "medium", "hard"}


def _least(category: str) -> int:
    return 40 if category in GROUP_CATEGORIES else 30


@pytest.mark.parametrize("name", PERSONAS)
def test_another_seed_is_proved_as_well(name: str, tmp_path: Path) -> None:
    folder = build(read_sources(SOURCES / name, DEFAULT_ARCS), Knobs(days=120, seed=7), tmp_path)

    report = check(folder, "arcs-120d.yaml")

    assert report.findings == ()
    assert report.rederived == report.questions > 90


def _texts(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("memories-*/day-*.md"))]
