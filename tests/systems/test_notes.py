"""Every product is given the same notes, cut as the built-in systems cut their passages."""

from datetime import date, datetime

import pytest

from recall_bench.core.scenario import Episode
from recall_bench.systems.builtin.chunks import split_chunks
from recall_bench.systems.builtin.passage_index import format_quote
from recall_bench.systems.notes import (
    NO_SESSION,
    DayNote,
    build_note_passage,
    list_visible_sessions,
    split_notes,
)
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

DAY = """---
title: a day
---
Rain all day.

# session: principal

## Money

The rent is 900 euros. It is due on Friday.

# session: team

- Ship it
- Then rest
"""


def cut(day: int = 7, content: str = DAY) -> tuple[DayNote, ...]:
    return split_notes(
        day, content, DayMetadata(day_number=day, date="2026-01-31", persona_id="ada")
    )


def asked_from(session: str) -> QueryContext:
    return QueryContext(
        date=date(2026, 2, 1), session=session, persona="ada", question_id="q", top_k=3
    )


def test_a_note_is_what_the_built_ins_search_and_quote() -> None:
    episode = Episode(id="e", day=7, at=datetime(2026, 1, 31), text=DAY)

    notes = cut()

    assert [note.search_text for note in notes] == [
        found.search_text for found in split_chunks(episode)
    ]
    assert [note.quote for note in notes] == [
        format_quote(found.text, date(2026, 1, 31), found.session)
        for found in split_chunks(episode)
    ]


def test_a_note_knows_its_day_its_session_and_its_headings() -> None:
    rain, rent, *_ = cut()

    assert (rain.day, rain.date, rain.session, rain.context) == (7, "2026-01-31", None, "")
    assert (rent.session, rent.context) == ("principal", "principal\nMoney")
    assert rent.quote.startswith("On 2026-01-31 (principal): The rent is 900 euros.")


def test_ids_are_the_same_for_the_same_day_and_differ_between_days() -> None:
    assert [note.id for note in cut()] == [note.id for note in cut()]
    assert not {note.id for note in cut(7)} & {note.id for note in cut(8)}


def test_what_is_kept_fits_any_store_and_is_enough_to_give_the_note_back() -> None:
    rain, rent, *_ = cut()

    assert rain.metadata["session"] == NO_SESSION
    assert all(isinstance(value, str | int) for value in rain.metadata.values())
    assert build_note_passage(rent.metadata, 0.5) == {
        "text": rent.quote,
        "day": 7,
        "source": rent.id,
        "score": 0.5,
    }


@pytest.mark.parametrize("content", ["", "\n\n", "---\ntitle: x\n---\n"])
def test_a_day_without_a_sentence_has_no_notes(content: str) -> None:
    assert cut(content=content) == ()


def test_the_principal_sees_all_and_others_their_own_session_and_none() -> None:
    assert list_visible_sessions(asked_from("principal")) is None
    assert list_visible_sessions(asked_from("team")) == (NO_SESSION, "team")
