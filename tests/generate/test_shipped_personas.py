"""The six personas that ship: written with care, played to the byte, and proved from their text."""

from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from recall_bench.core.scenario import CATEGORIES, GROUP_CATEGORIES
from recall_bench.datasets.lint.lint_corpus import Severity
from recall_bench.datasets.lint.lint_report import lint_story
from recall_bench.datasets.persona import Inspection, inspect_persona
from recall_bench.datasets.persona_files import DEFAULT_ARCS
from recall_bench.datasets.persona_story import ARC_TYPES, read_persona
from recall_bench.generate.shipped_personas import SOURCES, load_catalogue, materialise
from recall_bench.generate.verification.verifier import verify_world
from recall_bench.generate.world.build import build_folder
from recall_bench.generate.world.sources import WorldOptions, read_sources
from recall_bench.generate.world.validation import find_source_problems

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
    assert tuple(load_catalogue()) == PERSONAS


@pytest.mark.parametrize(("name", "arcs"), STORIES)
def test_the_sources_are_sound(name: str, arcs: str) -> None:
    sources = read_sources(SOURCES / name, arcs)
    kinds = Counter(arc.type for arc in sources.story.arcs)
    isolated = [session.id for session in sources.persona.sessions if session.isolated]

    assert find_source_problems(sources) == []
    assert 12 <= len(sources.story.arcs) <= 25
    assert set(kinds) == set(ARC_TYPES)
    assert kinds["correction"] >= (4 if arcs == DEFAULT_ARCS else 2)
    assert sources.story.away
    assert len(isolated) >= (4 if name == "executive-assistant" else 2)


@pytest.mark.parametrize(("name", "arcs"), STORIES)
def test_every_answer_is_derived_from_the_text_again(name: str, arcs: str) -> None:
    folder = materialise(name, arcs)

    report = verify_world(folder, arcs)

    assert report.findings == ()
    assert report.rederived == report.questions == load_catalogue()[name][arcs].questions


@pytest.mark.parametrize("name", PERSONAS)
def test_the_text_and_the_questions_stand_up_to_an_editor(name: str) -> None:
    folder = materialise(name, DEFAULT_ARCS)
    found = inspect_persona(folder, arcs=DEFAULT_ARCS)
    report = lint_story(folder, arcs=DEFAULT_ARCS)
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
def test_another_seed_is_verified_as_well(name: str, tmp_path: Path) -> None:
    folder = build_folder(
        read_sources(SOURCES / name, DEFAULT_ARCS), WorldOptions(days=120, seed=7), tmp_path
    )

    report = verify_world(folder, "arcs-120d.yaml")

    assert report.findings == ()
    assert report.rederived == report.questions > 90


def _texts(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("memories-*/day-*.md"))]
