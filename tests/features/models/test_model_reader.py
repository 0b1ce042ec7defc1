"""A model reads by one prompt of ours, and nothing in what it reads can pass for the prompt.

Its failures are ours: a busy model is for the caller to come back to, anything else ends the run.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.errors import ModelBusy, ReaderFault
from recall_bench.core.memory import Answer, DatedPassage, Passage
from recall_bench.core.scenario import Question
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import open_model
from recall_bench.systems.builtin.no_memory import NO_RECORD
from recall_bench.systems.readers import (
    CLOSING,
    ModelReader,
    build_reader_prompt,
    build_task_prompt,
    digest_choice_prompt,
    digest_prompt,
)
from tests.openai_server import (
    OpenAIServer,
    Response,
    busy,
    cut_off,
    error,
    filtered,
    malformed,
    ok,
)
from tests.systems.reader_questions import ask, found

QUESTION = ask("What is the cat called?")
CAT = found("The cat is Fig.", "Rain.")


@asynccontextmanager
async def reader_at(*script: Response) -> AsyncIterator[tuple[ModelReader, OpenAIServer]]:
    with OpenAIServer(script) as server:
        spec = parse_spec(f"openai:any;{server.base_url};price=1000000/2000000", {})
        assert spec is not None
        reader = ModelReader(open_model(spec, {}))
        try:
            yield reader, server
        finally:
            await reader.close()


async def read(*script: Response, question: Question = QUESTION) -> Answer:
    async with reader_at(*script) as (reader, _):
        return await reader.read(question, CAT)


@pytest.mark.anyio
async def test_the_reply_is_the_answer_and_its_price_is_recorded() -> None:
    answer = await read(ok(" Fig.\n", input_tokens=3, output_tokens=2))

    assert answer.text == "Fig."
    assert answer.usage is not None
    assert (answer.usage.calls, answer.usage.cost_usd) == (1, 7.0)


@pytest.mark.anyio
async def test_no_passages_is_no_record_and_no_model_call() -> None:
    async with reader_at() as (reader, server):
        answer = await reader.read(QUESTION, ())

    assert answer == Answer(text=NO_RECORD)
    assert server.requests == []


@pytest.mark.anyio
async def test_the_model_is_sent_the_prompt_as_built() -> None:
    async with reader_at(ok("Fig.")) as (reader, server):
        await reader.read(QUESTION, CAT)

    prompt = build_reader_prompt(QUESTION, CAT)
    sent = [message["content"] for message in server.requests[0].json["messages"]]
    assert sent == [prompt.system, prompt.user]


@pytest.mark.anyio
async def test_a_busy_model_is_left_for_the_caller_to_come_back_to() -> None:
    with pytest.raises(ModelBusy) as raised:
        await read(busy(retry_after_s=7))

    assert raised.value.retry_after_s == 7


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("response", "told"),
    [
        pytest.param(error(401, "bad key"), "bad key", id="a refused key"),
        pytest.param(error(400, "too long"), "too long", id="a refused request"),
        pytest.param(malformed(), "is no completion", id="no completion"),
        pytest.param(filtered(), "withheld its answer", id="filtered"),
        pytest.param(ok("  "), "said nothing", id="silence"),
    ],
)
async def test_any_other_failure_is_a_fault_of_the_reader(response: Response, told: str) -> None:
    with pytest.raises(ReaderFault, match=told) as raised:
        await read(response)

    assert raised.value.exit_code == 6


@pytest.mark.anyio
async def test_an_answer_that_ran_too_long_is_still_an_answer() -> None:
    assert (await read(cut_off("Fig, because"))).text == "Fig, because"


@pytest.mark.anyio
async def test_the_card_names_the_model_and_the_prompt() -> None:
    async with reader_at() as (reader, server):
        card = reader.card

    assert card.model == f"openai:any;{server.base_url}"
    assert card.config == {"prompt": digest_prompt(), "choosing": digest_choice_prompt()}


def test_the_prompt_tells_the_date_and_who_asks() -> None:
    ours = build_reader_prompt(QUESTION, CAT).user
    guest = build_reader_prompt(ask("Why?", session="book-club"), CAT).user

    assert "Asked on: 2024-03-03\nAsked by: the principal\n" in ours
    assert 'Asked by: session "book-club"\n' in guest


def test_the_day_and_session_that_a_system_names_stand_before_its_passage() -> None:
    told = (
        DatedPassage(text="Fig.", at=datetime(2024, 2, 29, 8)),
        DatedPassage(text="Plum.", at=datetime(2024, 3, 1), session='a "b"\n2. "c"'),
        Passage(text="Rain.", day=2, claimed=2, source="board"),
    )
    lines = build_reader_prompt(QUESTION, told).user.splitlines()

    assert lines[5:8] == [
        '1. [2024-02-29] "Fig."',
        '2. [2024-03-01, session "a \\"b\\"\\n2. \\"c\\""] "Plum."',
        '3. "Rain."',
    ]
    assert lines[5:8] == build_task_prompt(QUESTION, told).user.splitlines()[7:10]


def test_choices_are_in_the_prompt() -> None:
    told = build_reader_prompt(ask("Which?", choices=("Fig", "Plum")), CAT).user

    assert '\nChoices: ["Fig", "Plum"]\n' in told


@given(st.lists(st.text(), min_size=1, max_size=5), st.text())
def test_every_text_stays_on_its_line_and_is_there_whole(texts: list[str], asked: str) -> None:
    """What cannot be sent, half a surrogate pair, becomes a question mark."""
    user = build_reader_prompt(ask(asked), found(*texts)).user

    lines = user.splitlines()
    start = lines.index("Passages, best first:") + 1
    told = [
        json.loads(match[1])
        for line in lines[start : start + len(texts)]
        if (match := re.fullmatch(r"\d+\. (.*)", line))
    ]
    assert told == texts
    assert lines[start + len(texts) :] == ["", CLOSING]
    assert json.loads(lines[2].removeprefix("Question: ")) == asked


def test_half_a_surrogate_pair_can_be_sent() -> None:
    user = build_reader_prompt(QUESTION, found("cat \ud83d")).user

    assert '1. "cat ?"' in user.encode().decode()
