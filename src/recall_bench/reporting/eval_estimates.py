"""The figures of an evaluation: means with counts, intervals, chance and ceiling."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from recall_bench.core.record import ComputedRecord, Record
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.reporting.eval_scores import ANSWERED, OPEN, ScoredQuestion

ALL, ANSWERABLE, UNANSWERABLE = "all", "answerable", "unanswerable"
CATEGORY_AVERAGE = "average of categories"


class EvalEstimate(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One figure of one group of questions."""

    name: str
    mean: float
    counted: int
    """The questions it is over: those it applies to and that came to something."""
    interval: tuple[float, float] | None = None
    """The 95 % interval of the mean, by resampling histories, or questions where there are fewer
    than five histories; only for headline figures."""
    chance: float | None = None
    """What a blind draw, or a guess, would get on the same questions."""
    ceiling: float | None = None
    """What the best order of all there is would get."""


class EvalGroup(Record, frozen=True, kw_only=True):
    """Questions that are counted together."""

    name: str
    questions: int
    figures: dict[str, EvalEstimate]


class AbstentionCounts(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a system knows what it does not know: an axis of its own."""

    unanswerable: int
    """Answers to questions that have none."""
    abstained: int
    """How many of these abstained."""
    answerable: int
    wrongly_abstained: int
    """Answers that abstained although there is an answer."""
    traps: int
    """Answers to questions that come with a trap."""
    fell_for_trap: int


class EvalCounts(Record, frozen=True, kw_only=True):
    """How the questions of a run ended."""

    owed: int
    answered: int
    failed: int
    """The system failed at them: they count as finding and saying nothing."""
    open: int
    unjudged: int
    """Answered, to be judged, and without a verdict: figures of the judge lack them."""


def group_scores(
    scored: Sequence[ScoredQuestion], headline: Iterable[str], *, with_intervals: bool = True
) -> tuple[EvalGroup, ...]:
    """All questions, those with and without an answer where there are both, and each category."""
    wanted = frozenset(headline) if with_intervals else frozenset()
    cells: dict[tuple[str, bool], list[ScoredQuestion]] = {}
    for each in scored:
        cells.setdefault((each.category, each.is_answerable), []).append(each)
    sums = {cell: _FigureSums.collect(members) for cell, members in cells.items()}
    members: dict[str, list[tuple[str, bool]]] = {ALL: list(cells)}
    if len({is_answerable for _, is_answerable in cells}) == 2:
        members[ANSWERABLE] = [cell for cell in cells if cell[1]]
        members[UNANSWERABLE] = [cell for cell in cells if not cell[1]]
    groups = list(members.items())
    groups += [
        (category, [cell for cell in cells if cell[0] == category])
        for category in dict.fromkeys(category for category, _ in cells)
    ]
    return tuple(
        EvalGroup(
            name=name,
            questions=sum(len(cells[cell]) for cell in held),
            figures=_FigureSums.merge([sums[cell] for cell in held]).build_estimates(
                _compute_intervals([each for cell in held for each in cells[cell]], wanted)
            ),
        )
        for name, held in groups
    )


def average_categories(groups: Sequence[EvalGroup]) -> EvalGroup:
    """Every category counting the same, however many questions it has."""
    apart = [each for each in groups if each.name not in (ALL, ANSWERABLE, UNANSWERABLE)]
    names = dict.fromkeys(name for group in apart for name in group.figures)
    figures = {}
    for name in names:
        found = [group.figures[name] for group in apart if name in group.figures]
        figures[name] = EvalEstimate(
            name=name,
            mean=fmean(each.mean for each in found),
            counted=sum(each.counted for each in found),
            chance=_average_known([each.chance for each in found]),
            ceiling=_average_known([each.ceiling for each in found]),
        )
    return EvalGroup(
        name=CATEGORY_AVERAGE, questions=sum(each.questions for each in apart), figures=figures
    )


def count_abstentions(scored: Iterable[ScoredQuestion]) -> AbstentionCounts | None:
    """Count how often a system abstained; None if no answer was in free text."""
    said = [each for each in scored if each.abstained is not None]
    if not said:
        return None
    lacking = [each for each in said if not each.is_answerable]
    having = [each for each in said if each.is_answerable]
    trapped = [each for each in said if each.fell_for_trap is not None]
    return AbstentionCounts(
        unanswerable=len(lacking),
        abstained=sum(each.abstained is True for each in lacking),
        answerable=len(having),
        wrongly_abstained=sum(each.abstained is True for each in having),
        traps=len(trapped),
        fell_for_trap=sum(each.fell_for_trap is True for each in trapped),
    )


def count_outcomes(scored: Sequence[ScoredQuestion]) -> EvalCounts:
    """Where the questions have ended."""
    answered = sum(each.outcome == ANSWERED for each in scored)
    still_open = sum(each.outcome == OPEN for each in scored)
    return EvalCounts(
        owed=len(scored),
        answered=answered,
        failed=len(scored) - answered - still_open,
        open=still_open,
        unjudged=sum(each.unjudged is not None for each in scored),
    )


def _compute_intervals(
    group: Sequence[ScoredQuestion], wanted: frozenset[str]
) -> dict[str, tuple[float, float] | None]:
    found = {}
    for name in wanted:
        having = [each for each in group if name in each.figures]
        estimate = estimate_mean(
            [each.figures[name] for each in having],
            [each.item for each in having],
            [each.scenario for each in having],
            limits=(0.0, 1.0),
        )
        found[name] = None if estimate is None else estimate.interval
    return found


@dataclass(slots=True)
class _FigureSum:
    """One figure added up, with what chance and the best order get where that is known."""

    count: int = 0
    mean: float = 0.0
    chances: int = 0
    chance: float = 0.0
    ceilings: int = 0
    ceiling: float = 0.0

    def __add__(self, other: "_FigureSum") -> "_FigureSum":
        return _FigureSum(
            self.count + other.count,
            self.mean + other.mean,
            self.chances + other.chances,
            self.chance + other.chance,
            self.ceilings + other.ceilings,
            self.ceiling + other.ceiling,
        )


class _FigureSums(dict[str, _FigureSum]):
    """Every figure of some questions, added up in one pass."""

    @classmethod
    def collect(cls, group: Iterable[ScoredQuestion]) -> "_FigureSums":
        sums = cls()
        for each in group:
            chances, ceilings = each.chance, each.ceiling
            for name, value in each.figures.items():
                held = sums.get(name)
                if held is None:
                    held = sums[name] = _FigureSum()
                held.count += 1
                held.mean += value
                if name in chances:
                    held.chances += 1
                    held.chance += chances[name]
                if name in ceilings:
                    held.ceilings += 1
                    held.ceiling += ceilings[name]
        return sums

    @classmethod
    def merge(cls, parts: Iterable["_FigureSums"]) -> "_FigureSums":
        sums = cls()
        for part in parts:
            for name, held in part.items():
                sums[name] = sums[name] + held if name in sums else held
        return sums

    def build_estimates(
        self, intervals: Mapping[str, tuple[float, float] | None]
    ) -> dict[str, EvalEstimate]:
        """A floor or a ceiling is told only where it is known of every question."""
        return {
            name: EvalEstimate(
                name=name,
                mean=held.mean / held.count,
                counted=held.count,
                interval=intervals.get(name),
                chance=held.chance / held.count if held.chances == held.count else None,
                ceiling=held.ceiling / held.count if held.ceilings == held.count else None,
            )
            for name, held in self.items()
        }


def _average_known(values: Sequence[float | None]) -> float | None:
    """The mean, if all of them are known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
