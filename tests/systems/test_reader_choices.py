"""Without a model, a choice is what the passages speak for most; what they do not decide is not
guessed.
"""

import pytest

from recall_bench.core.scenario import Question
from recall_bench.judging.protocols.multiple_choice import parse_options, read_choice
from recall_bench.systems import readers
from recall_bench.systems.builtin.no_memory import NO_RECORD
from recall_bench.systems.models.model import Prompt
from recall_bench.systems.readers import (
    CHOICE_CLOSING,
    CHOICE_INSTRUCTION,
    CLOSING,
    INSTRUCTION,
    ExtractiveReader,
    build_reader_prompt,
    choose_option,
    digest_choice_prompt,
    digest_prompt,
)
from tests.systems.reader_questions import ask, found

CHOICES = (
    "(A) You walked along the canal with your brother.",
    "(B) You baked rye bread with caraway seeds.",
    "(C) You repaired the gears of an old bicycle.",
    "(D) You painted the kitchen door green.",
)
ASKED = ask("What did I do last Saturday morning?", choices=CHOICES)
BREAD = "Last Saturday morning I baked a rye bread with caraway seeds."
OTHER = "Quarterly revenue of the bakery rose by four percent."


async def read(question: Question, *texts: str) -> str:
    return (await ExtractiveReader().read(question, found(*texts))).text


@pytest.mark.anyio
async def test_the_option_that_was_found_is_named_with_its_letter() -> None:
    assert await read(ASKED, OTHER, BREAD) == CHOICES[1]


@pytest.mark.anyio
async def test_the_answer_is_one_that_a_strict_reading_understands() -> None:
    assert read_choice(await read(ASKED, BREAD), parse_options(list(CHOICES))) == "B"


@pytest.mark.anyio
async def test_nothing_found_is_no_record_and_no_guess() -> None:
    assert await read(ASKED) == NO_RECORD


@pytest.mark.anyio
async def test_passages_about_something_else_are_no_record_and_no_guess() -> None:
    assert await read(ASKED, OTHER) == NO_RECORD


@pytest.mark.anyio
async def test_options_of_one_wording_are_not_guessed_between() -> None:
    twins = (*CHOICES[:2], "(C) You baked rye bread with caraway seeds.")

    assert await read(ask(ASKED.text, choices=twins), BREAD) == NO_RECORD


@pytest.mark.anyio
async def test_a_long_option_is_not_better_for_its_length() -> None:
    long = (CHOICES[1], f"(B) {' '.join(choice[4:] for choice in CHOICES[2:] * 4)}")

    assert await read(ask(ASKED.text, choices=long), BREAD) == CHOICES[1]


@pytest.mark.anyio
async def test_a_question_without_choices_is_read_as_before() -> None:
    assert await read(ask(ASKED.text), BREAD) == BREAD


def test_letters_are_not_weighed() -> None:
    weights = {"a vase": 0.1, "the (A) note": 0.2}

    assert (
        choose_option(("(A) a vase", "(b) the (A) note"), weights.__getitem__) == "(b) the (A) note"
    )


@pytest.mark.parametrize(
    ("weights", "answer"),
    [
        pytest.param((0.1, 0.3, 0.2), "(B) y", id="the heaviest"),
        pytest.param((0.3, 0.1, 0.3), None, id="two heaviest"),
        pytest.param((0.1, 0.1, 0.3), "(C) z", id="a tie below the heaviest"),
        pytest.param((0.0, 0.0, 0.0), None, id="no support"),
    ],
)
def test_only_what_weighs_most_alone_is_chosen(
    weights: tuple[float, ...], answer: str | None
) -> None:
    by_text = dict(zip("xyz", weights, strict=True))

    assert choose_option(("(A) x", "(B) y", "(C) z"), by_text.__getitem__) == answer


def test_no_options_are_no_choice_and_neither_is_a_single_one_without_support() -> None:
    assert choose_option((), lambda _: 1.0) is None
    assert choose_option(("(A) x",), lambda _: 0.0) is None


def test_the_card_tells_how_choices_are_made() -> None:
    assert ExtractiveReader.card.config["choosing"] == readers.CHOICE_VERSION
    assert ExtractiveReader.card.version == "3"


def test_a_model_is_asked_for_the_letter() -> None:
    prompt = build_reader_prompt(ASKED, found(BREAD))

    assert prompt.system == f"{INSTRUCTION}\n{CHOICE_INSTRUCTION}"
    assert prompt.user.endswith(f"\n\n{CHOICE_CLOSING}")
    assert "(B) You baked rye bread" in prompt.user


def test_another_prompt_is_another_version_of_the_reader() -> None:
    """Answers by two prompts must not bear one version: raise it, then put the digest here."""
    prompt = build_reader_prompt(ask("Why?"), found("Rain."))

    assert prompt == Prompt(
        system=INSTRUCTION,
        user='Asked on: 2024-03-03\nAsked by: the principal\nQuestion: "Why?"\n\n'
        f'Passages, best first:\n1. "Rain."\n\n{CLOSING}',
    )
    digest = digest_prompt()
    assert (readers.MODEL_READER_VERSION, digest[:16]) == ("2", "3dd27530a00b4e9c")


def test_the_instructions_for_choices_have_their_own_digest() -> None:
    assert digest_choice_prompt() != digest_prompt()
