"""Every mean of a run with its interval.

The means are those of the summary, to the last digit. Intervals resample questions with all their
trials, those of one template together, or whole personas where there are five or more.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from recall_bench.core.plan import Checkpoint, Trial
from recall_bench.core.record import Record
from recall_bench.core.scenario import CATEGORIES, Item
from recall_bench.core.schedule import is_in_plan
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.metrics.bootstrap import LEVEL, RESAMPLES, SEED
from recall_bench.metrics.estimate import Estimate, Limits, estimate_question_sums
from recall_bench.runs.boundary import read_boundary
from recall_bench.runs.result_rows import encode_row
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.score_ranges import CountedTrial, ScoreRange, estimate_score_range
from recall_bench.runs.summary import list_names
from recall_bench.runs.trials import TrialTable

CELL_RESAMPLES: Final = 2_000
"""Resamples for a mean that is one of many.

The sampling error moves an end of the interval by about a thirtieth of its half-width, less than
the tenth of a point that a cell shows. The headline has five times as many.
"""

POINTS: Final[Limits] = (0.0, float(FULL_MARKS))
"""The lowest and highest points of a trial."""
RATE: Final[Limits] = (0.0, 1.0)
"""The lowest and highest value of a rate."""

_Kinds = Mapping[str, Sequence[str | None]]
"""The kind of each question of each persona."""
_Shape = tuple[tuple[tuple[tuple[float, int], ...], ...], ...]
"""For each template of each persona the sum and the number of the trials of each question, sorted.
"""


class HeatmapCell(Record, frozen=True, kw_only=True):
    """One category at one checkpoint."""

    mean: Estimate | None
    """Of six points, or a share in the row of hallucination; None if not measured."""
    eligible: int
    """Questions that the story supports by then, asked or not."""


class HeatmapTotal(Record, frozen=True, kw_only=True):
    """All checkpoints of a row together."""

    mean: Estimate | None = None
    """Of six points; None if not measured."""
    bounds: ScoreRange | None = None
    """None where the run has no bounds."""


class HeatmapRow(Record, frozen=True, kw_only=True):
    """One category over all checkpoints."""

    category: str
    cells: tuple[HeatmapCell, ...]
    total: HeatmapTotal = HeatmapTotal()


class Heatmap(Record, frozen=True, kw_only=True):
    """One persona, or all of them."""

    persona: str | None
    """None for all together."""
    columns: tuple[Checkpoint, ...]
    rows: tuple[HeatmapRow, ...]
    overall: tuple[HeatmapCell, ...]
    hallucination: tuple[HeatmapCell, ...]
    """The share of answers that are not grounded: inventions and leaks."""
    invented: tuple[HeatmapCell, ...]
    """The share of answers that are invented."""
    leaked: tuple[HeatmapCell, ...]
    """The share of answers that leak, of those that could."""
    total: HeatmapTotal = HeatmapTotal()

    @property
    def has_small(self) -> bool:
        """Whether any mean rests on too few questions for a reliable interval."""
        rows = [row.cells for row in self.rows]
        return any(
            cell.mean is not None and cell.mean.is_small
            for row in (*rows, self.overall, self.invented, self.leaked)
            for cell in row
        )


def build_heatmaps(folder: RunFolder, means: "RunEstimates | None" = None) -> tuple[Heatmap, ...]:
    """Build the heatmap of all personas where there are several, then that of each."""
    means = means or RunEstimates.get(folder)
    each = tuple(means.build_heatmap(name) for name in folder.scenarios)
    return (means.build_heatmap(), *each) if len(each) > 1 else each


def estimate_overall(folder: RunFolder) -> Estimate | None:
    """Estimate the mean points of all trials; None where nothing was measured."""
    return RunEstimates.get(folder).estimate_overall()


def estimate_hallucination(folder: RunFolder) -> Estimate | None:
    """Estimate the share of ungrounded answers; None where none was judged."""
    return RunEstimates.get(folder).estimate_hallucination()


class KindEstimates(NamedTuple):
    """The estimates of one kind of question, over all checkpoints; None where not measured."""

    points: Estimate | None
    invented: Estimate | None
    leaked: Estimate | None


class _Tally(NamedTuple):
    """All that an estimate depends on, and the number of trials that lack a mark."""

    shape: _Shape
    limits: Limits
    resamples: int
    missing: int


class RunEstimates:
    """The estimates of one run.

    A trial without an answer has no points, and is not missing from the hallucination rate either.
    A trial without a verdict is missing from both.
    """

    _opened: ClassVar["WeakKeyDictionary[RunFolder, RunEstimates]"] = WeakKeyDictionary()

    @classmethod
    def get(cls, folder: RunFolder, table: TrialTable | None = None) -> "RunEstimates":
        """Return the estimates of a folder, shared by everything that reads it.

        With a table that a protocol scores, they are of its scores.
        """
        if table is not None and table.scale is not None:
            return cls(folder, table)
        found = cls._opened.get(folder)
        if found is None:
            found = cls._opened[folder] = cls(folder)
        return found

    def __init__(self, folder: RunFolder, scores: TrialTable | None = None) -> None:
        """With `scores`, a table with a scale, the points are its scores."""
        self._personas = folder.scenarios
        self._scores = None if scores is None else {row.trial: row.score for row in scores.rows}
        self._standings = folder.states.scenarios
        self._boundaries = {name: read_boundary(folder, name) for name in self._personas}
        found = (item.truth.category for name in self._personas for item in self._get_items(name))
        self._categories = tuple(
            name for name in list_names(found, CATEGORIES) if is_in_plan(name, folder.plan)
        )
        self._eligible: dict[tuple[str, int], Counter[str]] = {}
        self._known: dict[tuple[_Shape, Limits, int], Estimate] = {}
        self._ranges: dict[str | None, ScoreRange | None] = {}
        self._category_ranges: dict[str | None, dict[str, ScoreRange]] = {}

    def estimate_overall(self, persona: str | None = None) -> Estimate | None:
        """Estimate the mean points of a persona, or of all."""
        return self._estimate(
            self._tally_points(self._iterate_all(persona), self._choose_resamples(persona))
        )

    def estimate_hallucination(self, persona: str | None = None) -> Estimate | None:
        """Estimate the hallucination rate of a persona, or of all."""
        return self._estimate(
            self._tally_rate(self._iterate_all(persona), self._choose_resamples(persona))
        )

    def estimate_invented(self, persona: str | None = None) -> Estimate | None:
        """Estimate the share of a persona's answers, or of all, that are invented."""
        return self._estimate(
            self._tally_invented(self._iterate_all(persona), self._choose_resamples(persona))
        )

    def estimate_leaked(self, persona: str | None = None) -> Estimate | None:
        """Estimate the share of answers that leak, of those in which a leak could be noticed."""
        return self._estimate(
            self._tally_leaked(self._iterate_all(persona), self._choose_resamples(persona))
        )

    def estimate_by(
        self, kind: Callable[[Item], str | None], persona: str | None = None
    ) -> dict[str, KindEstimates]:
        """Estimate each kind of question; those without a kind are left out."""
        groups = _group_trials(self._iterate_all(persona), self._map_kinds(kind))
        counted = (self._tally_points, self._tally_invented, self._tally_leaked)
        tallies = [tally(trials) for trials in groups.values() for tally in counted]
        means = iter(self._estimate_all(tallies))
        return {
            name: KindEstimates(points=next(means), invented=next(means), leaked=next(means))
            for name in groups
        }

    def estimate_range(self, persona: str | None = None) -> ScoreRange | None:
        """Estimate where the score of a persona, or of all, lies between floor and ceiling.

        None where the run has no bounds.
        """
        persona = self._name_only_persona(persona)
        if persona not in self._ranges:
            self._ranges[persona] = estimate_score_range(
                self._iterate_all(persona),
                self._standings,
                resamples=self._choose_resamples(persona),
            )
        return self._ranges[persona]

    def estimate_category_ranges(self, persona: str | None = None) -> dict[str, ScoreRange]:
        """Estimate the range of each category, over all checkpoints."""
        persona = self._name_only_persona(persona)
        if persona not in self._category_ranges:
            self._category_ranges[persona] = self._estimate_category_ranges(persona)
        return self._category_ranges[persona]

    def _estimate_category_ranges(self, persona: str | None) -> dict[str, ScoreRange]:
        kinds = self._map_kinds(_get_category)
        groups = _group_trials(self._iterate_all(persona), kinds)
        ranges = {
            name: estimate_score_range(groups[name], self._standings, resamples=CELL_RESAMPLES)
            for name in self._categories
            if name in groups
        }
        return {name: found for name, found in ranges.items() if found is not None}

    def estimate_checkpoints(
        self, persona: str | None = None, places: Sequence[int] | None = None
    ) -> tuple[Estimate | None, ...]:
        """Estimate the mean points at each checkpoint, or at those in these places."""
        names = self._list_personas(persona)
        columns = self._list_places(names, places)
        return tuple(
            self._estimate_all(
                [self._tally_points(self._iterate_trials(names, place)) for place in columns]
            )
        )

    def build_heatmap(
        self, persona: str | None = None, places: Sequence[int] | None = None
    ) -> Heatmap:
        """Build the heatmap of all checkpoints, or of those in these places."""
        names = self._list_personas(persona)
        columns = self._list_places(names, places)
        kinds = self._map_kinds(_get_category)
        groups = [_group_trials(self._iterate_trials(names, place), kinds) for place in columns]
        eligible = [self._count_eligible(names, place) for place in columns]
        every = [[trial for trials in group.values() for trial in trials] for group in groups]
        supported = [counts.total() for counts in eligible]
        ranges = self.estimate_category_ranges(persona)
        whole = _group_trials(self._iterate_all(persona), kinds)
        counted = (
            self._tally_points,
            self._tally_rate,
            self._tally_invented,
            self._tally_leaked,
        )
        tallies = [
            *(
                [self._tally_points(group.get(name, ())) for group in groups]
                for name in self._categories
            ),
            *([tally(trials) for trials in every] for tally in counted),
            [self._tally_points(whole.get(name, ())) for name in self._categories],
        ]
        means = iter(self._estimate_all([each for row in tallies for each in row]))
        cells, totals = [[next(means) for _ in row] for row in tallies[:-1]], list(means)
        return Heatmap(
            persona=persona,
            columns=tuple(
                self._standings[names[0]].checkpoint_plans[place].checkpoint for place in columns
            ),
            rows=tuple(
                HeatmapRow(
                    category=name,
                    cells=_build_cells(row, [counts[name] for counts in eligible]),
                    total=HeatmapTotal(mean=total, bounds=ranges.get(name)),
                )
                for name, row, total in zip(
                    self._categories, cells[: len(totals)], totals, strict=True
                )
            ),
            overall=_build_cells(cells[-4], supported),
            hallucination=_build_cells(cells[-3], supported),
            invented=_build_cells(cells[-2], supported),
            leaked=_build_cells(cells[-1], supported),
            total=HeatmapTotal(
                mean=self.estimate_overall(persona), bounds=self.estimate_range(persona)
            ),
        )

    def _choose_resamples(self, persona: str | None) -> int:
        is_headline = persona is None or len(self._personas) == 1
        return RESAMPLES if is_headline else CELL_RESAMPLES

    def _name_only_persona(self, persona: str | None) -> str | None:
        """Name the persona where all together are one, so that it is estimated once."""
        return self._personas[0] if len(self._personas) == 1 else persona

    def _list_personas(self, persona: str | None) -> tuple[str, ...]:
        return tuple(self._personas) if persona is None else (persona,)

    def _list_places(self, names: Sequence[str], places: Sequence[int] | None) -> Sequence[int]:
        # All personas have the same checkpoints.
        count = len(self._standings[names[0]].checkpoint_plans) if names else 0
        return range(count) if places is None else places

    def _get_items(self, persona: str) -> tuple[Item, ...]:
        return self._standings[persona].items

    def _iterate_all(self, persona: str | None) -> Iterator[CountedTrial]:
        for name in self._list_personas(persona):
            for place in range(len(self._standings[name].checkpoint_plans)):
                yield from self._iterate_trials((name,), place)

    def _iterate_trials(self, personas: Iterable[str], place: int) -> Iterator[CountedTrial]:
        for name in personas:
            standing, boundary = self._standings[name], self._boundaries[name]
            for repeat, item in standing.list_owed_trials(place):
                slot = standing.compute_slot(place, repeat, item)
                status = standing.get_status(place, repeat, item)
                found = CountedTrial(name, item, status, boundary.check_leak(slot))
                yield found if self._scores is None else self._add_score(found, place, repeat)

    def _add_score(self, found: CountedTrial, place: int, repeat: int) -> CountedTrial:
        standing = self._standings[found.persona]
        trial = Trial(
            scenario=found.persona,
            item=standing.items[found.item].id,
            checkpoint=standing.checkpoint_plans[place].checkpoint.label,
            repeat=repeat,
        )
        scores = self._scores or {}
        return found._replace(score=scores.get(trial))

    def _map_kinds(self, kind: Callable[[Item], str | None]) -> _Kinds:
        return {name: [kind(item) for item in self._get_items(name)] for name in self._personas}

    def _count_eligible(self, personas: Iterable[str], place: int) -> Counter[str]:
        """Count the eligible questions of each category; those of a persona are counted once."""
        total: Counter[str] = Counter()
        for name in personas:
            if (name, place) not in self._eligible:
                items = self._get_items(name)
                plan = self._standings[name].checkpoint_plans[place]
                self._eligible[name, place] = Counter(
                    items[item].truth.category for item in plan.eligible
                )
            total += self._eligible[name, place]
        return total

    def _tally_points(
        self, trials: Iterable[CountedTrial], resamples: int = CELL_RESAMPLES
    ) -> "_Tally | None":
        if self._scores is not None:
            # A figure need not apply to all questions, and lacks none of the others.
            done = (TrialState.MEASURED, TrialState.JUDGED)
            scored = (
                each for each in trials if each.score is not None or each.status.state not in done
            )
            return self._tally(scored, _get_score, POINTS, resamples)
        return self._tally(trials, _get_points, POINTS, resamples)

    def _tally_rate(
        self, trials: Iterable[CountedTrial], resamples: int = CELL_RESAMPLES
    ) -> "_Tally | None":
        return self._tally(trials, _get_hallucination, RATE, resamples)

    def _tally_invented(
        self, trials: Iterable[CountedTrial], resamples: int = CELL_RESAMPLES
    ) -> "_Tally | None":
        return self._tally(trials, _get_invention, RATE, resamples)

    def _tally_leaked(
        self, trials: Iterable[CountedTrial], resamples: int = CELL_RESAMPLES
    ) -> "_Tally | None":
        guarded = (trial for trial in trials if trial.leaked is not None)
        return self._tally(guarded, _get_leak, RATE, resamples)

    def _tally(
        self,
        trials: Iterable[CountedTrial],
        mark: Callable[[CountedTrial], float | None],
        limits: Limits,
        resamples: int,
    ) -> "_Tally | None":
        """Sum the marks of each question; None if no trial has one."""
        personas: dict[str, dict[int, tuple[float, int]]] = {}
        missing = 0
        for trial in trials:
            value = mark(trial)
            if value is None:
                missing += trial.status.state is not TrialState.NOT_ANSWERED
                continue
            questions = personas.setdefault(trial.persona, {})
            total, count = questions.get(trial.item, (0, 0))
            questions[trial.item] = total + value, count + 1
        if not personas:
            return None
        shape = tuple(
            sorted(self._shape_persona(persona, found) for persona, found in personas.items())
        )
        return _Tally(shape, limits, resamples, missing)

    def _estimate(self, tally: "_Tally | None") -> Estimate | None:
        return self._estimate_all([tally])[0]

    def _estimate_all(self, tallies: Sequence["_Tally | None"]) -> list[Estimate | None]:
        """Estimate the mean of each tally, those that are new together."""
        wanted: dict[tuple[Limits, int], dict[_Shape, None]] = {}
        for each in tallies:
            if each is not None and each[:3] not in self._known:
                wanted.setdefault((each.limits, each.resamples), {})[each.shape] = None
        for (limits, resamples), shapes in wanted.items():
            found = estimate_question_sums(shapes, limits=limits, resamples=resamples)
            for shape, mean in zip(shapes, found, strict=True):
                self._known[shape, limits, resamples] = mean
        return [
            None if each is None else self._known[each[:3]].replace(missing=each.missing)
            for each in tallies
        ]

    def _shape_persona(
        self, persona: str, questions: Mapping[int, tuple[float, int]]
    ) -> tuple[tuple[tuple[float, int], ...], ...]:
        """The sums of each template; a question without one is a template of its own."""
        items = self._get_items(persona)
        templates: dict[str | int, list[tuple[float, int]]] = {}
        for number, sums in questions.items():
            templates.setdefault(items[number].template or number, []).append(sums)
        return tuple(sorted(tuple(sorted(found)) for found in templates.values()))


