"""Compare the verdicts of two runs on the same answers, and render the table."""

from collections.abc import Iterator
from functools import cache

from recall_bench.core.plan import Plan
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.scenario import CATEGORIES
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.core.verdict import SCALES, Verdict
from recall_bench.reporting.formats import format_card
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.summary import list_names

OVERALL = "OVERALL"

_LABEL = 27
_NOTHING = "--"


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
    groups: dict[str, _ChangeSums] = {}
    overall = _ChangeSums()
    unpaired = 0
    for category, old, new in _iterate_pairs(before, after):
        if old.state is TrialState.JUDGED and new.state is TrialState.JUDGED:
            groups.setdefault(category, _ChangeSums()).add(old, new)
            overall.add(old, new)
        elif TrialState.JUDGED in (old.state, new.state):
            unpaired += 1
    return VerdictChanges(
        judge_before=_format_judges(before.plan),
        judge_after=_format_judges(after.plan),
        overall=overall.build(),
        categories={
            name: groups[name].build() for name in list_names(groups, CATEGORIES) if name in groups
        },
        unpaired=unpaired,
    )


class _ChangeSums:
    """Sums over one group of pairs."""

    def __init__(self) -> None:
        self._answers = self._gained = self._lost = 0
        self._before = dict.fromkeys(SCALES, 0)
        self._after = dict.fromkeys(SCALES, 0)

    def add(self, old: TrialStatus, new: TrialStatus) -> None:
        self._answers += 1
        for mark in SCALES:
            self._before[mark] += getattr(old, mark)
            self._after[mark] += getattr(new, mark)
        self._gained += not _is_pass(old) and _is_pass(new)
        self._lost += _is_pass(old) and not _is_pass(new)

    def build(self) -> MarkChange:
        def average(points: dict[str, int]) -> dict[str, float]:
            if not self._answers:
                return {}
            return {mark: total / self._answers for mark, total in points.items()}

        return MarkChange(
            answers=self._answers,
            before=average(self._before),
            after=average(self._after),
            gained=self._gained,
            lost=self._lost,
        )


@cache
def _is_pass(standing: TrialStatus) -> bool:
    verdict = Verdict.of(standing.correctness, standing.completeness, standing.grounded)
    return not verdict.is_failure


def _iterate_pairs(
    before: RunFolder, after: RunFolder
) -> Iterator[tuple[str, TrialStatus, TrialStatus]]:
    for scenario, old in before.states.scenarios.items():
        new = after.states.scenarios[scenario]
        for row in range(len(old.checkpoint_plans)):
            for repeat, item in old.list_owed_trials(row):
                category = old.items[item].truth.category
                yield category, old.get_status(row, repeat, item), new.get_status(row, repeat, item)


def _format_judges(plan: Plan) -> str:
    cards = [plan.judge, *([plan.appellate] if plan.appellate is not None else [])]
    return ", reviewed by ".join(format_card(card, card.model) for card in cards)


def render_changes(changes: VerdictChanges) -> str:
    """A table: one row a category, each mark's mean before and after, passes gained and lost."""
    title = f"Judged again · {changes.overall.answers} answers"
    lines = [title, "═" * len(title), f"before  {changes.judge_before}"]
    lines += [f"after   {changes.judge_after}", ""]
    heads = "".join(f"{mark:^17}" for mark in SCALES)
    lines.append(f"{'mean before → after':{_LABEL}}{'n':>6}  {heads}{'gained':>8}{'lost':>7}")
    rows = {**changes.categories, OVERALL: changes.overall}
    lines += [_format_row(name, change) for name, change in rows.items()]
    if changes.unpaired:
        lines.append(f"({changes.unpaired} answers have a verdict in only one of the runs)")
    return "\n".join(lines)


def _format_row(name: str, change: MarkChange) -> str:
    cells = "".join(
        f"{change.before[mark]:>6.2f} → {change.after[mark]:<5.2f}{'':3}"
        if change.answers
        else f"{_NOTHING:^17}"
        for mark in SCALES
    )
    label = "".join(letter if letter.isprintable() else " " for letter in name)
    return (
        f"{label[: _LABEL - 1]:{_LABEL}}{change.answers:>6}  {cells}"
        f"{'+' + str(change.gained):>8}{'-' + str(change.lost):>7}"
    )
