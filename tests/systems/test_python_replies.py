"""What an adapter returns is an answer or is named; what it raises costs whom it should."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from recall_bench.core.errors import NotAnAnswer, SystemBusy, SystemFault, SystemGone, UsageError
from recall_bench.core.memory import Answer, Passage
from recall_bench.systems.python.adapter import DayMetadata
from tests.systems.asking import answered
from tests.systems.python_adapters import DAY, QUESTION, Notes, opened

pytestmark = pytest.mark.anyio


def replying(reply: object) -> Callable[[], object]:
    """An adapter that answers everything with one thing, or raises it."""

    class Replying(Notes):
        def query(self, question: str) -> Any:
            if isinstance(reply, BaseException):
                raise reply
            return reply

    return Replying


FULL = Answer(
    text="Fig",
    passages=(Passage(text="The cat is Fig.", day=2, source="notes/2", score=0.5),),
    tool_calls=({"tool": "grep", "args": {"q": "cat"}},),
)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        pytest.param("Fig", Answer(text="Fig"), id="text"),
        pytest.param("", Answer(text=""), id="silence"),
        pytest.param("Φίγκ 🐈", Answer(text="Φίγκ 🐈"), id="any script"),
        pytest.param(np.str_("Fig"), Answer(text="Fig"), id="a subclass of str"),
        pytest.param(FULL, FULL, id="an Answer"),
        pytest.param({"answer": "Fig"}, Answer(text="Fig"), id="a mapping"),
        pytest.param({"answer": "Fig", "retrieval": None}, Answer(text="Fig"), id="no passages"),
        pytest.param(
            {
                "answer": "Fig",
                "passages": [
                    {"text": "The cat is Fig.", "day": 2, "source": "notes/2", "score": 0.5}
                ],
                "tool_calls": [{"tool": "grep", "args": {"q": "cat"}}],
            },
            FULL,
            id="our names",
        ),
        pytest.param(
            {
                "answer": "Fig",
                "retrieval": (
                    {"snippet": "The cat is Fig.", "day": np.int64(2), "path": "notes/2"}
                    | {"score": np.float32(0.5), "rank": 1},
                ),
                "toolCalls": [{"tool": "grep", "args": {"q": "cat"}}],
            },
            FULL,
            id="the names of the public interface",
        ),
        pytest.param(
            {"answer": "Fig", "passages": [{"text": "x", "score": float("nan")}]},
            Answer(text="Fig", passages=(Passage(text="x"),)),
            id="a score that is no number",
        ),
    ],
)
async def test_a_reply_becomes_an_answer(reply: object, answer: Answer) -> None:
    async with opened(replying(reply)) as memory:
        assert await answered(memory, QUESTION) == answer


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(None, "returned None", id="None"),
        pytest.param(42, "the int 42", id="a number"),
        pytest.param(True, "the bool True", id="a truth value"),
        pytest.param(b"Fig", "a bytes", id="bytes"),
        pytest.param(["Fig"], "a list", id="a list"),
        pytest.param({}, "keys none", id="an empty mapping"),
        pytest.param({"text": "Fig"}, "keys text", id="a mapping without an answer"),
        pytest.param({"answer": None}, "without that", id="an answer of None"),
        pytest.param(Answer(text=3), "Expected `str`, got `int`", id="an ill-made Answer"),  # type: ignore[arg-type]
        pytest.param({"answer": "Fig", "passages": "x"}, "passages is a list", id="odd passages"),
        pytest.param({"answer": "Fig", "passages": ["x"]}, "a passage is a mapping", id="strings"),
        pytest.param({"answer": "Fig", "passages": [{}]}, "`text`", id="a passage without text"),
        pytest.param(
            {"answer": "Fig", "passages": [{"text": "x", "day": "2"}]}, "passages[0].day", id="day"
        ),
        pytest.param({"answer": "F", "tool_calls": [object()]}, "no object", id="odd tool calls"),
        pytest.param("\ud800", "half a character", id="half a surrogate pair"),
    ],
)
async def test_anything_else_is_no_answer_and_is_named(reply: object, said: str) -> None:
    async with opened(replying(reply)) as memory:
        with pytest.raises(NotAnAnswer) as refusal:
            await answered(memory, QUESTION)

        assert said in str(refusal.value)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Lazy(Mapping[str, object]):
    """A mapping that fails only when it is read."""

    def __getitem__(self, key: str) -> object:
        raise ZeroDivisionError("late")

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (ValueError("bad luck"), SystemFault, "ValueError: bad luck"),
        (KeyError(), SystemFault, "KeyError"),
        (SystemExit(3), SystemFault, "SystemExit: 3"),
        (KeyboardInterrupt(), SystemFault, "KeyboardInterrupt"),
        (asyncio.CancelledError(), SystemFault, "CancelledError"),
        (GeneratorExit(), SystemFault, "GeneratorExit"),
        (UsageError("not yours"), SystemFault, "UsageError: not yours"),
        (ValueError("half \ud800"), SystemFault, "ValueError: half \\ud800"),
        (Unspeakable(), SystemFault, "Unspeakable: its message raises ValueError"),
        (TimeoutError("slow today"), SystemBusy, "TimeoutError: slow today"),
        (SystemBusy("later"), SystemBusy, "later"),
        (SystemGone("moved"), SystemGone, "moved"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
async def test_what_an_adapter_raises_is_a_fault_of_one_sentence(
    raised: BaseException, kind: type[Exception], message: str, is_async: bool
) -> None:
    class Raising(Notes):
        def query(self, question: str) -> Any:
            if is_async:
                return self.later()
            raise raised

        async def later(self) -> str:
            await asyncio.sleep(0)
            raise raised

    async with opened(Raising) as memory:
        with pytest.raises(kind) as fault:
            await answered(memory, QUESTION)

        assert type(fault.value) is kind
        said, _, place = str(fault.value).partition(" (test_python_replies.py, line ")
        assert said == message
        assert bool(place) is not isinstance(raised, SystemBusy | SystemGone)


async def test_an_exhausted_iterator_is_a_fault_like_any_other() -> None:
    async with opened(replying(StopIteration("over"))) as memory:
        with pytest.raises(SystemFault, match="StopIteration: over"):
            await answered(memory, QUESTION)


@pytest.mark.parametrize("kind", [ConnectionRefusedError, ConnectionResetError, BrokenPipeError])
async def test_a_lost_connection_is_not_a_fault_of_the_system(kind: type[OSError]) -> None:
    async with opened(replying(kind("port 1"))) as memory:
        with pytest.raises(SystemGone, match=f"{kind.__name__}: port 1"):
            await answered(memory, QUESTION)


async def test_a_mapping_that_fails_when_read_is_a_fault() -> None:
    async with opened(replying(Lazy())) as memory:
        with pytest.raises(SystemFault, match="ZeroDivisionError: late"):
            await answered(memory, QUESTION)


async def test_a_fault_leaves_the_memory_usable() -> None:
    class Moody(Notes):
        def query(self, question: str) -> str:
            self.calls.append(question)
            if len(self.calls) == 2:
                raise SystemExit
            return str(len(self.calls))

    async with opened(Moody) as memory:
        with pytest.raises(SystemFault):
            await answered(memory, QUESTION)
        answer = await answered(memory, QUESTION)

    assert answer.text == "3"


async def test_an_exit_in_a_background_task_does_not_end_the_memory() -> None:
    class Restless(Notes):
        async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:  # type: ignore[override]
            async def leave() -> None:
                raise SystemExit

            self.task = asyncio.create_task(leave())

        async def query(self, question: str) -> str:
            return type(self.task.exception()).__name__

    async with opened(Restless) as memory:
        await memory.ingest(DAY)
        await memory.settle()
        answer = await answered(memory, QUESTION)

    assert answer.text == "SystemExit"
