"""Compare the verdicts of two runs on the same answers, and render the table."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from recall_bench.core.plain_text import NO_DATA, format_heading, make_table, render_text
from recall_bench.core.plan import Plan
from recall_bench.core.record import ComputedRecord, Record, group_by
from recall_bench.core.scenario import order_categories
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.core.verdict import SCALES
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.reporting.formats import format_card, format_number
from recall_bench.reporting.headlines import describe_labels

OVERALL = "OVERALL"

_JudgedTwice = tuple[str, TrialStatus, TrialStatus]
"""The category of an answer, and its two verdicts."""


class MarkChange(ComputedRecord, frozen=True, kw_only=True):
    """How one group of answers fared, over those that have a verdict in both runs."""

    answers: int
    before: dict[str, float]
    """The mean of each mark; empty where no answer was judged twice."""
    after: dict[str, float]
    gained: int
    """Answers that failed before and pass now."""
    lost: int
    """Answers that passed before and fail now."""


class VerdictChanges(Record, frozen=True, kw_only=True):
    """Everything that changed, by category and overall."""

    judge_before: str
    judge_after: str
    overall: MarkChange
    categories: dict[str, MarkChange]
    unpaired: int
    """Answers with a verdict in only one of the runs, which count nowhere here."""


def compare_verdicts(before: RunFolder, after: RunFolder) -> VerdictChanges:
    """Compare two runs' verdicts on the same answers."""
    judged: list[_JudgedTwice] = []
    unpaired = 0
    for category, old, new in _iterate_pairs(before, after):
        if old.state is TrialState.JUDGED and new.state is TrialState.JUDGED:
            judged.append((category, old, new))
        elif TrialState.JUDGED in (old.state, new.state):
            unpaired += 1
    groups = group_by(judged, lambda each: each[0])
    return VerdictChanges(
        judge_before=_format_judges(before.plan),
        judge_after=_format_judges(after.plan),
        overall=_measure_change(judged),
        categories={name: _measure_change(groups[name]) for name in order_categories(groups)},
        unpaired=unpaired,
    )


def _measure_change(judged: Sequence[_JudgedTwice]) -> MarkChange:
    before, after = [old for _, old, _ in judged], [new for _, _, new in judged]
    passes = [(old.is_pass, new.is_pass) for _, old, new in judged]
    return MarkChange(
        answers=len(judged),
        before=_average_marks(before),
        after=_average_marks(after),
        gained=sum(new and not old for old, new in passes),
        lost=sum(old and not new for old, new in passes),
    )


def _average_marks(verdicts: Sequence[TrialStatus]) -> dict[str, float]:
    if not verdicts:
        return {}
    return {mark: fmean(getattr(verdict, mark) for verdict in verdicts) for mark in SCALES}


def _iterate_pairs(before: RunFolder, after: RunFolder) -> Iterator[_JudgedTwice]:
    for scenario, old in before.states.scenarios.items():
        new = after.states.scenarios[scenario]
        for row in range(len(new.checkpoint_plans)):
            for repeat, item in new.list_owed_trials(row):
                category = old.items[item].truth.category
                yield category, old.get_status(row, repeat, item), new.get_status(row, repeat, item)


def _format_judges(plan: Plan) -> str:
    cards = [plan.judge, *([plan.appellate] if plan.appellate is not None else [])]
    words = ", reviewed by ".join(format_card(card, card.model) for card in cards)
    return words if plan.labels is None else f"{words}; {describe_labels(plan.labels)}"


def render_changes(changes: VerdictChanges) -> str:
    """A table: one row a category, each mark's mean before and after, passes gained and lost."""
    heads = ("mean before → after", "n", *SCALES, "gained", "lost")
    rows = [
        [
            name,
            f"{change.answers:,}",
            *(
                f"{format_number(change.before[mark], 2)} → {format_number(change.after[mark], 2)}"
                if change.answers
                else NO_DATA
                for mark in SCALES
            ),
            f"+{change.gained}",
            f"-{change.lost}",
        ]
        for name, change in {**changes.categories, OVERALL: changes.overall}.items()
    ]
    lines = format_heading(f"Judged again · {changes.overall.answers} answers", rule="═")
    lines += [f"before  {changes.judge_before}", f"after   {changes.judge_after}", ""]
    lines += render_text(make_table(heads, rows))
    if changes.unpaired:
        lines.append(f"({changes.unpaired} answers have a verdict in only one of the runs)")
    return "\n".join(lines)
