"""The judge that reads: rules where there is nothing to read, a trained encoder for the rest.

Rules decide a leak, an empty answer, a plain refusal, a chosen option, the reference itself, and
sentences quoted from the history where the truth lists what a right answer contains.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import Scenario
from recall_bench.core.verdict import PASS, SCALES, Exhibit, Finding, JudgeCard, Strictness, Verdict
from recall_bench.judging.encoder.answer_reader import AnswerReader, ReadAnswer, digest_question
from recall_bench.judging.encoder.encoder import Encoder, load_encoder
from recall_bench.judging.offline.calibration import scale_odds
from recall_bench.judging.offline.offline_judge import (
    ODDS,
    OfflineJudge,
    RuleReading,
    RuleScores,
    clip_chance,
    score_reading,
)
from recall_bench.text.encoder.encoder import SHIPPED, digest_model
from recall_bench.text.text import normalise, split_words

VERSION = "1"
"""Raised whenever a mark moves: the model, its input, or a rule before it."""

FEW_WORDS = 14
"""A non-answer with more words may say something besides."""

QUOTED = 0.99
"""The chance that a quotation is grounded."""


class EncoderJudge:
    """Judges by an encoder that was trained on answers with marks, without a language model."""

    def __init__(self, config: Mapping[str, object]) -> None:
        if others := config.keys() - {"reading", "model"}:
            raise UsageError(f"the encoder judge has no setting {min(others)!r}; remove it")
        reading = config.get("reading")
        self._reading = None if reading is None else Strictness(str(reading))
        self._folder = Path(str(config.get("model", SHIPPED)))
        if "model" in config:
            load_encoder(self._folder)  # What is wrong with it is said before anything is fed.
        self._rules = OfflineJudge({})
        self._readers: dict[str, AnswerReader] = {}

    @cached_property
    def _encoder(self) -> Encoder:
        return load_encoder(self._folder)

    @cached_property
    def _digest(self) -> str:
        return digest_model(self._folder)

    @cached_property
    def card(self) -> JudgeCard:
        """Changes whenever a mark could."""
        return JudgeCard(
            name="encoder",
            version=VERSION,
            rules_digest=self._digest,
            computes=True,
            reading=self._reading,
        )

    def study(self, scenario: Scenario) -> None:
        """Prepare for answers about a scenario; its sentences are indexed when one is read."""
        self._rules.study(scenario)
        self._readers[scenario.id] = AnswerReader(scenario)

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """The marks for one answer, with reasons."""
        rules = self._rules.read(exhibit)
        if isinstance(rules, RuleScores) or is_certain(rules):
            return self._apply_rules(score_reading(rules))
        read = self._readers[exhibit.scenario].read(exhibit, self._encoder)
        return self._mark(rules, read)

    def is_trained_on(self, question: str) -> bool:
        """Whether the encoder was trained on answers to this question."""
        return digest_question(question) in self._encoder.calibration.trained

    def _apply_rules(self, scores: RuleScores) -> Verdict:
        if self._reading is None:
            return scores.verdict
        marks = scores.scale_odds(ODDS[self._reading]).verdict.marks
        return scores.verdict.replace(marks=marks)

    def _mark(self, rules: RuleReading, read: ReadAnswer) -> Verdict:
        chances = dict(read.chances)
        if rules.is_quoted:
            chances["grounded"] = (max(QUOTED, *chances["grounded"]),)
        factor = 1.0 if self._reading is None else ODDS[self._reading]
        marks = {
            mark: sum(scale_odds(chance, factor) >= 0.5 for chance in chances[mark])
            for mark in ("correctness", "completeness")
        }
        # Whether something is made up does not depend on how strictly answers are read.
        marks["grounded"] = int(chances["grounded"][0] >= 0.5)
        reason = f"right with a chance of {chances['correctness'][PASS['correctness'] - 1]:.0%}"
        # The rules name what kind of answer it is; the encoder decides what is made up.
        findings: list[Finding] = [
            finding
            for finding in rules.grade.findings
            if finding is not Finding.FABRICATION
            and not (finding in _WRONG and marks["correctness"] >= PASS["correctness"])
        ]
        if not marks["grounded"]:
            findings.append(Finding.FABRICATION)
            reason += f"; {read.describe_weakest()}"
        return Verdict(
            marks=marks,
            reason=reason,
            probabilities={mark: clip_chance(chances[mark][PASS[mark] - 1]) for mark in SCALES},
            findings=tuple(findings),
        )


_WRONG = (Finding.STALE, Finding.CONTRADICTION, Finding.ABSTENTION)


def is_certain(rules: RuleReading) -> bool:
    """Whether there is nothing to read."""
    truth = rules.case.item.truth
    if rules.case.item.choices:
        return True
    said = _level(" ".join(rules.account.sentences))
    if said in map(_level, (truth.reference, *truth.aliases)):
        return True
    if rules.reading.stance.is_non_answer and len(said.split()) <= FEW_WORDS:
        return True
    return rules.grade.is_exact and rules.is_quoted


def _level(text: str) -> str:
    """The words alone, so that capitals and full stops do not count."""
    return " ".join(split_words(normalise(text)))
