"""What other judges changed: the same answers, marked before and after."""

from collections.abc import Iterator
from functools import cache

from recall_bench.core.plan import Plan
from recall_bench.core.question import CATEGORIES
from recall_bench.core.record import Record
from recall_bench.core.standing import Standing, State
from recall_bench.core.verdict import SCALES, Verdict
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import listed

OVERALL = "OVERALL"

_LABEL = 27
_NOTHING = "--"


class Change(Record, frozen=True, kw_only=True):
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
    overall: Change
    categories: dict[str, Change]
    unpaired: int
    """Answers with a verdict in only one of the runs, which count nowhere here."""


def changes_between(before: RunFolder, after: RunFolder) -> VerdictChanges:
    """Compare two runs' verdicts on the same answers."""
    groups: dict[str, _Group] = {}
    overall = _Group()
    unpaired = 0
    for category, old, new in _pairs(before, after):
        if old.state is State.JUDGED and new.state is State.JUDGED:
            groups.setdefault(category, _Group()).add(old, new)
            overall.add(old, new)
        elif State.JUDGED in (old.state, new.state):
            unpaired += 1
    return VerdictChanges(
        judge_before=_judges(before.plan),
        judge_after=_judges(after.plan),
        overall=overall.change(),
        categories={
            name: groups[name].change() for name in listed(groups, CATEGORIES) if name in groups
        },
        unpaired=unpaired,
    )


class _Group:
    """Sums over one group of pairs."""

    def __init__(self) -> None:
        self._answers = self._gained = self._lost = 0
        self._before = dict.fromkeys(SCALES, 0)
        self._after = dict.fromkeys(SCALES, 0)

    def add(self, old: Standing, new: Standing) -> None:
        self._answers += 1
        for mark in SCALES:
            self._before[mark] += getattr(old, mark)
            self._after[mark] += getattr(new, mark)
        self._gained += not _passes(old) and _passes(new)
        self._lost += _passes(old) and not _passes(new)

    def change(self) -> Change:
        def means(points: dict[str, int]) -> dict[str, float]:
            if not self._answers:
                return {}
            return {mark: total / self._answers for mark, total in points.items()}

        return Change(
            answers=self._answers,
            before=means(self._before),
            after=means(self._after),
            gained=self._gained,
            lost=self._lost,
        )


@cache
def _passes(standing: Standing) -> bool:
    verdict = Verdict.of(standing.correctness, standing.completeness, standing.grounded)
    return not verdict.is_failure


def _pairs(before: RunFolder, after: RunFolder) -> Iterator[tuple[str, Standing, Standing]]:
    for scenario, old in before.standings.scenarios.items():
        new = after.standings.scenarios[scenario]
        for row in range(len(old.sheets)):
            for repeat, item in old.owed(row):
                category = old.items[item].truth.category
                yield category, old.standing(row, repeat, item), new.standing(row, repeat, item)


def _judges(plan: Plan) -> str:
    cards = [plan.judge, *([plan.appellate] if plan.appellate is not None else [])]
    return ", reviewed by ".join(
        f"{card.name} {card.version}" + (f" ({card.model})" if card.model else "") for card in cards
    )


def as_text(changes: VerdictChanges) -> str:
    """A table: one row a category, each mark's mean before and after, passes gained and lost."""
    title = f"Judged again · {changes.overall.answers} answers"
    lines = [title, "═" * len(title), f"before  {changes.judge_before}"]
    lines += [f"after   {changes.judge_after}", ""]
    heads = "".join(f"{mark:^17}" for mark in SCALES)
    lines.append(f"{'mean before → after':{_LABEL}}{'n':>6}  {heads}{'gained':>8}{'lost':>7}")
    rows = {**changes.categories, OVERALL: changes.overall}
    lines += [_row(name, change) for name, change in rows.items()]
    if changes.unpaired:
        lines.append(f"({changes.unpaired} answers have a verdict in only one of the runs)")
    return "\n".join(lines)


def _row(name: str, change: Change) -> str:
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
