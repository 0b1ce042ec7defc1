"""A canary is told by its day and by nothing else, so whoever says it has been told."""

import pytest

from recall_bench.core.sentences import read
from recall_bench.testing.bench import Heard, comparable, listed
from recall_bench.testing.checks.recall import LARGE_BYTES
from recall_bench.testing.checks.resilience import APOLOGY
from recall_bench.testing.story import change, day_text, episode, fact, large_text

FACTS = [
    make(seed, name, thing)
    for seed in (1, 42)
    for name in ("order", "reset")
    for thing in range(24)
    for make in (fact, change)
]


def test_no_canary_is_part_of_another() -> None:
    words = {each.canary for each in FACTS}

    assert len(words) == len(FACTS)
    assert len(set(map(len, words))) == 1


def test_a_question_does_not_give_its_answer_away() -> None:
    for each in FACTS:
        assert each.canary in each.said
        assert each.canary not in each.asked


def test_questions_about_different_things_differ() -> None:
    assert len({fact(42, "order", thing).asked for thing in range(24)}) == 24


def test_a_day_is_a_log_as_personas_keep_it() -> None:
    sentences = read(episode(3, day_text(3, "The tide is out.", session="boardroom")))

    assert {sentence.session for sentence in sentences} == {"boardroom"}
    assert "The tide is out." in [sentence.text for sentence in sentences]
    assert len(sentences) > 5


def test_a_large_day_is_a_megabyte_with_its_facts_at_start_middle_and_end() -> None:
    told = (FACTS[0], FACTS[2], FACTS[4])

    text = large_text(LARGE_BYTES, told)

    places = [text.index(each.said) / len(text) for each in told]
    assert len(text.encode()) >= LARGE_BYTES
    assert places == pytest.approx([0, 0.5, 1], abs=0.05)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
    assert comparable("Cafe\u0301 \u200fX\x07 ☎\ufe0f") == comparable("CAFÉ x ☎")
    assert comparable("Café") != comparable("Cafe")


def test_facts_are_heard_in_the_order_they_are_told() -> None:
    one, two, three = FACTS[0], FACTS[2], FACTS[4]
    heard = Heard(f"First {two.canary}", (f"then {one.canary}", two.said))

    assert heard.told_of([one, two, three]) == [two, one]


def test_days_are_listed_in_runs() -> None:
    assert listed([4]) == "day 4"
    assert listed([9, 2, 6, 5, 7]) == "days 2, 5–7, 9"
