"""A run's pass rates, corrected for the measured errors of its judge."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np

from recall_bench.core.record import Record
from recall_bench.core.verdict import PASS, SCALES, JudgeCard
from recall_bench.errors import UsageError
from recall_bench.judge_lab.agreement import in_usual_order
from recall_bench.metrics.agreement import MarkAgreement
from recall_bench.metrics.agreement_clusters import numbered
from recall_bench.metrics.agreement_correction import (
    Corrected,
    ErrorRates,
    Observed,
    Rate,
    corrected,
)

ENOUGH: Final = 20
"""A category is corrected by rates of its own, if they rest on so many independent answers."""

Source = Literal["agreement", "audit"]


class Measured(Record, frozen=True, kw_only=True):
    """A judge, and how often it errs."""

    judge: JudgeCard
    source: Source
    marks: dict[str, ErrorRates]
    """Marks whose rates are unknown are left out."""
    categories: dict[str, dict[str, ErrorRates]]
    memory_window: int | None = None
    """How many days either side of the evidence it was shown, where that is on record."""

    @classmethod
    def of(
        cls,
        judge: JudgeCard,
        source: Source,
        marks: Mapping[str, MarkAgreement],
        categories: Mapping[str, Mapping[str, MarkAgreement]],
        *,
        memory_window: int | None = None,
    ) -> Self:
        """The error rates within figures of agreement."""
        return cls(
            judge=judge,
            source=source,
            marks=_known(marks),
            categories={name: _known(figures) for name, figures in categories.items()},
            memory_window=memory_window,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTrial:
    """One trial of a run that has an outcome."""

    question: str
    category: str
    marks: Mapping[str, int] | None
    """The judge's; None where the system gave no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """What has to be known of a run to correct it."""

    judge: JudgeCard
    trials: Sequence[RunTrial]
    missing: int = 0
    """Trials owed that nobody has judged."""
    memory_window: int = 0


class MarkCorrection(Record, frozen=True, kw_only=True):
    """One mark's pass rate, with what corrects it; or why nothing does."""

    n: int
    questions: int
    rates: ErrorRates | None
    corrected: Corrected | None
    reason: str | None = None
    """Why there is no correction."""


class Correction(Record, frozen=True, kw_only=True):
    """A run's pass rates as measured and as they would be under a judge without errors."""

    judge: JudgeCard
    source: Source
    trials: int
    not_answered: int
    missing: int
    marks: dict[str, MarkCorrection]
    categories: dict[str, dict[str, MarkCorrection]]
    cautions: tuple[str, ...]


def correct(run: JudgedRun, measured: Measured) -> Correction:
    """Correct every mark, and every category whose own error rates are known well enough.

    UsageError if the run's judge is not the one measured, or if nothing can be corrected.
    """
    _refuse_strangers(run.judge, measured.judge)
    if all(trial.marks is None for trial in run.trials):
        raise UsageError("the run has no verdict to correct; judge its answers first")
    marks = {mark: _overall(run.trials, mark, measured.marks.get(mark)) for mark in SCALES}
    if all(part.corrected is None for part in marks.values()):
        raise UsageError("; ".join(dict.fromkeys(f"{part.reason}" for part in marks.values())))
    return Correction(
        judge=run.judge,
        source=measured.source,
        trials=len(run.trials),
        not_answered=sum(trial.marks is None for trial in run.trials),
        missing=run.missing,
        marks=marks,
        categories={
            category: {
                mark: _within(
                    [trial for trial in run.trials if trial.category == category],
                    mark,
                    measured.categories.get(category, {}).get(mark),
                )
                for mark in SCALES
            }
            for category in in_usual_order(trial.category for trial in run.trials)
        },
        cautions=tuple(_cautions(run, measured, marks)),
    )


def _overall(trials: Sequence[RunTrial], mark: str, rates: ErrorRates | None) -> MarkCorrection:
    if rates is None:
        reason = f"the judge's errors in {mark} were not measured on both passes and failures"
        return _uncorrected(trials, rates, reason)
    return _corrected(trials, mark, rates)


