"""A run's pass rates, corrected for the measured errors of its judge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.record import Record, group_by
from recall_bench.core.scenario import order_categories
from recall_bench.core.untrusted_json import decode_untrusted_json, read_regular_file
from recall_bench.core.verdict import PASS, SCALES, JudgeCard
from recall_bench.features.judges.audit_report import AuditReport, MarkFigures
from recall_bench.features.judges.judge_agreement import Agreement
from recall_bench.metrics.agreement import MarkAgreement
from recall_bench.metrics.bootstrap import number_names
from recall_bench.metrics.judge_correction import (
    CorrectedRate,
    EffectiveShare,
    ErrorRates,
    ObservedPasses,
    correct_pass_rate,
)

MIN_ANSWERS: Final = 20
"""The number of independent answers that a category's own rates must rest on."""

ErrorSource = Literal["agreement", "audit"]


class JudgeErrors(Record, frozen=True, kw_only=True):
    """A judge's error rates."""

    judge: JudgeCard
    source: ErrorSource
    marks: dict[str, ErrorRates]
    """Marks whose rates are unknown are left out."""
    categories: dict[str, dict[str, ErrorRates]]
    memory_window: int | None = None
    """Days shown on either side of the evidence, where that is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTrial:
    """One trial of a run with an outcome."""

    question: str
    category: str
    marks: Mapping[str, int] | None
    """The judge's marks; None where the system gave no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """The part of a run that a correction needs."""

    judge: JudgeCard
    trials: Sequence[RunTrial]
    missing: int = 0
    """Trials owed without a verdict."""
    memory_window: int = 0


class MarkCorrection(Record, frozen=True, kw_only=True):
    """One mark's pass rate and its correction, or why there is none."""

    n: int
    questions: int
    rates: ErrorRates | None
    corrected: CorrectedRate | None
    reason: str | None = None
    """Why there is no correction."""


class RunCorrection(Record, frozen=True, kw_only=True):
    """A run's pass rates as measured and as an error-free judge would give them."""

    judge: JudgeCard
    source: ErrorSource
    trials: int
    not_answered: int
    missing: int
    marks: dict[str, MarkCorrection]
    categories: dict[str, dict[str, MarkCorrection]]
    cautions: tuple[str, ...]


def correct_run(run: JudgedRun, measured: JudgeErrors) -> RunCorrection:
    """Correct every mark, and every category whose own error rates are known well enough.

    Raises UsageError if the run's judge is not the one measured, or if nothing can be corrected.
    """
    _refuse_other_judge(run.judge, measured.judge)
    if all(trial.marks is None for trial in run.trials):
        raise UsageError("the run has no verdict to correct; judge its answers first")
    marks = {mark: _correct_mark(run.trials, mark, measured.marks.get(mark)) for mark in SCALES}
    if all(part.corrected is None for part in marks.values()):
        raise UsageError("; ".join(dict.fromkeys(f"{part.reason}" for part in marks.values())))
    categories: dict[str, dict[str, MarkCorrection]] = {}
    by_category = group_by(run.trials, lambda trial: trial.category)
    for category in order_categories(by_category):
        rates = measured.categories.get(category, {})
        categories[category] = {
            mark: _correct_mark(by_category[category], mark, rates.get(mark), least=MIN_ANSWERS)
            for mark in SCALES
        }
    return RunCorrection(
        judge=run.judge,
        source=measured.source,
        trials=len(run.trials),
        not_answered=sum(trial.marks is None for trial in run.trials),
        missing=run.missing,
        marks=marks,
        categories=categories,
        cautions=tuple(_list_cautions(run, measured, marks)),
    )


def _correct_mark(
    trials: Sequence[RunTrial], mark: str, rates: ErrorRates | None, *, least: int = 0
) -> MarkCorrection:
    """One mark, corrected if the rates rest on enough answers and say anything."""
    questions = [trial.question for trial in trials]
    corrected = None
    if rates is None:
        reason: str | None = (
            f"the judge's errors in {mark} were not measured on both passes and failures"
        )
    else:
        reason = _find_obstacle(trials, mark, rates, least)
    if rates is not None and reason is None:
        passed = [trial.marks is not None and trial.marks[mark] >= PASS[mark] for trial in trials]
        observed = ObservedPasses(
            passed=np.array(passed),
            judged=np.array([trial.marks is not None for trial in trials]),
            question=number_names(questions),
        )
        corrected = correct_pass_rate(observed, rates)
    return MarkCorrection(
        n=len(trials),
        questions=len(set(questions)),
        rates=rates,
        corrected=corrected,
        reason=reason,
    )


