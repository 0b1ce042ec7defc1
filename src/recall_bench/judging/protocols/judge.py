"""A model that judges by a dataset's own protocol: a score in the place of marks."""

from hashlib import sha256

import msgspec

from recall_bench.core.question import Scenario
from recall_bench.core.verdict import Exhibit, JudgeCard, Verdict
from recall_bench.judging.protocols.score import ModelProtocol, Submission
from recall_bench.judging.protocols.submission import make_submission
from recall_bench.judging.rubric.cache import VerdictCache
from recall_bench.models.model import Model


class ProtocolJudge:
    """Puts every answer to one model by one protocol. What was paid for is not paid for twice."""

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
        """Nothing to prepare: the protocol knows the question and its gold answer."""

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """The protocol's score, or a JudgeFault."""
        submission = make_submission(exhibit.item, exhibit.answer.text)
        key = self._make_key(submission)
        kept = None if self._cache is None else self._cache.find(key)
        if kept is not None:
            return kept
        score = await self._protocol.grade(submission, self._model, exhibit.bill)
        verdict = Verdict(score=score.value, reason=score.reason)
        if self._cache is not None:
            self._cache.keep(key, verdict)
        return verdict

    async def close(self) -> None:
        """Release the model's connections."""
        await self._model.close()

    def _make_key(self, submission: Submission) -> str:
        """Names one answer before this judge, with all that its score depends on."""
        asked = (self.card, msgspec.to_builtins(submission))
        return sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()