def _within(trials: Sequence[RunTrial], mark: str, rates: ErrorRates | None) -> MarkCorrection:
    """A category's mark, corrected where its own rates are sure enough."""
    if rates is None:
        return _uncorrected(trials, rates, f"{mark} was not measured in this category")
    sizes = rates.sensitivity.size, rates.specificity.size
    if min(sizes) < ENOUGH:
        reason = (
            f"measured on {_few(sizes[0], 'pass', 'passes')} and "
            f"{_few(sizes[1], 'failure', 'failures')} in effect, and {ENOUGH} of each are needed"
        )
        return _uncorrected(trials, rates, reason)
    return _corrected(trials, mark, rates)


def _corrected(trials: Sequence[RunTrial], mark: str, rates: ErrorRates) -> MarkCorrection:
    if not rates.is_informative:
        reason = (
            f"the judge cannot tell right from wrong in {mark}: its sensitivity "
            f"{rates.sensitivity.share:.2f} and specificity {rates.specificity.share:.2f} do not "
            "add up to more than 1, so no score can be corrected by them; use another judge"
        )
        return _uncorrected(trials, rates, reason)
    if all(trial.marks is None for trial in trials):
        return _uncorrected(trials, rates, "no answer was judged")
    level = PASS[mark]
    observed = Observed(
        passed=np.array([t.marks is not None and t.marks[mark] >= level for t in trials]),
        judged=np.array([t.marks is not None for t in trials]),
        question=numbered([t.question for t in trials]),
    )
    return MarkCorrection(
        n=len(trials),
        questions=_questions(trials),
        rates=rates,
        corrected=corrected(observed, rates),
    )


def _uncorrected(
    trials: Sequence[RunTrial], rates: ErrorRates | None, reason: str
) -> MarkCorrection:
    return MarkCorrection(
        n=len(trials), questions=_questions(trials), rates=rates, corrected=None, reason=reason
    )


def _questions(trials: Iterable[RunTrial]) -> int:
    return len({trial.question for trial in trials})


def _few(size: float, one: str, many: str) -> str:
    return f"{size:.0f} {one if round(size) == 1 else many}"


def _known(figures: Mapping[str, MarkAgreement]) -> dict[str, ErrorRates]:
    return {mark: rates for mark, part in figures.items() if (rates := _rates(part)) is not None}


def _rates(part: MarkAgreement) -> ErrorRates | None:
    sensitivity = _rate(part.sensitivity, part.effective.get("sensitivity"))
    specificity = _rate(part.specificity, part.effective.get("specificity"))
    if sensitivity is None or specificity is None:
        return None
    return ErrorRates(sensitivity=sensitivity, specificity=specificity)


def _rate(share: float | None, size: float | None) -> Rate | None:
    return None if share is None or size is None else Rate(share=share, size=size)


def _refuse_strangers(judge: JudgeCard, measured: JudgeCard) -> None:
    if judge == measured:
        return
    what = (
        f"it is {named(judge)}"
        if named(judge) != named(measured)
        else "it has other rules, another rubric or another version of its code"
    )
    raise UsageError(
        f"the errors are those of {named(measured)}, which is not the judge of this run: {what}; "
        "measure the run's judge, or judge the run again with `recall-bench rejudge`"
    )


def named(judge: JudgeCard) -> str:
    """A judge as people speak of it."""
    model = f" ({judge.model})" if judge.model is not None else ""
    rules = f", rules {judge.rules_digest[:8]}" if judge.rules_digest is not None else ""
    return f"{judge.name} {judge.version}{model}{rules}"


def _cautions(
    run: JudgedRun, measured: Measured, marks: Mapping[str, MarkCorrection]
) -> Iterator[str]:
    for mark, part in marks.items():
        if part.corrected is not None and not part.corrected.is_credible:
            yield (
                f"{mark}: a judge with these errors could not have measured this rate, whatever "
                "is true; it errs otherwise here, and the correction does not hold"
            )
    window = measured.memory_window
    if window is not None and window != run.memory_window and not run.judge.computes:
        yield (
            f"the judge was shown a memory window of {run.memory_window} in the run and of "
            f"{window} where its errors were measured"
        )
    if measured.source == "audit":
        yield "an audit mixes wrong answers of every kind evenly, and this run may not"
    if run.missing:
        yield f"{run.missing} trials without a verdict are left out"
