"""A run's share of right answers, corrected by labels: of its own answers, or from the judge lab.

People label some answers of a run in the explorer. Where judge and people differ shows how the
judge errs, and `correction` corrects the share of right answers of the whole run by that. Each
judge of a run is corrected by its own errors.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from recall_bench.core.errors import UsageError
from recall_bench.core.event import Judged, NotAnswered
from recall_bench.core.verdict import PASS, SCALES, Verdict
from recall_bench.engine.runs.judge_sensitivity import open_judge_views
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.judges.correction import (
    JudgedRun,
    JudgeErrors,
    RunTrial,
    collect_error_rates,
    correct_run,
    load_agreement,
)
from recall_bench.judging.human_labels import (
    LABELS,
    HumanLabel,
    LabelLine,
    make_verdict,
    read_labels,
)
from recall_bench.metrics.agreement import MarkPairs, measure_agreement
from recall_bench.metrics.bootstrap import number_names
from recall_bench.reporting.judge_text import CorrectedHeadline, CorrectedJudge

HEADLINE_MARK = "correctness"
"""The mark whose corrected share is the headline."""

FEWEST_LABELS = 10
"""With fewer labelled answers nothing is corrected."""


def read_judged_run(folder: RunFolder) -> JudgedRun:
    """Read the outcomes of a run by its first judge."""
    if folder.plan.labels is not None:
        raise UsageError(
            f"{folder.path}: people gave some of its verdicts, and the judge's errors say nothing "
            "about those; correct the run that was judged again"
        )
    trials: list[RunTrial] = []
    missing = 0
    for result in (result for name in folder.scenarios for result in folder.results(name)):
        question = f"{result.trial.scenario}/{result.trial.item}"
        match result.outcome:
            case Judged(verdict=verdict, primary=primary):
                marks: dict[str, int] | None = (primary or verdict).marks
            case NotAnswered():
                marks = None
            case _:
                missing += 1
                continue
        trials.append(RunTrial(question=question, category=result.item.truth.category, marks=marks))
    return JudgedRun(
        judge=folder.plan.judge,
        trials=trials,
        missing=missing,
        memory_window=folder.plan.judge_memory_window,
    )


def correct_headline(
    folder: RunFolder, agreements: Sequence[Path] = ()
) -> CorrectedHeadline | None:
    """Correct the share of right answers of a run by labels, for each of its judges.

    By what `judge-lab agreement --json` printed, one file a judge; else by the labels that people
    gave in the explorer. None where there are neither, and where people's labels are its verdicts.
    """
    plan = folder.plan
    if plan.labels is not None or plan.unjudged or (plan.dataset is not None and not agreements):
        return None
    measured = [load_agreement(path) for path in agreements]
    labelled = {} if measured else _combine_labels(read_labels(folder.path))
    if not measured and len(labelled) < FEWEST_LABELS:
        return None
    judges, cautions = [], dict[str, None]()
    for name, view in zip(plan.judge_names, open_judge_views(folder), strict=True):
        errors = next(
            (candidate for candidate in measured if candidate.judge == view.plan.judge), None
        )
        if not measured:
            errors = _measure_errors(view, labelled)
        corrected, remarks = _correct_judge(name, view, errors)
        judges.append(corrected)
        cautions |= dict.fromkeys(remarks)
    source = "judge-lab agreement" if measured else f"{len(labelled)} labels in {LABELS}"
    if not measured:
        cautions["the labelled answers stand for the others only if they were not chosen"] = None
    return CorrectedHeadline(source=source, judges=tuple(judges), cautions=tuple(cautions))


def _correct_judge(
    name: str, view: RunFolder, errors: JudgeErrors | None
) -> tuple[CorrectedJudge, tuple[str, ...]]:
    if errors is None:
        return CorrectedJudge(name=name, right=None, reason="its errors were not measured"), ()
    try:
        correction = correct_run(read_judged_run(view), errors)
    except UsageError as error:
        return CorrectedJudge(name=name, right=None, reason=str(error)), ()
    part = correction.marks[HEADLINE_MARK]
    judge = CorrectedJudge(name=name, right=part.corrected, reason=part.reason)
    return judge, correction.cautions


def _combine_labels(labels: Sequence[LabelLine]) -> dict[str, tuple[LabelLine, Verdict]]:
    """The verdict of all people together on each labelled answer, by trial."""
    by_trial: dict[str, list[LabelLine]] = {}
    for line in labels:
        if line.label is not HumanLabel.BAD_QUESTION:
            by_trial.setdefault(line.trial, []).append(line)
    return {trial: (lines[0], make_verdict(lines)) for trial, lines in by_trial.items()}


def _measure_errors(
    view: RunFolder, known: Mapping[str, tuple[LabelLine, Verdict]]
) -> JudgeErrors | None:
    """The errors of the judge of a view, where people labelled the answers; None without any."""
    pairs: list[tuple[LabelLine, Verdict, Verdict]] = []
    for result in (result for name in view.scenarios for result in view.results(name)):
        said = known.get(str(result.trial))
        if said is not None and isinstance(result.outcome, Judged):
            given = result.outcome.primary or result.outcome.verdict
            pairs.append((said[0], given, said[1]))
    if not pairs:
        return None
    question = number_names([line.question_id for line, _, _ in pairs])
    marks = {
        mark: measure_agreement(
            MarkPairs(
                given=np.array([given.marks[mark] for _, given, _ in pairs]),
                label=np.array([label.marks[mark] for _, _, label in pairs]),
                question=question,
                top=top,
                level=PASS[mark],
            )
        )
        for mark, top in SCALES.items()
    }
    return JudgeErrors(
        judge=view.plan.judge,
        source="agreement",
        marks=collect_error_rates(marks),
        categories={},
        memory_window=view.plan.judge_memory_window,
    )
