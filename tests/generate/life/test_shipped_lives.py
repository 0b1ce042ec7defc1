"""The second editions of 1,000 days that are released: the same bytes, proved and unremarked.

One of the demo is built and proved again; in the exhaustive run all are built, and both of the demo
are proved. Of the others the sources are pinned, and their first two months are played: four in the
exhaustive run.
"""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as change

from recall_bench.core.scenario import CATEGORIES
from recall_bench.datasets.lint.lint_corpus import Severity
from recall_bench.datasets.lint.lint_report import lint_story
from recall_bench.datasets.persona import inspect_persona
from recall_bench.datasets.persona_files import DEFAULT_ARCS
from recall_bench.generate.life.build import write_life
from recall_bench.generate.life.edition import play_life
from recall_bench.generate.life.sources import LifeSources, find_lives, read_life
from recall_bench.generate.shipped_personas import (
    SOURCES,
    digest_folder,
    load_catalogue,
    materialise,
)
from recall_bench.generate.verification.verifier import verify_world
from tests.loops import loop_over_rows
from tests.shipped_stories import BUILT_LIVES
from tests.thoroughness import IS_EXHAUSTIVE, choose_cases

RELEASED = [
    persona
    for persona, stories in load_catalogue(2).items()
    if DEFAULT_ARCS in stories and DEFAULT_ARCS in find_lives(SOURCES / persona)
]

IN_FULL = choose_cases(("er-physician", "executive-assistant"), 1)
"""Of those of the demo."""

PINNED = Path(__file__).parents[1] / "shipped_digests.json"
MONTHS = choose_cases((("two months", 60), ("four months", 120)), 1)
"""The beginnings that are played of lives that are not built."""

pytestmark = pytest.mark.slow


def test_some_are_released() -> None:
    assert RELEASED


@pytest.mark.parametrize("name", BUILT_LIVES)
def test_a_released_edition_has_the_bytes_that_were_proved(name: str) -> None:
    """A change of the engine or of the sources is noticed here: the digest is another one."""
    assert materialise(name, DEFAULT_ARCS, edition=2).is_dir()


@pytest.mark.parametrize("name", RELEASED)
def test_no_byte_of_a_life_changes_unnoticed(name: str, tmp_path: Path) -> None:
    """A life that is not built is another one if its sources or its first months are others."""
    life = find_lives(SOURCES / name)[DEFAULT_ARCS]
    found: dict[str, object] = {
        "sources": digest_folder(life),
        "shipped": load_catalogue(2)[name][DEFAULT_ARCS].digest,
    }
    if name not in BUILT_LIVES or IS_EXHAUSTIVE:
        for part, days in MONTHS:
            found[part] = _digest_first_days(read_life(life), days, tmp_path / part / name)

    pinned = json.loads(PINNED.read_text(encoding="utf-8"))[name]["life"]
    assert found == {part: pinned[part] for part in found}, (
        "run `recall-bench world release` and `recall-bench world check`, then write these digests"
    )


def _digest_first_days(sources: LifeSources, days: int, folder: Path) -> str:
    """The digest of a story that ends early, with the questions of the templates about it."""
    arcs = [each for each in sources.arcs_file["arcs"] if each["endDay"] <= days]
    short = replace(
        sources,
        story=change(
            sources.story,
            days=days,
            absences=[each for each in sources.story.absences if each[1] <= days],
        ),
        arcs=change(
            sources.arcs,
            arcs=[each for each in sources.arcs.arcs if each.end_day <= days],
        ),
        arcs_file={**sources.arcs_file, "arcs": arcs},
    )
    write_life(play_life(short, in_own_words=False), folder)
    return digest_folder(folder)


@pytest.mark.parametrize("name", IN_FULL)
def test_a_released_edition_is_proved_and_unremarked(name: str) -> None:
    folder = materialise(name, DEFAULT_ARCS, edition=2)
    proof = verify_world(folder, DEFAULT_ARCS)
    lint = lint_story(folder, arcs=DEFAULT_ARCS)
    found = inspect_persona(folder, arcs=DEFAULT_ARCS)
    counts = Counter(item.truth.category for item in found.items)

    assert proof.findings == ()
    assert proof.rederived == proof.questions >= 1000
    assert (found.problems, found.warnings) == ([], [])
    assert lint.count(Severity.ERROR) + lint.count(Severity.WARNING) == 0
    assert min(counts[name] for name in CATEGORIES) >= 80


@loop_over_rows("name", RELEASED)
def test_the_first_edition_stays_on_record(name: str) -> None:
    assert load_catalogue(1)[name][DEFAULT_ARCS].edition == 1
    assert load_catalogue()[name][DEFAULT_ARCS].edition == 2