def _build_cells(
    means: Iterable[Estimate | None], eligible: Iterable[int]
) -> tuple[HeatmapCell, ...]:
    return tuple(
        HeatmapCell(mean=mean, eligible=count) for mean, count in zip(means, eligible, strict=True)
    )


def _group_trials(trials: Iterable[CountedTrial], kinds: _Kinds) -> dict[str, list[CountedTrial]]:
    groups: dict[str, list[CountedTrial]] = {}
    for trial in trials:
        found = kinds[trial.persona][trial.item]
        if found is not None:
            groups.setdefault(found, []).append(trial)
    return groups


def _get_category(item: Item) -> str:
    return item.truth.category


def _get_points(trial: CountedTrial) -> int | None:
    if trial.status.state is TrialState.JUDGED:
        return trial.status.composite
    return 0 if trial.status.state is TrialState.NOT_ANSWERED else None


def _get_score(trial: CountedTrial) -> float | None:
    return None if trial.score is None else FULL_MARKS * trial.score


def _get_hallucination(trial: CountedTrial) -> int | None:
    if trial.status.state is not TrialState.JUDGED:
        return None
    return int(trial.status.grounded == 0)


def _get_invention(trial: CountedTrial) -> int | None:
    found = _get_hallucination(trial)
    return 0 if found and trial.leaked else found


