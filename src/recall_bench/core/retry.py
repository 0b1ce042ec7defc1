"""Limits of calls: the one retry policy, the time of a call, calls at a time, and money.

What is retried is decided where a call fails: `features/models/faults.py` raises ModelBusy, from
which JudgeBusy follows, and the transports of `systems/` raise SystemBusy. All are RetryLater.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import UTC, datetime
from typing import Self, TypeVar

import anyio

from recall_bench.core.errors import BudgetSpent, JudgeGone, ReplyPending, RetryLater
from recall_bench.core.event import Postponed
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Trial
from recall_bench.core.usage import Usage, explain_missing_price, explain_missing_tokens
from recall_bench.core.verdict import JudgeCard

T = TypeVar("T")

RETRY_PAUSES_S = (0.5, 1.0, 2.0)
"""The pause before each retry, unless the callee asks for a longer one: four calls in all."""
LONGEST_PAUSE_S = 60.0
"""The longest pause that a callee can ask for."""

OnBusy = Callable[[RetryLater], None]


def ignore_busy(busy: RetryLater) -> None:
    """Do nothing: the default of every `on_busy`."""


class Attempts:
    """Repeats a block while it raises RetryLater, pausing in between.

    Use it where `retry` would add frames to a hot path:
    `async for attempt in Attempts(on_busy): with attempt: return await call()`.
    """

    def __init__(self, on_busy: OnBusy = ignore_busy) -> None:
        self._on_busy = on_busy
        self._pauses = iter(RETRY_PAUSES_S)
        self._pause_s = 0.0
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Self:
        if self._is_over:
            raise StopAsyncIteration
        if self._pause_s:
            await anyio.sleep(self._pause_s)
        return self

    def __enter__(self) -> None:
        self._is_over = True

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, RetryLater):
            return False
        pause = next(self._pauses, None)
        if pause is None:
            return False
        self._on_busy(error)
        self._pause_s = max(pause, min(error.retry_after_s, LONGEST_PAUSE_S))
        self._is_over = False
        return True


async def retry(call: Callable[[], Awaitable[T]], on_busy: OnBusy = ignore_busy) -> T:
    """Return the result of the call; repeat it while it raises RetryLater."""
    async for attempt in Attempts(on_busy):
        with attempt:
            return await call()
    raise AssertionError("the last attempt returns or raises")


def parse_retry_after(text: str | None) -> float:
    """The seconds of a Retry-After header; 0 without one, or if it is a date."""
    return float(text) if text and re.fullmatch(r"\d+(\.\d+)?", text) else 0.0


def make_postponement(trial: Trial, busy: RetryLater) -> Postponed:
    """Make the event of a question or an answer that is tried again later."""
    kind = type(busy).__name__
    return Postponed(at=datetime.now(UTC), trial=trial, fault=kind, message=str(busy))


WAIT_MARGIN_S = 30.0
"""Added to the time that a callee waits, so that it ends its waiting itself."""


def get_wait_s(callee: object) -> float:
    """How long a model, judge or reader may wait for a reply that comes as a file; often 0."""
    wait_s: float = getattr(callee, "wait_s", 0.0)
    return wait_s


def extend_limit(seconds: float, callee: object) -> float:
    """Return a time limit in which the callee can wait for its reply, if it does."""
    wait_s = get_wait_s(callee)
    return max(seconds, wait_s + WAIT_MARGIN_S) if wait_s else seconds


def choose_limit(seconds: float, card: SystemCard | JudgeCard) -> float | None:
    """Return the time limit of a call; None if the callee only computes.

    A computation on the thread of the event loop cannot be cancelled, and a limit costs time.
    """
    return None if card.computes else seconds


async def limit_time(seconds: float | None, call: Awaitable[T], overrun: Exception) -> T:
    """Return the result of the call; cancel it and raise `overrun` when it takes longer."""
    if seconds is None:
        return await call
    # anyio.fail_after takes half again as long, and a run pays for it twice a trial.
    with anyio.CancelScope(deadline=anyio.current_time() + seconds):
        return await call
    raise overrun


SYSTEM = "system"
PAYS_ONCE = "nothing is paid for twice"
"""What a run does that is continued with more money."""


def name_provider(model: str) -> str:
    """Name the provider of a model such as `openai:gpt-5-mini`."""
    return f"provider {model.partition(':')[0]}"


def _join_work(names: Sequence[str]) -> str:
    """Name the work that is paid for, with its verb."""
    *most, last = names or ["it"]
    return f"{', '.join(most)} and {last} have" if most else f"{last} has"


class CallLimiter:
    """Limits the calls at a time to each callee; None is no limit."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._under_way: dict[str, anyio.Semaphore] = {}

    def limit(self, whom: str) -> AbstractAsyncContextManager[object]:
        """Wait for a turn, and have it while the block lasts."""
        if self._most is None:
            return nullcontext()
        return self._under_way.setdefault(whom, anyio.Semaphore(self._most))