def _find_obstacle(
    trials: Sequence[RunTrial], mark: str, rates: ErrorRates, least: int
) -> str | None:
    passes, failures = round(rates.sensitivity.size), round(rates.specificity.size)
    if min(rates.sensitivity.size, rates.specificity.size) < least:
        return (
            f"measured on {format_quantity(passes, 'pass', 'passes')} and "
            f"{format_quantity(failures, 'failure')} in effect, and {least} of each are needed"
        )
    if not rates.is_informative:
        return (
            f"the judge cannot tell right from wrong in {mark}: its sensitivity "
            f"{rates.sensitivity.share:.2f} and specificity {rates.specificity.share:.2f} do not "
            "add up to more than 1, so no score can be corrected by them; use another judge"
        )
    if all(trial.marks is None for trial in trials):
        return "no answer was judged"
    return None


def _refuse_other_judge(judge: JudgeCard, measured: JudgeCard) -> None:
    if judge == measured:
        return
    what = (
        f"it is {format_judge(judge)}"
        if format_judge(judge) != format_judge(measured)
        else "it has other rules, another rubric or another version of its code"
    )
    raise UsageError(
        f"the errors are those of {format_judge(measured)}, "
        f"which is not the judge of this run: {what}; "
        "measure the run's judge, or judge the run again with `recall-bench rejudge`"
    )


def format_judge(judge: JudgeCard) -> str:
    """A judge's name, version, model, rules and reading in one line."""
    model = f" ({judge.model})" if judge.model is not None else ""
    rules = f", rules {judge.rules_digest[:8]}" if judge.rules_digest is not None else ""
    reading = f", {judge.reading}" if judge.reading is not None else ""
    return f"{judge.name} {judge.version}{model}{rules}{reading}"


def _list_cautions(
    run: JudgedRun, measured: JudgeErrors, marks: Mapping[str, MarkCorrection]
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


def load_agreement(path: Path) -> JudgeErrors:
    """The error rates in the output of `judge-lab agreement --json`."""
    agreement: Agreement = _load_json(path, Agreement, "agreement")
    return JudgeErrors(
        judge=agreement.judge,
        source="agreement",
        marks=collect_error_rates(agreement.marks),
        categories={
            name: collect_error_rates(figures) for name, figures in agreement.categories.items()
        },
        memory_window=agreement.memory_window,
    )


def collect_error_rates(figures: Mapping[str, MarkAgreement]) -> dict[str, ErrorRates]:
    """The error rates of the marks that were measured on both passes and failures."""
    rates: dict[str, ErrorRates] = {}
    for mark, part in figures.items():
        sizes = [part.effective.get(name) for name in ("sensitivity", "specificity")]
        match part.sensitivity, sizes[0], part.specificity, sizes[1]:
            case float(sensitivity), float(passes), float(specificity), float(failures):
                rates[mark] = ErrorRates(
                    sensitivity=EffectiveShare(share=sensitivity, size=passes),
                    specificity=EffectiveShare(share=specificity, size=failures),
                )
    return rates


def load_audit(path: Path, judge: JudgeCard) -> JudgeErrors:
    """The error rates of this judge in the output of `judge-lab audit --json`.

    If the judge is not in it, those of the first one; `correct_run` refuses them.
    """
    content: AuditReport | list[AuditReport] = _load_json(
        path, AuditReport | list[AuditReport], "audit"
    )
    reports = content if isinstance(content, list) else [content]
    if not reports:
        raise Malformed(str(path), "holds no audit; print it anew with `judge-lab audit --json`")
    report = next((part for part in reports if part.judge == judge), reports[0])
    return JudgeErrors(
        judge=report.judge,
        source="audit",
        marks=_collect_audit_rates(report.marks),
        categories={
            name: _collect_audit_rates(part.marks) for name, part in report.categories.items()
        },
        memory_window=report.memory_window,
    )


def _collect_audit_rates(figures: Mapping[str, MarkFigures]) -> dict[str, ErrorRates]:
    return {
        mark: ErrorRates(
            sensitivity=EffectiveShare(share=part.sensitivity.rate, size=part.sensitivity.of),
            specificity=EffectiveShare(share=part.specificity.rate, size=part.specificity.of),
        )
        for mark, part in figures.items()
        if part.sensitivity is not None and part.specificity is not None
    }


def _load_json(path: Path, kind: Any, command: str) -> Any:  # noqa: ANN401 - a type, and its value
    try:
        return decode_untrusted_json(read_regular_file(path), kind)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); name what "
            f"`judge-lab {command} --json` printed"
        ) from error
    except msgspec.DecodeError as error:
        raise Malformed(
            str(path), f"is not what `judge-lab {command} --json` prints ({error}); print it anew"
        ) from error
