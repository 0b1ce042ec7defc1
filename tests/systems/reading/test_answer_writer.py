"""The reader answers in sentences of the record, computes what several of them say, and refuses.

The passages are of many kinds, because a reader is there for every system: notes, logs and chats.
"""

from collections.abc import Sequence
from datetime import date, datetime, time
from itertools import product
from typing import Any

import pytest

from recall_bench.core.memory import Passage
from recall_bench.systems.builtin.no_memory import NO_RECORD
from recall_bench.systems.reading import answer_writer, sentence_ranker
from recall_bench.systems.reading.answer_writer import NO, AnswerWriter, load_writer
from recall_bench.systems.reading.passage_sentences import ReadSentence, read_passages
from recall_bench.systems.reading.question_analysis import analyse_question
from recall_bench.systems.reading.sentence_ranker import SentenceRanker
from tests.loops import loop_over_rows
from tests.systems.reader_questions import ask, found


def read(question: str, *texts: str, **more: Any) -> str:
    return load_writer().write(ask(question, **more), found(*texts))


BOAT = (
    "On 2024-01-05 (harbour): Boat 12 was hauled out on a grey morning with four people on the "
    "slip. Mara Lind bought it from the widow of the baker. The price was $4,200, paid in cash. "
    "The hull needs new planks below the waterline. Everybody went home for soup."
)


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("Who bought boat 12?", "Mara Lind bought it"),
        ("How much was paid for boat 12?", "$4,200"),
        ("What does the hull of boat 12 need?", "new planks"),
    ],
)
def test_the_sentence_that_answers_is_quoted_after_its_day(question: str, holds: str) -> None:
    said = read(question, BOAT)

    assert said.startswith("On 2024-01-05 (harbour): ")
    assert holds in said
    assert len(said) < len(BOAT)


def test_what_is_known_of_a_sentence_and_its_words_is_what_a_new_ranker_measures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentences = read_passages(found(BOAT, "On 2024-02-01: The slip was painted green."))
    [asked] = analyse_question("What does the hull of boat 12 need?", date(2024, 3, 1))
    expected = [SentenceRanker().measure_closeness(asked, each) for each in sentences]
    monkeypatch.setattr(sentence_ranker, "CACHE_SIZE", 8)
    ranker = SentenceRanker()

    one_by_one = [ranker.measure_closeness(asked, each) for each in sentences]
    ranker.score(asked, sentences)

    assert one_by_one == expected
    assert [ranker.measure_closeness(asked, each) for each in sentences] == expected
    assert len(set(expected)) > 3


def test_an_answer_that_is_given_again_is_the_one_to_this_question_on_this_day() -> None:
    """A writer keeps its answers: each is asked for twice, among questions that are like it."""
    june, july = date(2024, 6, 1), date(2024, 7, 31)
    asked = [
        ask(question, session=session, asked_at=datetime.combine(today, time(9)))
        for question in ("Who came today?", "Who paid?", "Who came and when was it?")
        for session in ("principal", "crew")
        for today in (june, july)
    ]
    passages = (
        "On 2024-06-01 (crew): Mara Lind came for the keys. Jo Holm paid.",
        "On 2024-07-31 (crew): Tove Berg came for the boat. Ann Falk paid.",
        "On 2024-07-30 (office): Lee Dahl came for the boat. Kai Moe paid.",
    )
    given = [found(*passages[:count]) for count in (1, 2, 3)]
    one = AnswerWriter()

    for _ in range(2):
        for question, read in product(asked, given):
            assert one.write(question, read) == AnswerWriter().write(question, read)
    answers = {one.write(question, read) for question, read in product(asked, given)}
    assert len(answers) > 4


