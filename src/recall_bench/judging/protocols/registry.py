"""Protocols by name, the submission they grade, and the judge that grades with one."""

from functools import cache

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.feature import list_offers, load_target
from recall_bench.core.record import digest_content
from recall_bench.core.scenario import Expects, Item, Scenario
from recall_bench.core.verdict import Exhibit, JudgeCard, Verdict
from recall_bench.judging.protocols import multiple_choice
from recall_bench.judging.protocols.multiple_choice import parse_options
from recall_bench.judging.protocols.protocol import (
    ComputedProtocol,
    ModelProtocol,
    ProtocolCard,
    Submission,
)
from recall_bench.judging.verdicts import VerdictCache
from recall_bench.systems.models.model import Model


def make_submission(item: Item, answer: str) -> Submission:
    """An answer as protocols take it."""
    truth = item.truth
    return Submission(
        answer=answer,
        question=item.text,
        golds=(truth.choice,) if truth.choice else (truth.reference, *truth.aliases),
        category=truth.category,
        is_unanswerable=truth.expects is Expects.ABSTAIN,
        options=parse_options(list(item.choices)) if item.choices else {},
        nuggets=tuple(wordings[0] for wordings in truth.facts),
        grading=truth.grading or "",
    )


class ProtocolJudge:
    """Grades every answer with one protocol and one model, and caches the verdicts."""

    def __init__(self, protocol: ModelProtocol, model: Model, cache: VerdictCache | None) -> None:
        self._protocol = protocol
        self._model = model
        self._cache = cache
        self.card = JudgeCard(
            name=protocol.card.name,
            version=protocol.card.version,
            model=model.name,
            rules_digest=protocol.card.digest,
        )

    def study(self, scenario: Scenario) -> None:
        """Nothing to prepare."""

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """The protocol's score, or a JudgeFault."""
        submission = make_submission(exhibit.item, exhibit.answer.text)
        key = self._make_key(submission)
        cached = None if self._cache is None else self._cache.find(key)
        if cached is not None:
            return cached
        score = await self._protocol.grade(submission, self._model, exhibit.bill)
        verdict = Verdict(score=score.value, reason=score.reason, findings=score.findings)
        if self._cache is not None:
            self._cache.keep(key, verdict)
        return verdict

    async def close(self) -> None:
        """Release the model's connections."""
        await self._model.close()

    def _make_key(self, submission: Submission) -> str:
        """The cache key: the judge's card and the whole submission.

        What few datasets have is left out where it is empty, so that older verdicts are found.
        """
        submitted = msgspec.to_builtins(submission)
        for name in ("nuggets", "grading"):
            if not submitted[name]:
                del submitted[name]
        content = (self.card, submitted)
        return digest_content(content)


@cache
def _list_protocols() -> dict[str, ComputedProtocol | ModelProtocol]:
    protocols: list[ComputedProtocol | ModelProtocol] = list(multiple_choice.CHOICE_PROTOCOLS)
    for target in list_offers("protocols").values():
        protocols += load_target(target)()
    return {protocol.card.name: protocol for protocol in protocols}


def list_cards() -> tuple[ProtocolCard, ...]:
    """The cards of all protocols, sorted by name."""
    return tuple(protocol.card for _, protocol in sorted(_list_protocols().items()))


def find_protocol(name: str) -> ComputedProtocol | ModelProtocol:
    """The protocol of this name."""
    protocols = _list_protocols()
    if name not in protocols:
        raise UsageError(f"no protocol named {name!r}; there are {', '.join(sorted(protocols))}")
    return protocols[name]
