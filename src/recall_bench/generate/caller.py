"""One model, asked on behalf of one pass: so many calls at once, none paid twice, none endless."""

from datetime import UTC, datetime

import anyio

from recall_bench.core.usage import Usage
from recall_bench.errors import BudgetSpent, ModelFault, ModelGone
from recall_bench.generate.call_log import Call, CallLog
from recall_bench.generate.request import PassRequest
from recall_bench.models.model import Model, Prompt, Reply
from recall_bench.running.patience import persistently, within

FEWEST_SILENT = 6
"""A model that fails so often in a row, and as often as calls are made at once, has gone."""


class Caller:
    """Asks the model, unless the log holds its reply."""

    def __init__(
        self,
        model: Model,
        log: CallLog,
        *,
        at_once: int = 1,
        timeout_s: float = 600.0,
        max_cost_usd: float | None = None,
    ) -> None:
        self.model = model
        self._log = log
        self._limit = anyio.CapacityLimiter(at_once)
        self._timeout_s = timeout_s
        self._max_cost_usd = max_cost_usd
        self._dearest = 0.0
        self._silent = 0
        self._patience = max(FEWEST_SILENT, 2 * at_once)
        self.usage = Usage()
        """What this run has spent, and how many replies it found on record."""

    @classmethod
    def of(cls, request: PassRequest, model: Model, log: CallLog) -> "Caller":
        """Within the limits that a request sets."""
        return cls(
            model,
            log,
            at_once=request.parallelism,
            timeout_s=request.timeout_ms / 1000,
            max_cost_usd=request.max_cost_usd,
        )

    @property
    def spent(self) -> Usage:
        """What the pass has spent, earlier runs included."""
        return self._log.spent

    async def reply(self, prompt: Prompt, unit: str, attempt: int = 0) -> tuple[Reply, bool]:
        """The model's reply, and whether it had to be asked for it now.

        ModelFault if there is none this time; ModelGone if there will be none; BudgetSpent if
        it may not be paid for.
        """
        key = self._log.key_of(self.model.name, prompt, attempt)
        known = self._log.reply(key)
        if known is not None:
            self.usage += known.usage
            return known, False
        async with self._limit:
            self._check_budget()
            reply = await self._asked(prompt)
            self._log.keep(
                Call(
                    at=datetime.now(UTC),
                    unit=unit,
                    key=key,
                    model=self.model.name,
                    text=reply.text,
                    usage=reply.usage,
                    finish=reply.finish,
                )
            )
        self.usage += reply.usage
        self._dearest = max(self._dearest, reply.usage.cost_usd)
        return reply, True

    async def _asked(self, prompt: Prompt) -> Reply:
        overrun = ModelFault(
            f"{self.model.name}: no reply within {self._timeout_s:g} s; allow more with --timeout"
        )
        try:
            reply = await persistently(
                lambda: within(self._timeout_s, self.model.complete(prompt), overrun)
            )
        except ModelGone:
            raise
        except ModelFault as fault:
            self._silent += 1
            if self._silent >= self._patience:
                raise ModelGone(
                    f"{fault}; that was the {self._silent}th call in a row without a reply: see to "
                    "the model, and the same command goes on"
                ) from None
            raise
        self._silent = 0
        return reply

    def _check_budget(self) -> None:
        most = self._max_cost_usd
        if most is None:
            return
        spent = self._log.spent
        if spent.unpriced:
            raise BudgetSpent(
                f"--max-cost: {self.model.name} does not say how many tokens a call took, so the "
                "limit cannot be kept; the same command without it goes on"
            )
        # Calls under way will cost about as much as the dearest one so far.
        committed = spent.cost_usd + self._dearest * self._limit.borrowed_tokens
        if committed > most or spent.cost_usd >= most:
            raise BudgetSpent(
                f"the calls so far cost {spent.cost_usd:.2f} USD and the next could exceed the "
                f"{most:.2f} allowed; the same command with a higher --max-cost goes on"
            )