def test_the_oldest_answer_leaves_a_full_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def read_anew(passages: Sequence[Passage]) -> list[ReadSentence]:
        written.append(boat)
        return read_passages(passages)

    monkeypatch.setattr(answer_writer, "WRITTEN", 2)
    monkeypatch.setattr(answer_writer, "read_passages", read_anew)
    one = AnswerWriter()
    for boat in (12, 13, 13, 12, 14, 13, 12):
        one.write(ask(f"Who bought boat {boat}?"), found(BOAT))

    assert written == [12, 13, 14, 12]


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("Who bought boat 12 on 5 January 2024?", 1),
        ("Who bought boat 12 on 5 January?", 2),
        ("Which was first, the launch in May 2024 or the race last week?", 2),
    ],
)
def test_an_answer_is_written_again_if_today_makes_other_days_of_the_question(
    question: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def read_anew(passages: Sequence[Passage]) -> list[ReadSentence]:
        written.append(question)
        return read_passages(passages)

    monkeypatch.setattr(answer_writer, "read_passages", read_anew)
    one = AnswerWriter()
    for year in (2024, 2025):
        one.write(ask(question, asked_at=datetime(year, 8, 1, 9)), found(BOAT))

    assert len(written) == count


def test_a_relative_date_is_resolved_by_the_day_of_the_passage() -> None:
    said = read(
        "When did Ann go to the dentist?", "On 2024-02-20: Ann: I saw the dentist yesterday."
    )

    assert said.startswith("2024-02-19. On 2024-02-20: Ann: I saw the dentist yesterday.")


def test_an_event_without_a_date_of_its_own_happened_on_the_day_of_the_passage() -> None:
    said = read("When was the boiler replaced?", "On 2024-02-20: The boiler was replaced at noon.")

    assert said == "2024-02-20. On 2024-02-20: The boiler was replaced at noon."


def test_the_day_of_a_passage_is_not_stated_beside_a_later_one_in_it() -> None:
    said = read(
        "When was the boiler replaced?", "On 2024-02-20: The boiler is replaced on 4 March 2024."
    )

    assert said == "On 2024-02-20: The boiler is replaced on 4 March 2024."


def test_a_deadline_is_the_day_that_the_sentence_names() -> None:
    note = "On 2024-02-20: The form came today. It must be back by 4 March 2024."

    assert read("By when must the form be returned?", note).startswith("2024-03-04.")


ORDERS = (
    "On 2024-02-01: Order PO-7\nOrder PO-7 went out for pipettes. It cost €300.",
    "On 2024-02-09: Order PO-9\nOrder PO-9 went out for gloves. It cost €120.",
    "On 2024-02-20: Order PO-11\nOrder PO-11 went out for tubes. It cost €80.",
)


@loop_over_rows(
    ("question", "answer"),
    [
        (
            "How much was spent on the orders of February 2024 altogether?",
            "€500 in all: €300 + €120 + €80.",
        ),
        ("How many orders went out in February 2024?", "3 in all."),
        ("Which of the orders of February 2024 was the dearest?", "Order PO-7, at €300."),
        ("Which of the orders of February 2024 was the cheapest?", "Order PO-11, at €80."),
        ("Which came first, order PO-9 or order PO-7?", "Order PO-7 came first, on 2024-02-01"),
        ("How many days passed between order PO-7 and order PO-11?", "19 days, from 2024-02-01"),
    ],
)
def test_what_several_passages_say_is_computed(question: str, answer: str) -> None:
    assert read(question, *ORDERS).startswith(answer)


def test_more_events_than_can_be_put_in_order_are_quoted() -> None:
    numbers = range(7, 14)
    texts = [f"On 2024-02-{number:02} (shop): Order PO-{number} went out." for number in numbers]
    names = "; ".join(f"order PO-{number}" for number in numbers)

    said = read(f"Put these in the order they happened: {names}.", *texts)

    assert "Order PO-" in said
    assert "First" not in said


def test_the_order_of_the_passages_does_not_matter_for_what_is_computed() -> None:
    question = "Put these in the order they happened: order PO-11; order PO-7; order PO-9."
    answer = (
        "First order PO-7 (2024-02-01), then order PO-9 (2024-02-09), "
        "then order PO-11 (2024-02-20)."
    )

    assert read(question, *ORDERS) == read(question, *reversed(ORDERS)) == answer


def test_of_two_values_the_newest_counts_and_the_change_is_reported() -> None:
    old, new = (
        "On 2024-01-05: The boiler in the hall is set to 14 degrees.",
        "On 2024-02-20: The boiler in the hall is set to 11 degrees.",
    )

    said = read("To how many degrees is the boiler in the hall set?", old, new)

    assert said.startswith(new)
    assert said.endswith("Before, on 2024-01-05: The boiler in the hall is set to 14 degrees.")


@pytest.mark.parametrize(
    ("note", "answer"),
    [
        ("Mara sold the boat to her cousin.", "Yes, on 2024-02-20. "),
        ("Mara did not sell the boat after all.", "No. On 2024-02-20: "),
        ("Mara painted the boat blue.", NO),
    ],
)
def test_yes_and_no_follow_the_record(note: str, answer: str) -> None:
    assert read("Did Mara sell the boat?", f"On 2024-02-20: {note}").startswith(answer)


def test_a_change_is_found_by_the_words_for_it() -> None:
    note = "On 2024-02-20: The ferry leaves at nine rather than at eight. It is full."

    assert read("Was the hour of the ferry ever changed?", note).startswith("Yes, on 2024-02-20.")


def test_what_two_passages_share_is_named() -> None:
    notes = (
        "On 2024-01-05: Claim K-1\nThe lawyers are Ravenglass & Pike. It rained.",
        "On 2024-02-20: Lease K-2\nThe paper was drawn up by Ravenglass & Pike in a day.",
    )

    assert read("Which firm do K-1 and K-2 have in common?", *notes).startswith(
        "Ravenglass & Pike."
    )


def test_every_passage_of_a_list_is_quoted() -> None:
    notes = [
        f"On 2024-02-0{day}: Bo: I read {book} in bed."
        for day, book in (
            (1, "Emma"),
            (2, "Walden"),
            (3, "Dracula"),
            (4, "Ulysses"),
            (5, "Middlemarch"),
        )
    ]

    said = read("Which books did Bo read?", *notes)

    assert all(book in said for book in ("Emma", "Walden", "Dracula", "Ulysses", "Middlemarch"))


def test_each_part_of_a_question_is_answered() -> None:
    said = read("Who bought boat 12, and how much was paid for boat 12?", BOAT)

    assert "Mara Lind" in said
    assert "$4,200" in said


def test_the_main_clause_says_what_is_wanted() -> None:
    note = (
        "On 2024-02-20: The ferry company reported a clash with the regatta and asked for help. "
        "Mara moved the crane hire to Friday instead of the regatta."
    )

    said = read(
        "When the ferry company reported a clash, what did Mara move instead of the regatta?", note
    )

    assert "crane hire" in said
    assert not said.startswith("2024")


def test_a_label_below_a_heading_is_no_speaker() -> None:
    notes = "On 2024-02-20: Harbour office\nOutstanding: confirm the date of the visit"

    assert "visit" in read("What is there still to confirm for Mara?", notes)
    assert read("What did Sam start?", "On 2024-02-20: Log\nEvan: I started.") == NO_RECORD


class TestRefusals:
    """There is no record where the evidence is missing, another's, or closed to the asker."""

    def test_without_passages(self) -> None:
        assert read("Who bought the boat?") == NO_RECORD

    @pytest.mark.parametrize("question", ["", "And?", "???"])
    def test_without_a_question(self, question: str) -> None:
        assert read(question, BOAT) == NO_RECORD

    def test_if_none_of_many_passages_holds_a_name_of_the_question(self) -> None:
        notes: Sequence[str] = [f"On 2024-02-0{day}: Mara paid the baker." for day in (1, 2, 3)]
        others = [f"{note[:-1]} {place}." for note, place in zip(notes, "abc", strict=True)]

        assert read("What did Quentin ask the notary?", *others) == NO_RECORD
        assert read("What did Mara pay the baker?", *others) != NO_RECORD

    def test_if_another_person_speaks_of_themselves(self) -> None:
        said = "On 2024-02-20: Evan: I started lifting weights a year ago."

        assert read("What did Sam start a year ago?", said) == NO_RECORD
        assert read("What did Evan start a year ago?", said) != NO_RECORD

    def test_if_the_evidence_belongs_to_a_session_the_asker_may_not_see(self) -> None:
        secret = "On 2024-02-20 (board): The bid for the mill is $4 million."
        asked = "How high is the bid for the mill?"

        refused = read(asked, secret, session="market")

        assert "board" in refused
        assert "4" not in refused
        assert "$4 million" in read(asked, secret, session="board")
        assert "$4 million" in read(asked, secret)

    def test_open_evidence_is_reported_beside_closed_evidence(self) -> None:
        notes = (
            "On 2024-02-20 (board): The bid for the mill is $4 million.",
            "On 2024-02-21 (market): Jo Hart visits the mill on Friday.",
        )

        said = read("Who visits the mill, and how high is the bid?", *notes, session="market")

        assert "Jo Hart" in said
        assert "million" not in said


def test_the_same_passages_give_the_same_answer() -> None:
    said = [read("Who bought boat 12?", BOAT, *ORDERS) for _ in range(3)]

    assert len(set(said)) == 1
