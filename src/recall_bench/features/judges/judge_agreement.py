"""Measure a judge against labelled verdicts."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from recall_bench.core.memory import Answer
from recall_bench.core.record import Record, digest_content
from recall_bench.core.scenario import Scenario, order_categories
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES, Exhibit, Judge, JudgeCard, TrainedJudge, Verdict
from recall_bench.features.judges.labelled_verdicts import LabelledVerdict
from recall_bench.judging.exhibits import select_excerpts
from recall_bench.judging.human_labels import AnnotatorAgreement
from recall_bench.judging.judge_calls import JudgeLimits, judge_all
from recall_bench.metrics.agreement import (
    AGREEMENT_RESAMPLES,
    MarkAgreement,
    MarkPairs,
    measure_agreement,
)
from recall_bench.metrics.bootstrap import Floats, number_names

JudgedAnswers = Sequence[tuple[LabelledVerdict, Verdict]]


class AgreementCounts(Record, frozen=True, kw_only=True):
    """What was measured."""

    answers: int
    """Answers given to the judge."""
    questions: int
    judged: int
    learned_from: int = 0
    """Questions that the judge was trained on: agreement on them is too good."""


class JudgeSplit(Record, frozen=True, kw_only=True):
    """An answer that the label passes and the judge fails in correctness, or the reverse."""

    trial: str | None
    """The trial that a person labelled; None for other labels."""
    question: str
    """Its id, or its text where there is none."""
    label: int
    judge: int
    reason: str
    """The judge's."""


class Agreement(Record, frozen=True, kw_only=True):
    """How well a judge agrees with labelled verdicts."""

    judge: JudgeCard
    labelled: str
    """The digest of the labelled answers."""
    corpus: str | None
    """The digest of the corpus; None where there was none."""
    memory_window: int
    """Days shown on either side of the evidence."""
    counts: AgreementCounts
    not_judged: int
    faults: dict[str, int]
    """How often each kind of fault occurred."""
    usage: Usage
    resamples: int
    """The number of bootstrap resamples for the intervals."""
    marks: dict[str, MarkAgreement]
    categories: dict[str, dict[str, MarkAgreement]]
    splits: tuple[JudgeSplit, ...] = ()
    people: tuple[AnnotatorAgreement, ...] = ()
    """Where people gave the labels: how well every two of them agree."""


async def measure_judge(
    judge: Judge,
    answers: Sequence[LabelledVerdict],
    scenario: Scenario,
    *,
    memory_window: int = 0,
    limits: JudgeLimits | None = None,
) -> Agreement:
    """Let the judge judge every answer, and compare its marks with the labels.

    Answers without a verdict are counted and left out. An answer is judged as of its checkpoint,
    or as of the last day of the scenario.
    """
    judge.study(scenario)
    exhibits = LabelledExhibits(scenario, memory_window)
    outcomes = await judge_all(judge, [exhibits.build(answer) for answer in answers], limits)
    judged = [
        (answer, outcome)
        for answer, outcome in zip(answers, outcomes.outcomes, strict=True)
        if isinstance(outcome, Verdict)
    ]
    return Agreement(
        judge=judge.card,
        labelled=digest_content([_drop_trial(answer) for answer in answers]),
        corpus=digest_content(scenario.episodes) if scenario.episodes else None,
        memory_window=memory_window,
        counts=AgreementCounts(
            answers=len(answers),
            questions=len({answer.cluster for answer in answers}),
            judged=len(judged),
            learned_from=len({a.question for a in answers if _is_training_question(judge, a)}),
        ),
        not_judged=outcomes.not_judged,
        faults=outcomes.faults,
        usage=outcomes.usage,
        resamples=AGREEMENT_RESAMPLES,
        marks=compare_marks(judged),
        categories={
            category: compare_marks([pair for pair in judged if pair[0].category == category])
            for category in order_categories(answer.category for answer in answers)
        },
        splits=tuple(_list_splits(judged)),
    )


def _drop_trial(answer: LabelledVerdict) -> dict[str, object]:
    """The labelled answer without its place in a run: the same answers have the same digest."""
    return {
        name: value for name, value in msgspec.structs.asdict(answer).items() if name != "trial"
    }


def _list_splits(judged: JudgedAnswers) -> Iterator[JudgeSplit]:
    for answer, verdict in judged:
        label, given = answer.labels["correctness"], verdict.marks["correctness"]
        if (label >= PASS["correctness"]) != (given >= PASS["correctness"]):
            yield JudgeSplit(
                trial=answer.trial,
                question=answer.cluster,
                label=label,
                judge=given,
                reason=verdict.reason,
            )


def _is_training_question(judge: Judge, answer: LabelledVerdict) -> bool:
    return isinstance(judge, TrainedJudge) and judge.is_trained_on(answer.question)


def compare_marks(judged: JudgedAnswers) -> dict[str, MarkAgreement]:
    """The agreement of verdicts with labels, by mark."""
    question = number_names([answer.cluster for answer, _ in judged])
    return {
        mark: measure_agreement(
            MarkPairs(
                given=np.array([v.marks[mark] for _, v in judged], dtype=np.int64),
                label=np.array([answer.labels[mark] for answer, _ in judged], dtype=np.int64),
                question=question,
                top=top,
                level=PASS[mark],
                probability=_collect_probabilities(judged, mark),
            )
        )
        for mark, top in SCALES.items()
    }


def _collect_probabilities(judged: JudgedAnswers, mark: str) -> Floats | None:
    chances = [verdict.probabilities.get(mark) for _, verdict in judged]
    stated = [probability for probability in chances if probability is not None]
    # Ranking some answers by probability and others by points would mix two scales.
    return np.array(stated, dtype=np.float64) if stated and len(stated) == len(chances) else None


class LabelledExhibits:
    """Builds exhibits of labelled answers, with the days around their evidence."""

    def __init__(self, scenario: Scenario, window: int) -> None:
        self._scenario = scenario
        self._window = window
        self._episodes = {episode.day: episode for episode in scenario.episodes}

    def build(self, answer: LabelledVerdict) -> Exhibit:
        """What a judge is shown of one answer."""
        days = answer.checkpoint_days
        if days is None:
            days = max(self._scenario.last_day, 1)
        return Exhibit(
            scenario=self._scenario.id,
            item=answer.item,
            answer=Answer(text=answer.answer),
            asked_at=self._scenario.compute_date(days),
            days=days,
            excerpts=select_excerpts(
                self._episodes, answer.relevant_days, window=self._window, until=days
            ),
        )
