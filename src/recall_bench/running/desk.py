"""Where what a system hands in is cut to the budget, traced, and read if it is no answer yet."""

from recall_bench.core.memory import Answer, Found
from recall_bench.core.question import Question
from recall_bench.errors import ReaderFault


class Desk:
    """One scenario's desk, the same for every system."""

    async def answer(self, question: Question, reply: Answer | Found) -> Answer:  # noqa: ARG002
        """The answer that is recorded and judged."""
        if isinstance(reply, Found):
            raise ReaderFault("there is nobody to read what the system found; name a --reader")
        return reply
