"""The words for checkpoints mean what the public harness means by them, or are refused."""

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import (
    Checkpoint,
    find_other_names,
    list_default_ranges,
    parse_range,
    parse_ranges,
)
from tests.loops import loop_over_rows


@loop_over_rows(
    ("word", "label", "days"),
    [
        ("30d", "30d", 30),
        ("6mo", "6mo", 180),
        ("6m", "6mo", 180),
        ("45", "45d", 45),
        (45, "45d", 45),
        ("2y", "2y", 730),
        ("1w", "1w", 7),
        ("2W", "2w", 14),
        ("1y", "1y", 365),
        ("full", "full", 9007199254740991),
        (" 90d ", "90d", 90),
    ],
)
def test_a_word_becomes_a_checkpoint(word: str | int, label: str, days: int) -> None:
    assert parse_range(word) == Checkpoint(label=label, days=days)


@loop_over_rows(
    "word", ["abc", "30x", "-5", "0", "0d", "0w", "", "1.5d", "every:0", "every:0w", "every:x"]
)
def test_anything_else_is_refused_with_the_word_in_the_message(word: str) -> None:
    with pytest.raises(UsageError, match=f"--ranges: '{word}'"):
        parse_ranges([word] if word else ["", "30d"], 100)


@pytest.mark.parametrize(
    "words",
    [["30d,60d,90d"], ["30d 60d 90d"], ["30d", "60d", "90d"], ["90d, 30d", "60d", "30d"]],
    ids=["commas", "blanks", "repeated", "all at once, unsorted, one twice"],
)
def test_every_way_of_listing_gives_the_same_checkpoints(words: list[str]) -> None:
    assert [checkpoint.label for checkpoint in parse_ranges(words, 100)] == ["30d", "60d", "90d"]


def test_steps_end_on_the_last_day_and_never_beyond_it() -> None:
    days = [checkpoint.days for checkpoint in parse_ranges(["every:7"], 30)]

    assert days == [7, 14, 21, 28, 30]


def test_a_step_may_have_a_unit() -> None:
    assert parse_ranges(["every:2w"], 60) == parse_ranges(["every:14"], 60)
    assert parse_ranges(["every:1mo"], 60) == parse_ranges(["every:30d"], 60)


def test_a_step_that_divides_the_history_names_its_last_day_once() -> None:
    assert [c.label for c in parse_ranges(["every:15"], 30)] == ["15d", "30d"]


def test_a_day_with_two_names_is_asked_once_under_the_first() -> None:
    words = ["14d", "1w, 7d", "every:7"]

    assert [each.label for each in parse_ranges(words, 20)] == ["1w", "14d", "20d"]
    assert find_other_names(words, 20) == {"7d": "1w"}


def test_a_name_that_is_repeated_is_no_other_name() -> None:
    assert find_other_names(["10d,10d,20d"], 20) == {}


@loop_over_rows(
    ("last_day", "within"),
    [
        (25, ""),
        (90, "30d"),
        (180, "30d 90d"),
        (181, "30d 90d 6mo"),
        (541, "30d 90d 6mo 1y 18mo"),
        (1000, "30d 90d 6mo 1y 18mo 2y"),
    ],
)
def test_default_checkpoints_lie_within_the_story(last_day: int, within: str) -> None:
    found = [each.label for each in parse_ranges(list_default_ranges(last_day), last_day)]

    assert found == [*within.split(), "full"]


@pytest.mark.parametrize("word", ["99999999999999999999d", "1" * 5000, "every:" + "9" * 5000])
def test_a_range_of_more_than_six_digits_is_no_range(word: str) -> None:
    with pytest.raises(UsageError, match="is not a range"):
        parse_ranges([word], 100)
