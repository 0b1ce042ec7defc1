"""What a question wants is read from its wording, whatever it is about."""

from datetime import date

from recall_bench.systems.reading.question_analysis import (
    AnswerKind,
    AskedQuestion,
    analyse_question,
)
from tests.loops import loop_over_rows

TODAY = date(2024, 6, 1)


def analyse(text: str) -> AskedQuestion:
    (asked,) = analyse_question(text, TODAY)
    return asked


@loop_over_rows(
    ("text", "wanted"),
    [
        (
            "Put these in the order they happened: the wedding; the move; the fire.",
            AnswerKind.ORDER,
        ),
        ("Which came first, the wedding or the move?", AnswerKind.FIRST),
        ("How many days passed between the wedding and the move?", AnswerKind.GAP),
        ("How long did the repair of the roof take?", AnswerKind.GAP),
        ("How many guests came to the wedding?", AnswerKind.COUNT),
        ("How often did it rain in May?", AnswerKind.COUNT),
        ("What did the three repairs cost in total?", AnswerKind.SUM),
        ("Which of the three repairs was the dearest?", AnswerKind.EXTREME),
        ("Did Mara ever sell the boat?", AnswerKind.YES_NO),
        ("During the winter, did Mara sell the boat?", AnswerKind.YES_NO),
        ("When did Mara sell the boat?", AnswerKind.DATE),
        ("When Mara sold the boat, who bought it?", AnswerKind.PERSON),
        ("On Friday, at what time did the ferry leave?", AnswerKind.TIME),
        ("By when, for want of a berth, did Mara have to sell the boat?", AnswerKind.DATE),
        ("Of the three repairs, which was the dearest?", AnswerKind.EXTREME),
        ("By which day must the form be back?", AnswerKind.DATE),
        ("At what time does the ferry leave?", AnswerKind.TIME),
        ("What was the price of the boat?", AnswerKind.AMOUNT),
        ("How much time was left?", AnswerKind.AMOUNT),
        ("Who bought the boat?", AnswerKind.PERSON),
        ("What do the boat and the car have in common?", AnswerKind.COMMON),
        ("Where was Mara when the fire broke out?", AnswerKind.TEXT),
        ("Why did Mara sell the boat?", AnswerKind.TEXT),
        ("What is the best thing about the west of the forest?", AnswerKind.TEXT),
    ],
)
def test_the_wording_shows_the_kind_of_answer(text: str, wanted: AnswerKind) -> None:
    assert [part.wanted for part in analyse_question(text, TODAY)] == [wanted]


def test_two_questions_in_one_sentence_are_two() -> None:
    parts = analyse_question("Who bought the boat, and how much did it cost?", TODAY)

    assert [part.wanted for part in parts] == [AnswerKind.PERSON, AnswerKind.AMOUNT]


def test_a_list_with_and_is_one_question() -> None:
    assert len(analyse_question("What did Mara and Jo buy?", TODAY)) == 1


def test_names_and_codes_are_anchors_but_dates_are_not() -> None:
    asked = analyse("What did Mara Lind say about INC-204 on 3 May 2024?")

    assert asked.anchors == ("inc-204", "mara lind")
    assert "mara" not in asked.stems
    assert [(span.first, span.last) for span in asked.spans] == [(date(2024, 5, 3),) * 2]


def test_the_events_of_an_order_are_separated() -> None:
    listed = analyse("Put these in the order they happened: the wedding; the move; the fire.")
    pair = analyse("Which came first: the wedding, or the move to Oslo?")
    between = analyse("How many days passed between the wedding and the move?")

    assert listed.events == ("the wedding", "the move", "the fire")
    assert pair.events == ("the wedding", "the move to Oslo")
    assert between.events == ("the wedding", "the move")


@loop_over_rows(
    ("text", "side"),
    [
        ("Which of the runs was the longest?", "most"),
        ("Which of the runs cost the least?", "least"),
        ("Which of the runs was the fastest?", "fast"),
        ("Which of the runs was the slowest?", "slow"),
    ],
)
def test_an_extreme_has_a_side(text: str, side: str) -> None:
    assert analyse(text).side == side


def test_what_is_counted_is_the_last_word_of_its_phrase() -> None:
    assert analyse("How many new chart audits were there?").noun == "audits"


def test_a_part_without_a_name_is_about_the_names_of_the_whole() -> None:
    parts = analyse_question("Who proposed INC-204, and why was it refused?", TODAY)

    assert [part.anchors for part in parts] == [("inc-204",), ("inc-204",)]
