"""One model, asked on behalf of one pass: so many calls at once, none paid twice, none endless."""

from dataclasses import replace
from datetime import UTC, datetime

import anyio

from recall_bench.core.errors import BudgetSpent, ModelFault, ModelGone, UsageError
from recall_bench.core.retry import limit_time, retry
from recall_bench.core.usage import Usage
from recall_bench.core.words import estimate_tokens
from recall_bench.generate.call_log import CallLog, ModelCall
from recall_bench.generate.pass_request import PassRequest
from recall_bench.generate.pass_run import format_count
from recall_bench.models.model import Model, Prompt, Reply

MIN_FAILED_CALLS = 6
"""A model that fails so often in a row, and as often as calls are made at once, has gone."""


class ModelCaller:
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
        self._under_way = 0
        self._came = anyio.Event()
        self._silent = 0
        self._useless = 0
        self._patience = max(MIN_FAILED_CALLS, 2 * at_once)
        self.usage = Usage()
        """What this run has spent, and how many replies it found on record."""

    @classmethod
    def from_request(cls, request: PassRequest, model: Model, log: CallLog) -> "ModelCaller":
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

    async def ask(self, prompt: Prompt, unit: str, attempt: int = 0) -> tuple[Reply, bool]:
        """The model's reply, and whether it had to be asked for it now.

        ModelFault if there is none this time; ModelGone if there will be none; BudgetSpent if
        it may not be paid for.
        """
        key = self._log.make_key(self.model.name, prompt, attempt)
        known = self._log.find_reply(key)
        if known is not None:
            self.usage += known.usage
            return known, False
        async with self._limit:
            await self._wait_for_budget()
            reply = await self._ask_once(prompt)
            self._log.record_call(
                ModelCall(
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
        return reply, True

    def note_usable_reply(self) -> None:
        """Something that the model replied was accepted."""
        self._useless = 0

    def note_unusable_replies(self, reason: str) -> None:
        """All that it replied to one request was rejected; ModelGone if it always is."""
        self._useless += 1
        if self._useless >= self._patience:
            raise ModelGone(
                f"{self.model.name}: nothing it replied to {self._useless} requests in a row could "
                f"be used (the last: {reason:.200}); name another model, or see to its settings: "
                "the same command goes on"
            )

    async def _ask_once(self, prompt: Prompt) -> Reply:
        self._under_way += 1
        try:
            reply = await self._ask_with_retry(prompt)
        finally:
            self._under_way -= 1
            self._came.set()
            self._came = anyio.Event()
        # Half of a surrogate pair, which JSON can spell, cannot be put on record.
        return replace(reply, text=reply.text.encode("utf-8", "backslashreplace").decode())

    async def _ask_with_retry(self, prompt: Prompt) -> Reply:
        overrun = ModelFault(
            f"{self.model.name}: no reply within {self._timeout_s:g} s; allow more with --timeout"
        )
        try:
            reply = await retry(
                lambda: limit_time(self._timeout_s, self.model.complete(prompt), overrun)
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

    async def _wait_for_budget(self) -> None:
        """Return when there is money for one more call; BudgetSpent if there is none.

        Calls under way are paid for and may cost less than feared, so what they reply is waited
        for: the end would cut them off, and they would be paid for again.
        """
        while (why := self._check_budget()) is not None:
            if not self._under_way:
                raise BudgetSpent(why)
            await self._came.wait()

    def _check_budget(self) -> str | None:
        most, name = self._max_cost_usd, self.model.name
        if most is None:
            return None
        if name in self._log.unpriced:
            return (
                f"--max-cost: {name} does not say how many tokens a call took, so the limit "
                "cannot be kept; the same command without it goes on"
            )
        spent = self._log.spent.cost_usd
        dearest = self._log.max_call_cost.get(name)
        # Each call will cost about as much as the dearest one so far. The first goes alone.
        too_many = (
            bool(self._under_way)
            if dearest is None
            else spent + dearest * (self._under_way + 1) > most
        )
        if not too_many and spent < most:
            return None
        return (
            f"the calls so far cost {spent:.2f} USD and the next could exceed the "
            f"{most:.2f} allowed; the same command with a higher --max-cost goes on"
        )


def open_model(request: PassRequest, *, usual_temperature: float = 0.7) -> "Model":
    """The model that the request names; UsageError if it names none or cannot be asked."""
    from recall_bench.core.settings import Settings
    from recall_bench.models.model_spec import Tuning
    from recall_bench.models.model_target import resolve_model

    tuning = Tuning(
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        usual_temperature=usual_temperature,
    )
    settings = Settings(max_cost_usd=request.max_cost_usd)
    model = resolve_model(request.model, "--model", settings, tuning=tuning, own_code=True)
    if model is None:
        # Not repeated: it may be a key that was put in the wrong place.
        raise UsageError(
            "--model: that is no model we know; say offline, provider:model, a base URL, file.py, "
            "command:PROGRAM, claude, codex or copilot"
        )
    return model


def describe_estimate(target: str, calls: int, sample: Prompt, output_tokens: int) -> str:
    """One sentence: calls, tokens and money, if every call is like the sample.

    `output_tokens` is what a reply of this pass usually takes. Rejected replies are asked for
    again and come on top.
    """
    from recall_bench.models.model_target import estimate_target_cost

    tokens_in = calls * (estimate_tokens(sample.system) + estimate_tokens(sample.user))
    tokens_out = calls * output_tokens
    cost = estimate_target_cost(
        target, input_tokens=tokens_in, output_tokens=tokens_out, calls=calls
    )
    price = "at a price nobody knows" if cost is None else f"about {cost:.2f} USD"
    return (
        f"about {format_count(calls, 'call', 'calls')}, {tokens_in:,} tokens in and {tokens_out:,} out, "
        f"{price}; replies that have to be mended come on top"
    )
