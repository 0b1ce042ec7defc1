"""A rubric is known by its version and its digest, and goes to the model word for word."""

import re

import pytest

from recall_bench.core.verdict import SCALES
from recall_bench.judging.rubric.prompt import KEYS, RubricKind, load_rubrics

PUBLISHED = {
    RubricKind.REFERENCE: ("2", "2e4224e5683e"),
    RubricKind.GROUNDED: ("2", "c2f5be00613d"),
    RubricKind.BOUNDARY: ("2", "43f72f3c139a"),
}
"""What each version says, by the beginning of its digest."""


@pytest.mark.parametrize("kind", RubricKind)
def test_a_changed_text_is_a_new_version(kind: RubricKind) -> None:
    """Verdicts by two texts must not bear one version: raise it, then put the digest here."""
    card = load_rubrics()[kind].card

    assert (card.version, card.digest[:12]) == PUBLISHED[kind]


def test_each_rubric_has_a_card_of_its_own() -> None:
    cards = [rubric.card for rubric in load_rubrics().values()]

    assert [card.name for card in cards] == ["reference", "grounded", "boundary"]
    assert len({card.digest for card in cards}) == 3


@pytest.mark.parametrize("kind", RubricKind)
def test_a_model_learns_every_mark_and_key(kind: RubricKind) -> None:
    text = load_rubrics()[kind].text

    for key in KEYS:
        assert f"- `{key}`:" in text
    for mark, most in SCALES.items():
        assert re.search(rf"## {mark.capitalize()}, 0 (?:to|or) {most}", text)


@pytest.mark.parametrize("kind", RubricKind)
def test_no_machinery_of_ours_is_sent_along(kind: RubricKind) -> None:
    text = load_rubrics()[kind].text

    assert "version:" not in text
    assert not text.startswith("---")
