"""Where what a system hands in is cut to the budget, traced, and read if it is no answer yet."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from recall_bench.core.budget import Budget, name_provider
from recall_bench.core.errors import ModelBusy, ReaderFault
from recall_bench.core.memory import Answer, Delivery, Passage, Reader, RetrievalReply
from recall_bench.core.passage_tracer import PassageTracer
from recall_bench.core.plan import Plan
from recall_bench.core.retry import BusyError, limit_time, retry
from recall_bench.core.scenario import Question
from recall_bench.core.usage import Usage
from recall_bench.core.words import CHARACTERS_A_TOKEN, estimate_tokens

MAX_CUT_TRACED = 100
"""So many passages beyond the budget are traced: a paraphrase takes milliseconds each, systems may
return thousands, and what stands further below what anybody read was hardly found."""


@dataclass(frozen=True, slots=True)
class FinishedReply:
    """A reply as it is recorded and judged."""

    answer: Answer
    delivery: Delivery | None
    reading_s: float | None = None
    reading_usage: Usage | None = None


class ReplyFinisher:
    """One scenario's desk, the same for every system.

    A reader, where there is one, answers from whatever passages a system returned. Without one a
    system has to answer itself, unless no answer is judged.
    """

    def __init__(
        self, tracer: PassageTracer, *, plan: Plan, reader: Reader | None, court: Budget
    ) -> None:
        self._tracer = tracer
        self._plan = plan
        self._reader = reader
        self._court = court

    def refuse_if_spent(self) -> None:
        """Raise BudgetSpent before a question is put whose reading cannot be paid."""
        if is_paid(self._reader):
            self._court.refuse_if_spent()

    async def finish_reply(
        self,
        question: Question,
        reply: Answer | RetrievalReply,
        until: int,
        told: Callable[[BusyError], None],
    ) -> FinishedReply:
        """The answer to record, from a system that was fed up to day `until`.

        A ReaderFault if there is nobody to read it, or if reading fails; `told` hears of each
        time that the reader was busy.
        """
        offered = reply.passages
        kept = tuple(
            self._tracer.trace(passage, until) for passage in cut_to_budget(offered, self._plan)
        )
        delivery = _describe_delivery(
            offered, kept, self._trace_cut_days(offered[len(kept) :], until)
        )
        if isinstance(reply, Answer) and (self._reader is None or not kept):
            return FinishedReply(_replace_passages(reply, kept), delivery)
        if self._reader is None and self._plan.unjudged:
            found = Answer(text="", passages=kept, tool_calls=reply.tool_calls, usage=reply.usage)
            return FinishedReply(found, delivery)
        if self._reader is None:
            raise ReaderFault(
                f"{self._plan.system.name} returned passages and no answer; let its adapter say "
                "answers = False, or name a --reader"
            )
        started = time.perf_counter()
        read = await self._read(self._reader, question, kept, told)
        seconds = time.perf_counter() - started
        answer = Answer(
            text=read.text, passages=kept, tool_calls=reply.tool_calls, usage=reply.usage
        )
        return FinishedReply(answer, delivery, seconds, read.usage)

    def _trace_cut_days(self, cut: Sequence[Passage], until: int) -> tuple[int, ...]:
        traced = (self._tracer.trace(passage, until).day for passage in cut[:MAX_CUT_TRACED])
        return tuple(sorted({day for day in traced if day is not None}))

    async def _read(
        self,
        reader: Reader,
        question: Question,
        kept: tuple[Passage, ...],
        told: Callable[[BusyError], None],
    ) -> Answer:
        timeout_s = self._plan.judge_timeout_s

        async def read_once() -> Answer:
            overrun = ModelBusy(f"no answer within {timeout_s:g} s")
            async with self._court.calls.limit(
                name_provider(reader.card.model or reader.card.name)
            ):
                return await limit_time(timeout_s, reader.read(question, kept), overrun)

        try:
            answer = await retry(read_once, told)
        except ModelBusy as busy:
            raise ReaderFault(
                f"the reader {reader.card.name} cannot be had: {busy}; the same command goes on"
            ) from busy
        if answer.usage is not None:
            self._court.record_usage(answer.usage, "the reader's")
        return answer


def is_paid(reader: Reader | None) -> bool:
    """Whether reading may cost money."""
    return reader is not None and reader.card.model is not None


def cut_to_budget(passages: Sequence[Passage], plan: Plan) -> Iterator[Passage]:
    """The first passages that the plan's budget has room for, each whole.

    The first of all is cut, between two words, if it takes more than the budget by itself.
    """
    left = plan.max_context_tokens
    for number, passage in enumerate(passages[: plan.top_k]):
        if left is None:
            yield passage
            continue
        size = estimate_tokens(passage.text)
        if size > left:
            if number == 0:
                yield passage.replace(text=_cut_text(passage.text, left * CHARACTERS_A_TOKEN))
            return
        left -= size
        yield passage


def _cut_text(text: str, characters: int) -> str:
    """At most so many characters of the text, up to the end of a word if one ends there."""
    start = text[:characters]
    if start[-1].isspace() or text[characters].isspace():
        return start.rstrip()
    whole = start.rsplit(maxsplit=1)
    return whole[0] if len(whole) == 2 else start


def _describe_delivery(
    offered: Sequence[Passage], kept: Sequence[Passage], cut_days: tuple[int, ...]
) -> Delivery | None:
    if not offered:
        return None
    return Delivery(
        offered=len(offered),
        kept=len(kept),
        tokens=sum(estimate_tokens(passage.text) for passage in kept),
        traced=sum(passage.day is not None for passage in kept),
        cut_days=cut_days,
    )


def _replace_passages(answer: Answer, kept: tuple[Passage, ...]) -> Answer:
    return answer if answer.passages == kept else answer.replace(passages=kept)
