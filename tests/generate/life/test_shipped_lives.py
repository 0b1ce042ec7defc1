"""The second editions of 1,000 days that are released: the same bytes, proved and unremarked.

One of the demo is proved again, both in the exhaustive run. The others are built, and have the
bytes that `world release` proved before it wrote their digests.
"""

from collections import Counter

import pytest

from recall_bench.core.scenario import CATEGORIES
from recall_bench.datasets.lint.lint_corpus import Severity
from recall_bench.datasets.lint.lint_report import lint_story
from recall_bench.datasets.persona import inspect_persona
from recall_bench.datasets.persona_files import DEFAULT_ARCS
from recall_bench.generate.life.sources import find_lives
from recall_bench.generate.shipped_personas import SOURCES, load_catalogue, materialise
from recall_bench.generate.verification.verifier import verify_world
from tests.thoroughness import choose_cases

RELEASED = [
    persona
    for persona, stories in load_catalogue(2).items()
    if DEFAULT_ARCS in stories and DEFAULT_ARCS in find_lives(SOURCES / persona)
]

IN_FULL = choose_cases(("er-physician", "executive-assistant"), 1)
"""Of those of the demo."""

pytestmark = pytest.mark.slow


def test_some_are_released() -> None:
    assert RELEASED


@pytest.mark.parametrize("name", [each for each in RELEASED if each not in IN_FULL])
def test_a_released_edition_has_the_bytes_that_were_proved(name: str) -> None:
    """A change of the engine or of the sources is noticed here: the digest is another one."""
    assert materialise(name, DEFAULT_ARCS, edition=2).is_dir()


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


@pytest.mark.parametrize("name", RELEASED)
def test_the_first_edition_stays_on_record(name: str) -> None:
    assert load_catalogue(1)[name][DEFAULT_ARCS].edition == 1
    assert load_catalogue()[name][DEFAULT_ARCS].edition == 2
