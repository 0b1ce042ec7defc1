"""Calls to a pass's model: limited in number, time and cost, and never paid for twice."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import anyio

from recall_bench.core.errors import (
    BudgetSpent,
    ModelFault,
    ModelGone,
    ModelPending,
    UsageError,
)
from recall_bench.core.plain_text import escape_surrogates, format_quantity
from recall_bench.core.retry import extend_limit, limit_time, retry
from recall_bench.core.usage import Usage, estimate_tokens
from recall_bench.features.personas.call_log import CallLog, ModelCall
from recall_bench.features.personas.pass_request import PassRequest
from recall_bench.systems.models.model import Model, Prompt, Reply, report_rejection

MIN_FAILED_CALLS = 6
"""Failures in a row from which a model counts as gone; more with many concurrent calls."""


class ModelCaller:
    """Asks the model, unless the log has the reply."""

    def __init__(
        self,
        model: Model,
        log: CallLog,
        *,
        concurrency: int = 1,
        timeout_s: float = 600.0,
        max_cost_usd: float | None = None,
    ) -> None:
        self.model = model
        self._log = log
        self._limit = anyio.CapacityLimiter(concurrency)
        self._timeout_s = extend_limit(timeout_s, model)
        self._max_cost_usd = max_cost_usd
        self._pending = 0
        self._call_ended = anyio.Event()
        self._failed = 0
        self._unusable = 0
        self._max_in_a_row = max(MIN_FAILED_CALLS, 2 * concurrency)
        self.usage = Usage()
        """The usage of this run; `cached` counts replies from the log."""

    @classmethod
    def from_request(cls, request: PassRequest, model: Model, log: CallLog) -> "ModelCaller":
        """A caller with the limits of a request."""
        return cls(
            model,
            log,
            concurrency=request.parallelism,
            timeout_s=request.timeout_s,
            max_cost_usd=request.max_cost_usd,
        )

    @property
    def spent(self) -> Usage:
        """The usage of the pass, including earlier runs."""
        return self._log.spent

    async def ask(self, prompt: Prompt, unit: str, attempt: int = 0) -> tuple[Reply, bool]:
        """The reply, and whether it is new.

        Raises ModelFault if this call fails, ModelGone if the model is unavailable, ModelPending if
        the reply comes later, and BudgetSpent if the call could exceed the budget.
        """
        key = self._log.make_key(self.model.name, prompt, attempt)
        existing = self._log.find_reply(key)
        if existing is not None:
            self.usage += existing.usage
            return existing, False
        async with self._limit:
            await self._wait_for_budget()
            variant = replace(self._add_variant(prompt, attempt), about=unit)
            reply = await self._ask_once(variant)
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

    def report_rejection(self, prompt: Prompt, attempt: int, problems: Sequence[str]) -> None:
        """Tell the model that its reply to this attempt was rejected."""
        report_rejection(self.model, self._add_variant(prompt, attempt), problems)

    def _add_variant(self, prompt: Prompt, attempt: int) -> Prompt:
        return replace(prompt, variant=self._log.name_variant(attempt))

    def note_usable_reply(self) -> None:
        """Note that a reply could be used."""
        self._unusable = 0

    def note_unusable_replies(self, reason: str) -> None:
        """Note that no reply to a request could be used; ModelGone after too many in a row."""
        self._unusable += 1
        if self._unusable >= self._max_in_a_row:
            raise ModelGone(
                f"{self.model.name}: its replies to {self._unusable} requests in a row could not "
                f"be used (the last: {reason:.200}); name another model or check its settings, "
                "then run the same command again to continue"
            )

    async def _ask_once(self, prompt: Prompt) -> Reply:
        self._pending += 1
        try:
            reply = await self._ask_with_retry(prompt)
        finally:
            self._pending -= 1
            self._call_ended.set()
            self._call_ended = anyio.Event()
        # The log cannot hold half of a surrogate pair.
        return replace(reply, text=escape_surrogates(reply.text))

    async def _ask_with_retry(self, prompt: Prompt) -> Reply:
        timeout = ModelFault(
            f"{self.model.name}: no reply within {self._timeout_s:g} s; allow more with --timeout"
        )
        try:
            reply = await retry(
                lambda: limit_time(self._timeout_s, self.model.complete(prompt), timeout)
            )
        except (ModelGone, ModelPending):
            raise
        except ModelFault as fault:
            self._failed += 1
            if self._failed >= self._max_in_a_row:
                raise ModelGone(
                    f"{fault}; this was call {self._failed} in a row without a reply; check "
                    "the model, then run the same command again to continue"
                ) from None
            raise
        self._failed = 0
        return reply

    async def _wait_for_budget(self) -> None:
        """Return when the budget allows one more call; BudgetSpent if it does not.

        Pending calls are paid for and may cost less than expected, so they are awaited first.
        """
        while (why := self._check_budget()) is not None:
            if not self._pending:
                raise BudgetSpent(why)
            await self._call_ended.wait()

    def _check_budget(self) -> str | None:
        most, name = self._max_cost_usd, self.model.name
        if most is None:
            return None
        if name in self._log.unpriced:
            return (
                f"--max-cost: {name} does not say how many tokens a call took, so the limit "
                "cannot be kept; run the same command without it to continue"
            )
        spent = self._log.spent.cost_usd
        max_call_cost = self._log.max_call_cost.get(name)
        # Assume that each call costs as much as the most expensive so far. The first runs alone.
        is_over = (
            bool(self._pending)
            if max_call_cost is None
            else spent + max_call_cost * (self._pending + 1) > most
        )
        if not is_over and spent < most:
            return None
        return (
            f"the calls so far cost {spent:.2f} USD and the next could exceed the "
            f"{most:.2f} allowed; run the same command with a higher --max-cost to continue"
        )


def open_model(request: PassRequest, *, usual_temperature: float = 0.7) -> "Model":
    """The model of the request; UsageError if there is none by that name."""
    from recall_bench.core.settings import Settings
    from recall_bench.systems.models.model import Tuning
    from recall_bench.systems.models.target import resolve_model

    tuning = Tuning(
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        usual_temperature=usual_temperature,
    )
    settings = Settings(max_cost_usd=request.max_cost_usd)
    model = resolve_model(request.model, "--model", settings, tuning=tuning, own_code=True)
    if model is None:
        # The value is not quoted: it may be an API key in the wrong place.
        raise UsageError(
            "--model: unknown model; say offline, provider:model, a base URL, file.py, "
            "command:PROGRAM, folder:DIR, claude, codex or copilot"
        )
    return model


def describe_estimate(target: str, calls: int, sample: Prompt, output_tokens: int) -> str:
    """The expected calls, tokens and cost in a sentence, if every call is like the sample.

    `output_tokens` is the usual length of a reply. Calls for rejected replies are not included.
    """
    from recall_bench.systems.models.target import estimate_target_cost

    tokens_in = calls * (estimate_tokens(sample.system) + estimate_tokens(sample.user))
    tokens_out = calls * output_tokens
    cost = estimate_target_cost(
        target, input_tokens=tokens_in, output_tokens=tokens_out, calls=calls
    )
    price = "price unknown" if cost is None else f"about {cost:.2f} USD"
    return (
        f"about {format_quantity(calls, 'call')}, {tokens_in:,} tokens in and "
        f"{tokens_out:,} out, {price}; calls for rejected replies come on top"
    )
