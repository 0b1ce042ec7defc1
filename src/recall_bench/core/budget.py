"""The budget of a run, and the limit of calls at a time to a system and to each provider."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

import anyio

from recall_bench.core.errors import BudgetSpent, JudgeGone, ReplyPending
from recall_bench.core.usage import Usage, explain_missing_price, explain_missing_tokens

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
