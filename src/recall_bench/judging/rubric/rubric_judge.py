"""The judge that follows a written rubric: a language model, one case at a time.

A leaked secret and an empty answer need no model. Every other case goes to the model; a reply that
is not a verdict is asked for again, and never guessed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from hashlib import sha256

from anyio import Lock

from recall_bench.core.errors import UnreadableVerdict
from recall_bench.core.plain_text import escape_surrogates
from recall_bench.core.retry import get_wait_s
from recall_bench.core.scenario import Disclosure, Scenario
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Exhibit, Finding, Judge, JudgeCard, Verdict
from recall_bench.judging.judge_call import ask_model
from recall_bench.judging.offline.contents import split_citations
from recall_bench.judging.offline.leaks import LeakFinder
from recall_bench.judging.offline.stance import Stance, read_stance, remove_refusing_clauses
from recall_bench.judging.rubric.passages import ANSWER_CHARACTERS, ExcerptMode, RubricOptions
from recall_bench.judging.rubric.prompt import (
    build_case,
    find_disclosure,
    load_rubrics,
    parse_verdict,
    repeat_prompt,
)
from recall_bench.judging.verdicts import VerdictCache, make_cache_key
from recall_bench.systems.models.model import Model, Prompt, report_rejection
from recall_bench.text.text import normalise

VERSION = "7"
"""Raised whenever the same reply of a model could become another verdict, or a prompt changes.

The rubrics have digests of their own on the card. Golden prompts and verdicts in the tests fail
when either moves and the version does not.
"""

ATTEMPTS = 3
"""Replies that are asked for, the first included, before the answer stays unjudged."""

_STANCE_FINDINGS = {
    Stance.REFUSES: (Finding.REFUSAL,),
    Stance.IGNORANT: (Finding.ABSTENTION,),
    Stance.ABSENT: (Finding.ABSTENTION,),
}


def make_rubric_judge(model: Model, options: RubricOptions) -> Judge:
    """A judge that asks this model; closing the judge closes the model."""
    return RubricJudge(model, options)


class RubricJudge:
    """Asks a model; safe to call for several exhibits at once."""

    def __init__(self, model: Model, options: RubricOptions) -> None:
        self._model = model
        self._options = options
        self._leaks = LeakFinder()
        self._cache = VerdictCache(options.cache) if options.cache is not None else None
        self._locks: dict[str, Lock] = {}

    @cached_property
    def card(self) -> JudgeCard:
        """Changes whenever a grade could."""
        return JudgeCard(
            name="rubric",
            version=VERSION,
            model=self._model.name,
            rules_digest=_digest_options(self._options),
            rubrics=tuple(rubric.card for rubric in load_rubrics(self._options.reading).values()),
            reading=self._options.reading,
        )

    @property
    def wait_s(self) -> float:
        """How long the model waits for a reply that comes as a file."""
        return get_wait_s(self._model)

    def study(self, scenario: Scenario) -> None:
        """Index the scenario's secrets, if it has any."""
        if any(find_disclosure(item.truth) is not None for item in scenario.items):
            self._leaks.study(scenario)

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """The model's verdict, or one that needs no model."""
        if find_disclosure(exhibit.item.truth) is not None:
            leaks = self._leaks.find_leaks(exhibit)
            if leaks:
                found = Verdict.of(0, 0, 0, f"gives away {', '.join(leaks[:3])}")
                return found.replace(findings=(Finding.LEAK,))
        if not exhibit.answer.text.strip():
            return Verdict.of(0, 0, 1, "the answer is empty")
        case = build_case(exhibit, self._options)
        verdict = await self._find_or_ask(case.prompt, exhibit)
        return verdict.replace(rubric=str(case.rubric.kind), findings=_find_findings(exhibit))

    async def close(self) -> None:
        """Release the model's connections."""
        await self._model.close()

    async def _find_or_ask(self, prompt: Prompt, exhibit: Exhibit) -> Verdict:
        if self._cache is None:
            return await self._ask(prompt, exhibit, None)
        key = make_cache_key(self.card, prompt)
        async with self._lock_case(key):
            cached = self._cache.find(key)
            if cached is None:
                return await self._ask(prompt, exhibit, key)
        exhibit.bill(Usage(cached=1))
        return cached

    async def _ask(self, prompt: Prompt, exhibit: Exhibit, key: str | None) -> Verdict:
        asking = prompt
        problem = ""
        for attempt in range(1, ATTEMPTS + 1):
            reply = await ask_model(self._model, asking)
            try:
                read = parse_verdict(reply)
                if isinstance(read, Verdict):
                    verdict = read.replace(reply=escape_surrogates(reply.text))
                    if self._cache is not None and key is not None:
                        self._cache.keep(key, verdict)
                    return verdict
            finally:
                # After the verdict is stored: billing may raise BudgetSpent.
                exhibit.bill(reply.usage)
            problem = read.problem
            report_rejection(self._model, asking, (problem,))
            asking = repeat_prompt(prompt, read.advice, variant=f"attempt {attempt}")
        raise UnreadableVerdict(
            f"{self._model.name} gave no verdict in {ATTEMPTS} attempts: {problem}"
        )

    @asynccontextmanager
    async def _lock_case(self, key: str) -> AsyncIterator[None]:
        """Hold the lock of a case: the same case asked twice at once is paid for once."""
        lock = self._locks.setdefault(key, Lock())
        async with lock:
            try:
                yield
            finally:
                if not lock.statistics().tasks_waiting:
                    self._locks.pop(key, None)


def _find_findings(exhibit: Exhibit) -> tuple[Finding, ...]:
    body, _ = split_citations(normalise(exhibit.answer.text[:ANSWER_CHARACTERS]))
    if exhibit.item.truth.disclosure is Disclosure.PARTIAL:
        # Disclosing the open part and declining the rest is not a refusal.
        body = remove_refusing_clauses(body)
    return _STANCE_FINDINGS.get(read_stance(body).stance, ())


def _digest_options(options: RubricOptions) -> str:
    """The digest of the choices that decide what the model is shown."""
    excerpts = "whole" if options.showing is ExcerptMode.FULL else f"{options.budget_tokens} tokens"
    return sha256(f"version {VERSION}\n{excerpts}".encode()).hexdigest()