def _get_leak(trial: CountedTrial) -> int | None:
    return None if trial.leaked is None else int(trial.leaked)


EstimateFields = dict[str, object]


def build_estimates(means: RunEstimates, persona: str | None = None) -> EstimateFields:
    """Build the estimates of a persona, or of all: overall, and at each checkpoint."""
    fields: EstimateFields = {
        "level": LEVEL,
        "seed": SEED,
        "overall": encode_row(format_estimate(means.estimate_overall(persona))),
        "hallucinationRate": encode_row(
            format_estimate(means.estimate_hallucination(persona), scale=100)
        ),
        "inventionRate": encode_row(format_estimate(means.estimate_invented(persona), scale=100)),
        "leakRate": encode_row(format_estimate(means.estimate_leaked(persona), scale=100)),
        "checkpoints": _build_checkpoints(means.build_heatmap(persona)),
    }
    found = means.estimate_range(persona)
    if found is not None:
        fields["bounds"] = {
            "overall": encode_row(_format_range(found)),
            "categories": {
                name: encode_row(_format_range(each))
                for name, each in means.estimate_category_ranges(persona).items()
            },
        }
    return {"estimates": fields}


def _format_range(found: ScoreRange) -> EstimateFields:
    """Format floor and ceiling in points of 6, and the share of the way in percent."""
    return {
        "floor": found.floor,
        "ceiling": found.ceiling,
        "gain": format_estimate(found.gain),
        "shareOfWay": format_estimate(found.share, scale=100),
        "distinguishedFromSilence": found.is_above_floor or found.is_below_floor,
    }


def _build_checkpoints(heatmap: Heatmap) -> Iterator[msgspec.Raw]:
    for place, checkpoint in enumerate(heatmap.columns):
        yield encode_row(
            {
                "range": checkpoint.label,
                "overall": _format_cell(heatmap.overall[place]),
                "hallucinationRate": _format_cell(heatmap.hallucination[place], scale=100),
                "inventionRate": _format_cell(heatmap.invented[place], scale=100),
                "leakRate": _format_cell(heatmap.leaked[place], scale=100),
                "categories": {
                    each.category: _format_cell(each.cells[place]) for each in heatmap.rows
                },
            }
        )


def _format_cell(cell: HeatmapCell, *, scale: float = 1) -> EstimateFields | None:
    return format_estimate(cell.mean, scale=scale)


def format_estimate(found: Estimate | None, *, scale: float = 1) -> EstimateFields | None:
    """Format an estimate; null where nothing was measured."""
    if found is None:
        return None
    return {
        "mean": scale * found.value,
        "low": None if found.low is None else scale * found.low,
        "high": None if found.high is None else scale * found.high,
        "method": found.method,
        "questions": found.questions,
        "trials": found.trials,
        "missing": found.missing,
    }
