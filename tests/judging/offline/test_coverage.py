"""A reference is covered by weight: values before names, names before words, news before echo."""

import pytest

from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.coverage import (
    GIVEN,
    KEY_WEIGHT,
    VALUE_WEIGHT,
    Coverage,
    Reference,
    RivalValues,
    cover,
    find_rivals,
)
from recall_bench.text.text import normalise
from tests.loops import loop_over_rows

READER = ContentReader()
QUESTION = "What does berth 7 cost?"


def covered(reference: str, answer: str, question: str = QUESTION) -> Coverage:
    asked = READER.read(normalise(question))
    return cover(
        Reference.build(normalise(reference), asked, READER), READER.read_answer(normalise(answer))
    )


def rivalry(reference: str, answer: str, question: str = QUESTION) -> RivalValues:
    asked = READER.read(normalise(question))
    told, account = (
        Reference.build(normalise(reference), asked, READER),
        READER.read_answer(normalise(answer)),
    )
    return find_rivals(told, asked, account, cover(told, account))


def test_a_value_weighs_three_words_and_a_name_two() -> None:
    reference = "Owen pays $40 gladly"

    total = 1 + 1 + VALUE_WEIGHT + 1
    assert covered(reference, "$40").recall == pytest.approx(VALUE_WEIGHT / total)
    assert covered("seen by Owen", "Owen").recall == pytest.approx(KEY_WEIGHT / (KEY_WEIGHT + 1))


def test_quoted_words_weigh_like_names() -> None:
    assert covered('he says "hurry up" often', "hurry").recall == pytest.approx(
        KEY_WEIGHT / (KEY_WEIGHT + 2)
    )


def test_what_the_question_says_is_nearly_free_to_repeat() -> None:
    coverage = covered("The cost is gold", "cost", "What does it cost?")

    assert coverage.recall == pytest.approx(GIVEN / (GIVEN + 1))
    assert coverage.news == 0


def test_a_reference_without_content_words_is_compared_word_by_word() -> None:
    assert covered("It is on.", "It is on.").recall == 1
    assert covered("It is on.", "Broken.").recall == 0


def test_a_date_may_be_said_by_citing_it() -> None:
    coverage = covered("2025-03-09", "On 2025-03-09 (crew): It rose.", "When did it rise?")

    assert coverage.recall == 1
    assert [atom.value for atom in coverage.cited] == ["03-09/2025"]
    assert coverage.news == 0


def test_an_amount_may_not() -> None:
    assert covered("$40", "Unclear. (Source: the $40 list)").found == ()


def test_missing_values_are_named() -> None:
    coverage = covered("$40 on March 5", "It was March 5.")

    assert [atom.value for atom in coverage.found] == ["03-05"]
    assert [atom.value for atom in coverage.missing] == ["40 usd"]


def test_in_place_of_a_right_value_a_rival_contradicts() -> None:
    found = rivalry("$40", "Berth 7 costs $50.")

    assert [atom.value for atom in found.contradicting] == ["50 usd"]
    assert found.diluting == ()


@loop_over_rows(
    ("answer", "focus"),
    [
        ("Berth 7 costs $40.", 1),
        ("Berth 7 costs $40, formerly $30.", 1),
        ("Berth 7 costs $40, $30 or $50.", 1 / 2),
        ("Berth 7 costs $40, $30, $50 or $60.", 1 / 3),
    ],
)
def test_beside_a_right_value_one_rival_is_allowed_and_each_further_one_dilutes(
    answer: str, focus: float
) -> None:
    assert rivalry("$40", answer).focus == pytest.approx(focus)


def test_bare_values_are_rivals_wherever_they_stand() -> None:
    assert rivalry("$40", "Berth 7 costs $40.\n- $30\n- $50\n- $60").focus < 1


def test_values_of_another_kind_or_unit_are_no_rivals() -> None:
    assert rivalry("$40", "Berth 7 costs $40 for 3 days, 5% off, at 6 AM, by INC-2.").focus == 1


def test_the_questions_own_values_are_no_rivals() -> None:
    question = "Did berth 7 cost $30, $50 or $60?"

    assert rivalry("$40", "Not $30, $50 or $60: berth 7 cost $40.", question).diluting == ()


def test_a_value_about_something_else_is_no_rival() -> None:
    answer = "Berth 7 costs $40. Rope is $5. Paint is $6. Tar is $8."

    assert rivalry("$40", answer).diluting == ()


def test_the_weights_of_a_reference_have_one_order() -> None:
    asked = READER.read("What does the berth on the north quay cost a week in spring?")
    reference = Reference.build("The berth costs a spring week on the north quay.", asked, READER)

    assert list(reference.old) == sorted(reference.old)
