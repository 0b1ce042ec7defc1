"""What an arc corrects is where its two beliefs differ."""

import pytest

from recall_bench.stories.lint.history_checks import is_superseded, read_correction
from recall_bench.stories.lint.value_index import SentenceMention
from recall_bench.stories.persona_story import Arc
from tests.loops import loop_over_rows

FROST = Arc(
    id="frost",
    type="correction",
    title="The last frost",
    description="A date.",
    start_day=1,
    end_day=30,
    wrong_day=2,
    corrected_day=20,
    wrong_belief="The last frost of 2026 comes on March 28 at 4:10",
    corrected_belief="The last frost of 2026 comes on April 19 at 4:10",
)


def test_values_that_both_beliefs_hold_are_not_corrected() -> None:
    found = read_correction(FROST)

    assert found is not None
    assert [atom.shown for atom in found.wrong] == ["March 28"]
    assert [atom.shown for atom in found.right] == ["April 19"]
    assert found.day == 20
    assert {"last", "frost"} <= found.about


@pytest.mark.parametrize("lacking", ["corrected_day", "wrong_belief", "corrected_belief"])
def test_an_arc_that_lacks_a_part_corrects_nothing(lacking: str) -> None:
    assert read_correction(FROST.replace(**{lacking: None})) is None


@loop_over_rows(
    ("sentence", "is_past"),
    [
        ("The frost is on March 28.", False),
        ("The frost is no longer on March 28.", True),
        ("The frost moves from March 28 to April 19.", True),
        ("It was believed to be March 28, which was wrong.", True),
    ],
)
def test_a_sentence_may_name_a_value_as_past(sentence: str, is_past: bool) -> None:
    found = read_correction(FROST)

    assert found is not None
    assert is_superseded(found.wrong[0], SentenceMention(25, "crew", sentence, "")) is is_past
