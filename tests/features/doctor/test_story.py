"""A marker occurs in its day and nowhere else, so a system that returns it was fed that day."""

import pytest

from recall_bench.features.doctor.check_context import CheckReply, normalise_text
from recall_bench.features.doctor.recall_checks import LARGE_BYTES
from recall_bench.features.doctor.stability_checks import APOLOGY
from recall_bench.features.doctor.story import (
    make_change,
    make_episode,
    make_fact,
    write_day,
    write_large_day,
)
from recall_bench.text.sentences import read_sentences
from tests.loops import loop_over_rows

FACTS = [
    make(seed, name, thing)
    for seed in (1, 42)
    for name in ("order", "reset")
    for thing in range(24)
    for make in (make_fact, make_change)
]


def test_no_canary_is_part_of_another() -> None:
    words = {each.marker for each in FACTS}

    assert len(words) == len(FACTS)
    assert len(set(map(len, words))) == 1


def test_a_question_does_not_give_its_answer_away() -> None:
    for each in FACTS:
        assert each.marker in each.sentence
        assert each.marker not in each.question


def test_questions_about_different_things_differ() -> None:
    assert len({make_fact(42, "order", thing).question for thing in range(24)}) == 24


def test_a_day_is_a_log_as_personas_keep_it() -> None:
    sentences = read_sentences(
        make_episode(3, write_day(3, "The tide is out.", session="boardroom"))
    )

    assert {sentence.session for sentence in sentences} == {"boardroom"}
    assert "The tide is out." in [sentence.text for sentence in sentences]
    assert len(sentences) > 5


def test_a_large_day_is_a_megabyte_with_its_facts_at_start_middle_and_end() -> None:
    facts = (FACTS[0], FACTS[2], FACTS[4])

    text = write_large_day(LARGE_BYTES, facts)

    places = [text.index(each.sentence) / len(text) for each in facts]
    assert len(text.encode()) >= LARGE_BYTES
    assert places == pytest.approx([0, 0.5, 1], abs=0.05)


@loop_over_rows(
    "text",
    [
        "Error: no such table: memories",
        "[TIMEOUT]",
        "Internal error: null",
        "ValueError: empty query",
        "I tried. Traceback (most recent call last): ...",
        "HTTP 502",
        "500 Internal Server Error",
        "An error occurred while searching.",
    ],
)
def test_an_apology_is_recognised(text: str) -> None:
    assert APOLOGY.search(text)


@loop_over_rows(
    "text",
    [
        "",
        "There is no record of that.",
        "I do not know.",
        "The printer error was fixed on Monday.",
        "Error rates: they fell to 2 %.",
        "She blamed a rounding error: the total was off by one.",
    ],
)
def test_an_answer_is_not_taken_for_an_apology(text: str) -> None:
    assert not APOLOGY.search(text)


def test_what_a_system_may_change_is_not_compared() -> None:
    assert normalise_text("Cafe\u0301 \u200fX\x07 ☎\ufe0f") == normalise_text("CAFÉ x ☎")
    assert normalise_text("Café") != normalise_text("Cafe")


def test_facts_are_found_in_the_order_of_the_reply() -> None:
    one, two, three = FACTS[0], FACTS[2], FACTS[4]
    heard = CheckReply(f"First {two.marker}", (f"then {one.marker}", two.sentence))

    assert heard.find_facts([one, two, three]) == [two, one]
