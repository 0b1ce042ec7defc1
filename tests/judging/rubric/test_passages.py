"""A day can be shown in part, and what was left out can be seen."""

from datetime import datetime

import pytest

from recall_bench.core.scenario import Episode, Turn
from recall_bench.judging.rubric.passages import (
    MOST_CHARACTERS,
    extract_terms,
    format_banner,
    read_page,
)
from tests.loops import loop_over_rows

WHEN = datetime(2025, 3, 5)

TEXT = """---
type: daily
---

# session: principal

### Crane
The inspection is set. Owen Pike
will attend.

Decision:
- keep the crane shut
- call the harbour office

# session: lender

The covenant is 1.35x.
"""


def day(text: str, *, turns: tuple[Turn, ...] = (), at: datetime = WHEN) -> Episode:
    return Episode(id="day-0005", day=5, at=at, text=text, turns=turns)


def test_a_day_shown_whole_has_no_ellipsis() -> None:
    page = read_page(day(TEXT))

    assert page.render(range(len(page.sentences))) == "\n".join(
        [
            "=== Day 5, 2025-03-05 ===",
            "# session: principal",
            "## Crane",
            "The inspection is set. Owen Pike will attend.",
            "Decision:",
            "- keep the crane shut",
            "- call the harbour office",
            "# session: lender",
            "The covenant is 1.35x.",
        ]
    )


def test_every_cut_is_marked_and_an_entry_keeps_the_line_it_hangs_from() -> None:
    page = read_page(day(TEXT))

    assert page.render([1, 4]) == "\n".join(
        [
            "=== Day 5, 2025-03-05 ===",
            "…",
            "# session: principal",
            "## Crane",
            "Owen Pike will attend.",
            "…",
            "Decision:",
            "- call the harbour office",
            "…",
        ]
    )


def test_a_conversation_says_who_speaks() -> None:
    turns = (Turn(speaker="Nell", text="Hello. Is it open?"), Turn(speaker="Owen", text="No."))
    page = read_page(day("Nell: Hello. Is it open?\nOwen: No.", turns=turns))

    assert page.render([0, 1, 2]).endswith("Nell: Hello. Is it open?\nOwen: No.")
    assert page.render([1, 2]).endswith("…\nNell: Is it open?\nOwen: No.")


def test_a_chat_has_its_hour_in_the_banner() -> None:
    assert (
        format_banner(day("x", at=datetime(2025, 3, 5, 13, 56)))
        == "=== Day 5, 2025-03-05 13:56 ==="
    )


@pytest.mark.parametrize(
    ("cited", "sentences"),
    [
        pytest.param("Owen Pike\nwill attend.", ["Owen Pike will attend."], id="over a line break"),
        pytest.param("Pike", ["Owen Pike will attend."], id="a word"),
        pytest.param(
            "set. Owen", ["The inspection is set.", "Owen Pike will attend."], id="two sentences"
        ),
        pytest.param("1.35x", ["The covenant is 1.35x."], id="in another session"),
        pytest.param("session: lender", [], id="a heading is no sentence"),
    ],
)
def test_a_place_in_the_text_is_a_sentence_of_the_page(cited: str, sentences: list[str]) -> None:
    page = read_page(day(TEXT))
    start = TEXT.index(cited)

    found = page.find_sentences(start, start + len(cited))

    assert [page.sentences[index].text for index in found] == sentences


def test_of_two_alike_the_place_decides() -> None:
    text = "# session: principal\n\nIt rains.\n\n# session: lender\n\nIt rains.\n"
    page = read_page(day(text))

    (found,) = page.find_sentences(text.rindex("It"), len(text))

    assert page.sentences[found].session == "lender"


def test_a_paragraph_is_one_passage_and_a_long_one_several() -> None:
    short = read_page(day("One thing. Another thing."))
    long = read_page(day(" ".join(f"Sentence number {n} is about the pump." for n in range(40))))

    assert len(short.passages) == 1
    assert len(long.passages) > 1
    assert all(passage.characters <= MOST_CHARACTERS for passage in long.passages)
    assert [i for passage in long.passages for i in passage.sentences] == list(range(40))


@pytest.mark.parametrize("text", ["word " * 1000, "x" * 5000])
def test_even_an_endless_sentence_is_cut_into_passages(text: str) -> None:
    page = read_page(day(text))

    assert all(passage.characters <= MOST_CHARACTERS for passage in page.passages)
    assert "".join(page.render(range(len(page.sentences))).split("\n", 1)[1].split()) == "".join(
        text.split()
    )


@loop_over_rows(
    ("one", "other"),
    [
        ("on 5 March 2025", "2025-03-05"),
        ("$420M", "420 million dollars"),
        ("the berths", "a berth"),
        ("**Marigold**", "marigold"),
    ],
)
def test_two_spellings_of_one_thing_share_a_term(one: str, other: str) -> None:
    assert extract_terms(one) & extract_terms(other)


def test_a_passage_is_found_by_its_heading_too() -> None:
    page = read_page(day(TEXT))

    assert extract_terms("crane") <= set(page.passages[0].terms)
