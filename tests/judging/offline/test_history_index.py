"""The index knows what had been told by which day, and in which session."""

from datetime import date

import pytest

from recall_bench.core.scenario import Episode, Scenario, compute_story_date
from recall_bench.judging.offline.history_index import HistoryIndex
from recall_bench.text.text import normalise
from recall_bench.text.values import ValueAtom, find_values
from tests.judging.harbour import EPOCH, harbour


def atom(text: str) -> ValueAtom:
    (found,) = find_values(normalise(text))
    return found


@pytest.fixture(scope="module")
def index() -> HistoryIndex:
    return HistoryIndex(harbour())


@pytest.mark.parametrize(
    ("value", "day"),
    [("$465", 9), ("465 dollars", 9), ("1.35x", 5), ("v2.3.1", 5), ("40%", 5), ("$9,900", 20)],
)
def test_a_value_is_distinguished_from_its_first_day_on(
    index: HistoryIndex, value: str, day: int
) -> None:
    assert not index.is_value_known(atom(value), day - 1)
    assert index.is_value_known(atom(value), day)


def test_a_value_without_its_unit_is_stated_and_with_another_is_not(index: HistoryIndex) -> None:
    assert index.is_value_known(atom("465"), 9)
    assert not index.is_value_known(atom("€465"), 30)


def test_a_time_without_its_half_of_the_day_is_stated_and_with_the_other_is_not(
    index: HistoryIndex,
) -> None:
    assert index.is_value_known(atom("6:30"), 9)
    assert not index.is_value_known(atom("6:30 PM"), 9)


def test_a_value_in_another_spelling_is_stated() -> None:
    index = HistoryIndex(harbour(days={1: "Tea is at 7:45. The fair on June 3 is two weeks off."}))

    assert index.is_value_known(atom("14 days"), 1)
    assert index.is_value_known(atom("7:45 PM"), 1)
    assert index.is_value_known(atom("2026-06-03"), 1)


@pytest.mark.parametrize("day", ["2025-03-03", "March 3", "March 2025", "2025"])
def test_every_day_lived_may_be_named_though_no_text_names_it(
    index: HistoryIndex, day: str
) -> None:
    assert index.is_value_known(atom(day), 9)


@pytest.mark.parametrize("day", ["2025-03-15", "2024-03-03", "2025-02-28", "April 2025", "2024"])
def test_a_day_not_lived_and_not_stated_may_not(index: HistoryIndex, day: str) -> None:
    assert not index.is_value_known(atom(day), 9)


def test_a_day_still_to_come_may_be_named_once_it_was_stated(index: HistoryIndex) -> None:
    assert not index.is_value_known(atom("March 19"), 4)
    assert index.is_value_known(atom("March 19"), 5)


def test_the_days_lived_are_those_of_the_episodes_and_not_counted_from_the_epoch() -> None:
    """Chats number their sessions: the second may be a month after the first."""
    chat = Scenario(
        id="chat",
        epoch=EPOCH,
        episodes=(
            Episode(id="D1", day=1, at=compute_story_date(EPOCH, 1), text="Hello."),
            Episode(id="D2", day=2, at=compute_story_date(EPOCH, 40), text="Hello again."),
        ),
        items=(),
    )

    index = HistoryIndex(chat)

    assert not index.is_value_known(atom("2025-04-01"), 1)
    assert index.is_value_known(atom("2025-04-01"), 2)


def test_words_are_said_in_any_case_and_from_their_day_on(index: HistoryIndex) -> None:
    assert index.is_word_known("marigold", 1)
    assert not index.is_word_known("haddock", 19)
    assert index.is_word_known("haddock", 20)


def test_it_knows_the_session_of_each_value_and_word(index: HistoryIndex) -> None:
    assert index.find_value_sessions(atom("1.35x"), 9) == {"lender"}
    assert index.find_value_sessions(atom("$420"), 9) == {"principal"}
    assert index.find_word_sessions("silvia", 9) == {"lender"}
    assert index.find_word_sessions("the", 9) == {"lender", "principal"}
    assert index.find_word_sessions("silvia", 4) == set()


def test_text_outside_sessions_belongs_to_no_session() -> None:
    index = HistoryIndex(harbour(days={1: "The rent is $12.\n# session: crew\nThe rent is due."}))

    assert index.find_value_sessions(atom("$12"), 1) == {""}


def test_a_line_repeated_in_another_session_counts_there_too() -> None:
    said = "The rent is $12."
    days = {1: f"# session: lender\n{said}", 2: f"# session: crew\n{said}"}

    index = HistoryIndex(harbour(days=days))

    assert index.find_value_sessions(atom("$12"), 1) == {"lender"}
    assert index.find_value_sessions(atom("$12"), 2) == {"lender", "crew"}


def test_an_empty_history_tells_nothing() -> None:
    index = HistoryIndex(Scenario(id="empty", epoch=date(2025, 1, 1), episodes=(), items=()))

    assert not index.is_value_known(atom("2025-01-01"), 1)
    assert not index.is_word_known("rain", 1)
