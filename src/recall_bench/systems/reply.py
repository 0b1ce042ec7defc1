"""What becomes of a system's reply: passages cut to the budget and traced, then read if needed."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from recall_bench.core.errors import ModelBusy, NotAnAnswer, ReaderFault
from recall_bench.core.memory import (
    ActingReader,
    Answer,
    Delivery,
    Passage,
    Reader,
    RetrievalReply,
    SystemCard,
)
from recall_bench.core.plan import Plan
from recall_bench.core.retry import (
    Budget,
    OnBusy,
    extend_limit,
    ignore_busy,
    limit_time,
    name_provider,
    retry,
)
from recall_bench.core.scenario import Question
from recall_bench.core.tool_call import LOOP_PREFIX
from recall_bench.core.usage import CHARACTERS_A_TOKEN, Usage, estimate_tokens

MAX_CUT_TRACED = 100
"""The most passages beyond the budget that are traced: tracing a paraphrase takes milliseconds,
and systems may return thousands."""

if TYPE_CHECKING:
    from recall_bench.text.passage_tracer import PassageTracer


@dataclass(frozen=True, slots=True)
class FinishedReply:
    """A reply as it is recorded and judged."""

    answer: Answer
    delivery: Delivery | None
    reading_s: float | None = None
    reading_usage: Usage | None = None


class ReplyFinisher:
    """Turns replies of one scenario into answers, the same way for every system.

    A reader, if there is one, answers from the passages that a system returned. Without a reader
    the system has to answer itself, unless no answer is judged.
    """

    def __init__(
        self,
        make_tracer: "Callable[[], PassageTracer]",
        *,
        plan: Plan,
        reader: Reader | None,
        budget: Budget,
    ) -> None:
        self._make_tracer = make_tracer
        self._plan = plan
        self._reader = reader
        self._budget = budget

    @cached_property
    def _tracer(self) -> "PassageTracer":
        """Made with the first passage: many systems return none."""
        return self._make_tracer()

    def refuse_if_spent(self) -> None:
        """Raise BudgetSpent before a question is asked whose reading cannot be paid for."""
        if is_paid(self._reader):
            self._budget.refuse_if_spent()

    async def finish_reply(
        self,
        question: Question,
        reply: Answer | RetrievalReply,
        until: int,
        on_busy: OnBusy = ignore_busy,
    ) -> FinishedReply:
        """Return the answer to record, from a system that was fed up to day `until`.

        NotAnAnswer if an answer is missing and there is no reader, ReaderFault if reading fails.
        """
        offered = reply.passages
        returned = tuple(cut_to_budget(offered, self._plan))
        traced = tuple(self._tracer.trace(passage, until) for passage in returned)
        delivery = self._describe_delivery(offered, traced, until)
        is_read = self._reader is not None and (bool(traced) or is_acting(self._reader))
        if isinstance(reply, Answer) and not is_read:
            own = reply if reply.passages == traced else reply.replace(passages=traced)
            return FinishedReply(own, delivery)
        if self._reader is None:
            if not self._plan.unjudged:
                content = "passages and no answer" if offered else "no answer"
                raise NotAnAnswer(
                    f"{self._plan.system.name} returned {content}; let its adapter say "
                    "answers = False, or name a --reader"
                )
            return FinishedReply(_make_answer("", traced, reply), delivery)
        started = time.perf_counter()
        reading = await read_passages(
            self._reader,
            question,
            tuple(self._tracer.date_passage(passage, until) for passage in returned),
            timeout_s=self._plan.judge_timeout_s,
            budget=self._budget,
            on_busy=on_busy,
        )
        seconds = time.perf_counter() - started
        return FinishedReply(
            _make_answer(reading.text, traced, reply), delivery, seconds, reading.usage
        )

    def _describe_delivery(
        self, offered: Sequence[Passage], kept: Sequence[Passage], until: int
    ) -> Delivery | None:
        if not offered:
            return None
        cut = offered[len(kept) :]
        traced = (self._tracer.trace(passage, until).day for passage in cut[:MAX_CUT_TRACED])
        cut_days = tuple(sorted({day for day in traced if day is not None}))
        return Delivery(
            offered=len(offered),
            kept=len(kept),
            tokens=sum(estimate_tokens(passage.text) for passage in kept),
            traced=sum(passage.day is not None for passage in kept),
            summaries=sum(passage.claimed is not None for passage in kept),
            cut_days=cut_days,
            spans=self._tracer.find_spans(kept),
        )


async def read_passages(
    reader: Reader,
    question: Question,
    passages: tuple[Passage, ...],
    *,
    timeout_s: float,
    budget: Budget,
    on_busy: OnBusy = ignore_busy,
) -> Answer:
    """Let the reader answer from the passages, and charge the budget; ReaderFault if it cannot."""
    provider = name_provider(reader.card.model or reader.card.name)
    timeout_s = extend_limit(timeout_s, reader)

    async def read_once() -> Answer:
        overrun = ModelBusy(f"no answer within {timeout_s:g} s")
        async with budget.calls.limit(provider):
            return await limit_time(timeout_s, reader.read(question, passages), overrun)

    try:
        answer = await retry(read_once, on_busy)
    except ModelBusy as busy:
        raise ReaderFault(
            f"the reader {reader.card.name} cannot be reached: {busy}; run the same command again "
            "to continue"
        ) from busy
    if answer.usage is not None:
        budget.record_usage(answer.usage, "the reader's")
    return answer


def is_acting(reader: Reader | None) -> bool:
    """Whether a reader does tasks with what was found, or without."""
    return isinstance(reader, ActingReader) and reader.acts


def is_paid(reader: Reader | None) -> bool:
    """Whether reading may cost money."""
    return reader is not None and reader.card.model is not None


def list_paid_work(system: SystemCard, reader: Reader | None, *, judges: bool) -> tuple[str, ...]:
    """Name what a run may pay for, for the message of a budget that is spent."""
    agent = ("the loop agent",) if system.name.startswith(LOOP_PREFIX) else ()
    reading = ("reading",) if is_paid(reader) else ()
    return (*agent, *reading, *(("judging",) if judges else ()))


def cut_to_budget(passages: Sequence[Passage], plan: Plan) -> Iterator[Passage]:
    """Yield the first passages that fit into the plan's budget, each whole.

    The very first is cut between two words if it exceeds the budget by itself.
    """
    budget = plan.max_context_tokens
    for number, passage in enumerate(passages[: plan.top_k]):
        if budget is None:
            yield passage
            continue
        size = estimate_tokens(passage.text)
        if size > budget:
            if number == 0:
                yield passage.replace(text=_cut_text(passage.text, budget * CHARACTERS_A_TOKEN))
            return
        budget -= size
        yield passage


def _cut_text(text: str, characters: int) -> str:
    """Cut the text to this many characters, at the end of a word where possible."""
    start = text[:characters]
    if start[-1].isspace() or text[characters].isspace():
        return start.rstrip()
    whole = start.rsplit(maxsplit=1)
    return whole[0] if len(whole) == 2 else start


def _make_answer(text: str, kept: tuple[Passage, ...], reply: Answer | RetrievalReply) -> Answer:
    return Answer(text=text, passages=kept, tool_calls=reply.tool_calls, usage=reply.usage)
