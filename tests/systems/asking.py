"""Asking a memory that is known to answer by itself."""

from recall_bench.core.memory import Answer, Memory
from recall_bench.core.scenario import Question


async def answered(memory: Memory, question: Question) -> Answer:
    """The answer; a memory that only found something fails the test."""
    reply = await memory.answer(question)
    assert isinstance(reply, Answer)
    return reply
