"""A template is text with alternatives and holes; filled, it knows where its values stand."""

from collections.abc import Mapping

from recall_bench.features.personas.world.templates import (
    AlternativePicker,
    Placeholder,
    PlaceholderValue,
    ValueMark,
    parse_template,
)
from tests.loops import loop_over_rows


class Words:
    """Fills holes from a mapping; what starts with an equals sign is a fact."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = words

    def fill(self, hole: Placeholder) -> PlaceholderValue:
        text = self._words[f"{hole.name}.{hole.form}" if hole.form else hole.name]
        return (
            PlaceholderValue(text[1:], states=hole.name)
            if text.startswith("=")
            else PlaceholderValue(text)
        )


def told(source: str, **words: str) -> str:
    return AlternativePicker(0).render(parse_template(source), Words(words)).text


def test_one_of_the_alternatives_is_rendered() -> None:
    assert told("The [cat|dog] sat.") in {"The cat sat.", "The dog sat."}


def test_all_alternatives_come_before_one_comes_back() -> None:
    deck = AlternativePicker(0)
    template = parse_template("[a|b|c]")

    assert sorted(deck.render(template, Words({})).text for _ in range(3)) == ["a", "b", "c"]


def test_alternatives_nest_and_may_be_empty() -> None:
    deck = AlternativePicker(0)
    template = parse_template("x[ y[1|2]|]z")

    found = {deck.render(template, Words({})).text for _ in range(20)}

    assert found == {"x y1z", "x y2z", "xz"}


@loop_over_rows("source", ["see [3]", "an [open", "a ] b", "{not a hole}", "50 % {"])
def test_what_is_no_template_is_text(source: str) -> None:
    assert told(source) == source


def test_a_value_that_is_a_fact_leaves_its_place() -> None:
    found = AlternativePicker(0).render(
        parse_template("It costs {fee} a day."), Words({"fee": "=$40"})
    )

    assert found.text == "It costs $40 a day."
    assert found.marks == (ValueMark("fee", 9, 12),)


def test_forms_are_asked_for_by_name() -> None:
    assert told("Ask {owner.them}.", **{"owner.them": "her"}) == "Ask her."


@loop_over_rows(
    ("source", "word", "expected"),
    [
        ("{thing} broke.", "cold tap", "Cold tap broke."),
        ("Well. {thing} broke.", "cold tap", "Well. Cold tap broke."),
        ("The {thing} broke.", "cold tap", "The cold tap broke."),
        ("{thing} broke.", "ledger-api2", "ledger-api2 broke."),
    ],
)
def test_a_word_that_starts_a_sentence_gets_its_capital(
    source: str, word: str, expected: str
) -> None:
    assert told(source, thing=word) == expected


@loop_over_rows(
    ("word", "expected"),
    [("oven", "an oven"), ("pan", "a pan"), ("unit", "a unit"), ("urn", "an urn")],
)
def test_the_article_fits_the_word(word: str, expected: str) -> None:
    assert told("It is a {thing}.", thing=word) == f"It is {expected}."


def test_a_place_stays_right_behind_a_changed_article() -> None:
    found = AlternativePicker(0).render(
        parse_template("a {kind} for {fee}"), Words({"kind": "oven", "fee": "=$40"})
    )

    mark = found.marks[0]
    assert found.text[mark.start : mark.end] == "$40"


def test_every_hole_is_known_wherever_it_stands() -> None:
    holes = [
        hole.name
        for hole in parse_template("{a} [x {b.was}|{@c} [{n:1-9}|]] {t:07:00-08:00}").placeholders
    ]

    assert holes == ["a", "b", "@c", "n:1-9", "t:07:00-08:00"]
