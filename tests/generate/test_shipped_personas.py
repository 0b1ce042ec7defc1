"""The six personas that ship: written with care, played to the byte, and proved from their text.

A released story is played and examined in full: one of half a year, and in the exhaustive run one
of 1,000 days. Four months with another seed go through the same examination, of three personas in
the exhaustive run; what they hold and what they are played from is pinned to the byte.
"""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from statistics import median

import pytest

from recall_bench.core.scenario import CATEGORIES, GROUP_CATEGORIES
from recall_bench.datasets.lint.lint_corpus import Severity
from recall_bench.datasets.lint.lint_report import lint_story
from recall_bench.datasets.persona import Inspection, inspect_persona
from recall_bench.datasets.persona_files import DEFAULT_ARCS
from recall_bench.datasets.persona_story import ARC_TYPES, read_persona
from recall_bench.generate.shipped_personas import (
    SOURCES,
    digest_folder,
    load_catalogue,
    materialise,
)
from recall_bench.generate.verification.verifier import verify_world
from recall_bench.generate.world.sources import read_sources
from recall_bench.generate.world.validation import find_source_problems
from tests.generate.world.built_bakery import SHORT_ARCS, build_short
from tests.loops import loop_over_rows
from tests.thoroughness import choose_cases

PERSONAS = (
    "backend-eng-saas",
    "er-physician",
    "executive-assistant",
    "financial-advisor",
    "litigation-attorney",
    "research-scientist",
)
STORIES = [*((name, DEFAULT_ARCS) for name in PERSONAS), ("executive-assistant", "arcs-180d.yaml")]
LONG = ("er-physician", DEFAULT_ARCS)
IN_FULL = choose_cases([("executive-assistant", "arcs-180d.yaml"), LONG], 1)
LEAST = {DEFAULT_ARCS: (600, 30, 40), "arcs-180d.yaml": (250, 12, 18)}
"""Of questions in all, of those of a category, and of those of a category of groups."""
SIMULATED = choose_cases(PERSONAS, 3)
PINNED = Path(__file__).parent / "shipped_digests.json"

pytestmark = pytest.mark.slow


def test_these_are_the_ones() -> None:
    assert tuple(load_catalogue(1)) == PERSONAS


@loop_over_rows(("name", "arcs"), STORIES)
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


@pytest.mark.parametrize(("name", "arcs"), IN_FULL)
def test_every_answer_is_derived_from_the_text_again(name: str, arcs: str) -> None:
    folder = materialise(name, arcs, edition=1)

    report = verify_world(folder, arcs)

    assert report.findings == ()
    assert report.rederived == report.questions == load_catalogue(1)[name][arcs].questions
    _are_enough(_stands_up(folder, arcs), arcs)
    assert read_persona(folder).principal is not None


def _stands_up(folder: Path, arcs: str) -> Inspection:
    found = inspect_persona(folder, arcs=arcs)
    report = lint_story(folder, arcs=arcs)
    words = [len(text.split()) for text in _texts(folder)]

    assert (found.problems, found.warnings) == ([], [])
    assert report.count(Severity.ERROR) == 0
    assert "repeated-sentences" not in report.counts
    assert "copied-day" not in report.counts
    assert 300 <= median(words) <= 900
    assert min(words) < 200
    assert max(words) < 2500
    return found


def _are_enough(found: Inspection, arcs: str) -> None:
    counts = Counter(item.truth.category for item in found.items)
    early = {item.truth.category for item in found.items if item.is_open(30)}
    levels = Counter(item.truth.difficulty for item in found.items)
    all_of_them, of_category, of_group = LEAST[arcs]
    least = {name: of_group if name in GROUP_CATEGORIES else of_category for name in CATEGORIES}

    assert sum(counts.values()) >= all_of_them
    assert {name: counts[name] for name in CATEGORIES if counts[name] < least[name]} == {}
    assert len(early) >= 8
    assert set(levels) == {"easy", "medium", "hard"}


@pytest.mark.parametrize("name", choose_cases(SIMULATED, 1))
def test_another_seed_is_verified_as_well(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = build_short(tmp_path_factory, name)

    report = verify_world(folder, SHORT_ARCS)

    assert report.findings == ()
    assert report.rederived == report.questions > 90
    _stands_up(folder, SHORT_ARCS)


@pytest.mark.parametrize("name", PERSONAS)
def test_no_byte_changes_unnoticed(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A change of the simulator or of a source changes what ships: the catalogue is to follow."""
    found: dict[str, object] = {
        "sources": _digest_simulated(SOURCES / name),
        "shipped": {arcs: each.digest for arcs, each in load_catalogue(1)[name].items()},
    }
    if name in SIMULATED:
        found["four months"] = digest_folder(build_short(tmp_path_factory, name))

    pinned = json.loads(PINNED.read_text(encoding="utf-8"))[name]
    assert found == {part: pinned[part] for part in found}, (
        "run `recall-bench world release` and `recall-bench world check`, then write these digests"
    )


def _digest_simulated(folder: Path) -> str:
    """The digest of the simulator's sources; a written edition has a folder of its own."""
    total = sha256()
    for path in sorted(folder.glob("*.yaml")):
        total.update(f"{path.name}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def _texts(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("memories-*/day-*.md"))]
