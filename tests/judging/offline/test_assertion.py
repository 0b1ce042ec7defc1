"""A value may be told as what holds, as what held, as one of several, or as a total."""

from recall_bench.judging.offline.hedges import TextSpan, is_one_of_several
from recall_bench.judging.offline.past_values import is_given_as_past, is_total
from tests.loops import loop_over_rows


def place(text: str, value: str) -> TextSpan:
    start = text.index(value)
    return start, start + len(value)


@loop_over_rows(
    ("text", "is_past"),
    [
        ("It was $40 at first and was then changed to $50.", True),
        ("Originally $40; since the correction it is $50.", True),
        ("It is $50, instead of $40 as it was before.", True),
        ("Not $40 any longer: it is $50 now.", True),
        ("It rose from $40 to $50.", True),
        ("It is $40; it used to be $50.", False),
        ("It rose from $50 to $40.", False),
        ("Not until $40 was paid.", False),
        ("It is $40.", False),
    ],
)
def test_what_held_once_is_stated_by_the_words_around_it(text: str, is_past: bool) -> None:
    assert is_given_as_past(text, place(text, "$40")) is is_past


@loop_over_rows(
    ("text", "expected"),
    [("$40 or $50", True), ("$50 or so, or $40", True), ("$40 and $50", False), ("for $40", False)],
)
def test_an_alternative_makes_it_one_of_several(text: str, expected: bool) -> None:
    assert is_one_of_several(text, place(text, "$40")) is expected


@loop_over_rows(
    ("text", "expected"),
    [
        ("a total of $40: $30 and $10", True),
        ("Total: $40, of which $30 for rope", True),
        ("$40 in all, of which $30 for rope", True),
        ("$40, then $30", False),
    ],
)
def test_a_total_is_called_one(text: str, expected: bool) -> None:
    assert is_total(text, place(text, "$40")) is expected
