"""Free text is compared word by word, so that a paraphrase is near and a near miss is not."""

import pytest

from recall_bench.judging.offline.phrase import (
    LONGEST_LINE,
    PhraseReader,
    find_places,
    level_lines,
    level_text,
)
from recall_bench.text.text import Stems, normalise
from tests.loops import loop_over_rows

PHRASES = PhraseReader(Stems())


def likeness(phrase: str, said: str) -> float:
    return PHRASES.read(normalise(phrase)).measure_likeness(PHRASES.read(normalise(said)))


@loop_over_rows(
    ("phrase", "said"),
    [
        ("leased for three years", "It was leased for 3 years."),
        ("it cannot be mended", "it can't be mended"),
        ("nobody asked for it", "no one asked for it"),
        ("a colour that everybody recognised", "a color that everyone recognized"),
        ("without a licence", "with no license"),
        ("salt and tar", "salt & tar"),
        ("the third berth", "the 3rd berth"),
        ("a sea-worthy hull", "a sea worthy hull"),
    ],
)
def test_spellings_and_contractions_are_one(phrase: str, said: str) -> None:
    assert likeness(phrase, said) == pytest.approx(1.0, abs=0.15)


@loop_over_rows(
    ("phrase", "said"),
    [
        ("leased for three years", "leased for four years"),
        ("every ninth beat", "every eleventh beat"),
        ("two pilots told two stories", "four pilots told two stories"),
        ("it will be used", "it will not be used"),
        ("nobody objected to the plan", "somebody objected to the plan"),
        ("the sum is padded", "I can't share that."),
    ],
)
def test_another_number_or_a_negation_more_is_another_phrase(phrase: str, said: str) -> None:
    assert likeness(phrase, said) == 0


@pytest.mark.parametrize(
    ("phrase", "said", "is_denied"),
    [
        ("blue", "never in that shade, blue", True),
        ("blue", "never in any shade of blue", False),
        ("blue", "not green but in the blue", False),
        ("blue wall", "never with the blue wall", True),
        ("blue wall", "never paint the blue wall", False),
    ],
)
def test_one_word_is_denied_from_four_before_and_a_phrase_across_small_words(
    phrase: str, said: str, *, is_denied: bool
) -> None:
    found = PHRASES.read(normalise(phrase)).is_denied_as_in(PHRASES.read(normalise(said)))

    assert found is not is_denied


def test_the_more_of_the_words_in_their_order_the_nearer() -> None:
    phrase = "rented by the month until the lock is mended"

    whole, most, some, none = (
        likeness(phrase, said)
        for said in (
            "they are rented by the month until the lock is mended",
            "they are hired by the month until the lock is mended",
            "they are let until the end of the month",
            "they are gone",
        )
    )

    assert whole == 1.0
    assert whole > most > some > none == 0


@loop_over_rows(
    "text",
    [
        "",
        " \n--\n",
        "Berth 7 is Nell's.\n\n  - It costs $420 a week\n***\nPaid \u00e0 l'heure",
        f"short\n{'x' * LONGEST_LINE} y\nshort",
    ],
)
def test_lines_are_levelled_one_by_one_as_the_whole_is(text: str) -> None:
    assert level_lines(text) == level_text(text)


@loop_over_rows(
    ("text", "target", "spans"),
    [
        (
            "bay 8",
            "In Bay-8, bay 8 and bay 81; bay 8.5, x-bay 8, bay 8-b, BAY   (8",
            [(3, 8), (10, 15)],
        ),
        ("the bay", "the bay, bays, bay_, bay-", [(4, 7), (21, 24)]),
        ("a", "a a.b a,5 a.", [(0, 1), (2, 3), (10, 11)]),
        ("", "anything", []),
        ("x y", "x...y x....y xy", [(0, 5), (13, 15)]),
    ],
)
def test_a_literal_is_found_as_whole_words(
    text: str, target: str, spans: list[tuple[int, int]]
) -> None:
    assert list(find_places(text, target)) == spans
    # Outside ASCII a pattern looks for it, and finds the same.
    assert list(find_places(text, f"{target} é")) == spans
