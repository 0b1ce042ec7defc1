"""The extractive reader quotes the sentences that answer, or says there is no record.

It knows the question and the passages, and nothing of the system: not even its scores.
"""

import pytest

from recall_bench.core.memory import Passage
from recall_bench.systems import readers
from recall_bench.systems.builtin.no_memory import NO_RECORD
from recall_bench.systems.readers import (
    NO_RECORD_BELOW,
    QUOTES,
    WORD_WEIGHT,
    ExtractiveReader,
    TextSupport,
)
from recall_bench.systems.reading.answer_writer import describe_rules
from tests.systems.reader_questions import ask, found

pytestmark = pytest.mark.anyio

QUESTION = "Which vaccine did the cat get in February?"
RIGHT = "The cat got the rabies vaccine in February."
ALIKE = "The vet weighed the cat in February and gave it no vaccine."
OTHER = "Quarterly revenue of the bakery rose by four percent."


async def read(question: str, *passages: Passage) -> str:
    return (await ExtractiveReader().read(ask(question), passages)).text


async def test_a_passage_that_speaks_of_it_is_quoted_word_for_word() -> None:
    assert await read(QUESTION, *found(RIGHT)) == RIGHT


async def test_nothing_found_is_no_record() -> None:
    assert await read(QUESTION) == NO_RECORD


async def test_passages_that_speak_of_something_else_are_no_record() -> None:
    others = [f"{OTHER} ({n})" for n in range(3)]

    assert await read(QUESTION, *found(*others)) == NO_RECORD


async def test_a_passage_found_twice_is_quoted_once() -> None:
    assert await read(QUESTION, *found(RIGHT, OTHER, RIGHT)) == RIGHT


async def test_the_sentence_that_answers_is_quoted_wherever_it_stands() -> None:
    assert await read(QUESTION, *found(OTHER, f"It rained. {RIGHT}")) == RIGHT


@pytest.mark.parametrize("score", [None, -3.0, 0.0, 1e9])
async def test_scores_do_not_matter(score: float | None) -> None:
    right, other = Passage(text=RIGHT, score=score), Passage(text=OTHER, score=score)

    assert await read(QUESTION, right) == RIGHT
    assert await read(QUESTION, other, right) == RIGHT


@pytest.mark.parametrize("question", ["", "And?", "???"])
async def test_a_question_without_a_word_of_substance_finds_no_support(question: str) -> None:
    assert await read(question, *found(OTHER)) == NO_RECORD


async def test_support_is_the_share_of_content_words_in_what_is_quoted() -> None:
    words, meaning = TextSupport().measure("Which vaccine for the cat?", ["A cat slept.", OTHER])

    assert words == 0.5
    assert 0 < meaning < 1


async def test_support_does_not_depend_on_what_was_read_before() -> None:
    support = TextSupport()
    before = support.measure(QUESTION, [OTHER])

    support.measure(QUESTION, [RIGHT])

    assert support.measure(QUESTION, [OTHER]) == before


async def test_blank_passages_are_not_quoted() -> None:
    assert await read(QUESTION, *found(" \n", RIGHT)) == RIGHT


def test_the_card_tells_what_can_change_an_answer() -> None:
    assert ExtractiveReader.card.version == "3"
    assert ExtractiveReader.card.config == {
        **describe_rules(),
        "quotes": QUOTES,
        "word_weight": WORD_WEIGHT,
        "no_record_below": NO_RECORD_BELOW,
        "choosing": readers.CHOICE_VERSION,
    }
    assert ExtractiveReader.card.model is None