class Budget:
    """The money and tokens a run may spend, and how many verdicts it may seek at a time.

    Once `stop_reason` is set nothing new is begun: no verdict that may cost something, no feeding,
    no question. What is under way may finish.
    """

    def __init__(
        self,
        places: int,
        *,
        spent: Usage | None = None,
        allowed_usd: float | None = None,
        allowed_tokens: int | None = None,
        elsewhere: Callable[[], Usage] = Usage,
        max_calls: int | None = None,
        paid_work: Sequence[str] = ("judging",),
        on_resume: str = PAYS_ONCE,
    ) -> None:
        self._places = anyio.Semaphore(places)
        self.calls = CallLimiter(max_calls)
        self.spent = spent or Usage()
        """What everything has cost so far."""
        self._allowed_usd = allowed_usd
        self._allowed_tokens = allowed_tokens
        self._elsewhere = elsewhere
        self._work = _join_work(paid_work)
        self._on_resume = on_resume
        self.stop_reason: BudgetSpent | JudgeGone | None = None
        self.pending: ReplyPending | None = None
        """The last reply that comes later; it stops nothing."""

    @asynccontextmanager
    async def hold_slot(self) -> AsyncIterator[None]:
        """Wait for a place to seek a verdict in; BudgetSpent or JudgeGone if there is none."""
        async with self._places:
            self.check()
            self.refuse_if_spent()
            yield

    def check(self) -> None:
        """Raise the reason to stop, if there is one."""
        if self.stop_reason is not None:
            raise self.stop_reason

    def refuse_if_spent(self) -> None:
        """Stop, and raise the reason, if no more money or no more tokens may be spent."""
        if (limit := self._find_reached_limit()) is not None:
            spent = BudgetSpent(
                f"{self._work} {limit}; "
                f"run the same command with a higher limit to continue; {self._on_resume}"
            )
            self.stop(spent)
            raise spent

    @property
    def total(self) -> Usage:
        """What has been spent under this limit, here and elsewhere."""
        return self.spent + self._elsewhere()

    def _find_reached_limit(self) -> str | None:
        """Which limit was reached, in words."""
        spent, usd, tokens = self.total, self._allowed_usd, self._allowed_tokens
        if usd is not None and spent.cost_usd >= usd:
            return f"cost ${spent.cost_usd:.4f} and --max-cost allows ${usd:.4f}"
        if tokens is not None and spent.tokens >= tokens:
            return f"taken {spent.tokens:,} tokens and --max-tokens allows {tokens:,}"
        return None

    def stop(self, reason: BudgetSpent | JudgeGone) -> None:
        """Begin nothing new; the first reason given stays."""
        self.stop_reason = self.stop_reason or reason

    def record_usage(self, usage: Usage, whose: str = "the judge's") -> None:
        """Count what a call took, as soon as it is known.

        Stop, and name the server, if the amount that a limit is about is unknown: a price may be
        unknown although tokens are reported, and known although they are not.
        """
        self.spent += usage
        if usage.unpriced and self._allowed_usd is not None:
            self.stop(BudgetSpent(explain_missing_price(whose)))
        if usage.lacks_tokens and self._allowed_tokens is not None:
            self.stop(BudgetSpent(explain_missing_tokens(whose)))


class AnswerCost:
    """What one judge has cost for one answer so far. An exhibit's `bill` is one of these."""

    __slots__ = ("_budget", "total")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.total: Usage | None = None

    def __call__(self, usage: Usage) -> None:
        """Add the cost of one call."""
        self.total = usage if self.total is None else self.total + usage
        self._budget.record_usage(usage)
