"""Every mean of a run with its interval.

The means are those of the summary, to the last digit. Intervals resample questions with all their
trials, those of one template together, or whole personas where there are five or more.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary, ref

import msgspec
import numpy as np

from recall_bench.core.grouping import group_by
from recall_bench.core.scenario import CATEGORIES, Item
from recall_bench.core.schedule import is_in_plan
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.engine.runs.counted_marks import CountedMarks, CountedTrials
from recall_bench.engine.runs.heatmap_rows import (
    CELL_RESAMPLES,
    CategoryTrials,
    RowTrials,
    build_rows,
)
from recall_bench.engine.runs.leak_counts import read_boundary
from recall_bench.engine.runs.question_span import QuestionSpan, find_best_span
from recall_bench.engine.runs.result_records import encode_row
from recall_bench.engine.runs.rows import RowKind, RowTable
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import CountedTrial, ScoreRange, estimate_score_range
from recall_bench.engine.runs.summary import list_names
from recall_bench.engine.runs.trials import TrialTable, read_trials
from recall_bench.metrics.bootstrap import LEVEL, RESAMPLES, SEED, Ints
from recall_bench.metrics.estimate import Estimate, MarkTally, estimate_tallies

_Categories = Mapping[str, Sequence[str]]
"""The category of each question of each persona."""


def build_heatmaps(folder: RunFolder, means: "RunEstimates | None" = None) -> tuple[RowTable, ...]:
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


class _Headline(NamedTuple):
    """The points and the rates of some trials."""

    points: Estimate | None
    hallucination: Estimate | None
    invented: Estimate | None
    leaked: Estimate | None


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
        # No strong reference: `_opened` would keep each folder for ever.
        self._folder, self._path = ref(folder), folder.path
        self._scores = scores
        self._personas = folder.scenarios
        self._scenarios = folder.states.scenarios
        boundaries = {name: read_boundary(folder, name) for name in self._personas}
        self._marks = CountedMarks(self._scenarios, boundaries, scores)
        found = (item.truth.category for name in self._personas for item in self._get_items(name))
        self._categories = tuple(
            name for name in list_names(found, CATEGORIES) if is_in_plan(name, folder.plan)
        )
        self._named: _Categories = {
            name: [item.truth.category for item in self._get_items(name)] for name in self._personas
        }
        places = {name: number for number, name in enumerate(self._categories)}
        named, kinds = self._marks.number_kinds(_get_category)
        self._kinds = np.array([*(places.get(name, -1) for name in named), -1], np.int64)[kinds]
        """The place of the category of each question; -1 for one that is not asked."""
        self._eligible: dict[tuple[str, int], Counter[str]] = {}
        self._headlines: dict[str | None, _Headline] = {}
        self._ranges: dict[str | None, ScoreRange | None] = {}
        self._category_ranges: dict[str | None, dict[str, ScoreRange]] = {}
        self._spans: dict[tuple[str, ...], QuestionSpan | None] = {}
        self._grown = {name: _list_grown(self._scenarios[name]) for name in self._personas}

    def estimate_overall(self, persona: str | None = None) -> Estimate | None:
        """Estimate the mean points of a persona, or of all."""
        return self._estimate_headline(persona).points

    def estimate_hallucination(self, persona: str | None = None) -> Estimate | None:
        """Estimate the hallucination rate of a persona, or of all."""
        return self._estimate_headline(persona).hallucination

    def estimate_invented(self, persona: str | None = None) -> Estimate | None:
        """Estimate the share of a persona's answers, or of all, that are invented."""
        return self._estimate_headline(persona).invented

    def estimate_leaked(self, persona: str | None = None) -> Estimate | None:
        """Estimate the share of answers that leak, of those in which a leak could be noticed."""
        return self._estimate_headline(persona).leaked

    def _estimate_headline(self, persona: str | None) -> "_Headline":
        """Estimate all figures of a persona, or of all, together; once."""
        persona = self._name_only_persona(persona)
        if persona not in self._headlines:
            trials = self._marks.read(self._list_personas(persona))
            tallies = _tally_all(trials, self._choose_resamples(persona))
            self._headlines[persona] = _Headline(*self._estimate(tallies))
        return self._headlines[persona]

    def estimate_by(
        self, kind: Callable[[Item], str | None], persona: str | None = None
    ) -> dict[str, KindEstimates]:
        """Estimate each kind of question; those without a kind are left out."""
        names, kinds = self._marks.number_kinds(kind)
        trials = self._marks.read(self._list_personas(persona))
        asked = kinds[trials.question]
        groups = {
            name: trials.select(asked == number)
            for number, name in enumerate(names)
            if number in asked
        }
        tallies = [
            tally
            for each in groups.values()
            for tally in (
                each.tally_points(CELL_RESAMPLES),
                each.tally_invented(CELL_RESAMPLES),
                each.tally_leaked(CELL_RESAMPLES),
            )
        ]
        means = iter(self._estimate(tallies))
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
                self._scenarios,
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
        if all(self._scenarios[name].bounds is None for name in self._list_personas(persona)):
            return {}
        groups = _group_trials(self._iterate_all(persona), self._named)
        ranges = {
            name: estimate_score_range(groups[name], self._scenarios, resamples=CELL_RESAMPLES)
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
        trials = (self._marks.read(names, place) for place in columns)
        return tuple(self._estimate(each.tally_points(CELL_RESAMPLES) for each in trials))

    def build_heatmap(
        self, persona: str | None = None, places: Sequence[int] | None = None
    ) -> RowTable:
        """Build the rows over all checkpoints, or over those in these places."""
        names = self._list_personas(persona)
        shown = self._list_places(names, places)
        columns = tuple(
            self._scenarios[names[0]].checkpoint_plans[place].checkpoint for place in shown
        )
        parts, whole = [self._marks.read(names, place) for place in shown], self._marks.read(names)
        eligible = [self._count_eligible(names, place) for place in shown]
        ranges = self.estimate_category_ranges(persona)
        trials = RowTrials(
            personas=names,
            columns=columns,
            trials=parts,
            eligible=tuple(counts.total() for counts in eligible),
            categories={
                name: CategoryTrials(
                    trials=[self._select_category(part, number) for part in parts],
                    whole=self._select_category(whole, number),
                    eligible=tuple(counts[name] for counts in eligible),
                    bounds=ranges.get(name),
                )
                for number, name in enumerate(self._categories)
            },
            same=self._select_same(names, shown),
            bounds=self.estimate_range(persona),
            whole=whole,
            total_resamples=self._choose_resamples(persona),
            numbers=self._marks.numbers,
            read_table=self._read_table,
        )
        return RowTable(persona=persona, columns=columns, rows=build_rows(trials))

    def _read_table(self) -> TrialTable:
        return self._scores or read_trials(self._folder() or RunFolder.open(self._path))

    def _select_category(self, trials: CountedTrials, number: int) -> CountedTrials:
        return trials.select(self._kinds[trials.question] == number)

    def _select_same(
        self, names: tuple[str, ...], places: Sequence[int]
    ) -> list[CountedTrials | None]:
        """Select the same questions at each of these checkpoints that their span includes.

        None at the others; empty if fewer than two of them are in the span.
        """
        span = self._find_span(names) if len(places) > 1 else None
        if span is None or sum(span.first <= place <= span.last for place in places) < 2:
            return []
        parts: list[CountedTrials | None] = []
        for place in places:
            part = self._read_grown(names, place)
            is_followed = span.first <= place <= span.last
            chosen = np.isin(part.question, span.questions)
            parts.append(part.select(chosen) if is_followed else None)
        return parts

    def _find_span(self, names: tuple[str, ...]) -> QuestionSpan | None:
        """Find the span of some personas; None where each checkpoint asks the same questions."""
        if names not in self._spans:
            self._spans[names] = self._find_span_anew(names)
        return self._spans[names]

    def _find_span_anew(self, names: tuple[str, ...]) -> QuestionSpan | None:
        if self._marks.has_scores or not names:
            return None
        plans = [self._scenarios[name].checkpoint_plans for name in names]
        days = {
            place: max(each.cutoff for each in at if each.asked)
            for place, at in enumerate(zip(*plans, strict=True))
            if any(each.asked for each in at)
        }
        asked, counted = [], []
        for place in days:
            trials = self._read_grown(names, place)
            asked.append(self._count_trials(trials))
            counted.append(self._count_trials(trials.select_counted()))
        if not any((each != asked[0]).any() for each in asked if each.any()):
            return None
        repeats = self._scenarios[names[0]].repeats
        span = find_best_span(np.stack(counted, axis=1) == repeats, list(days.values()))
        if span is None:
            return None
        places = list(days)
        return replace(span, first=places[span.first], last=places[span.last])

    def _count_trials(self, trials: CountedTrials) -> Ints:
        """Count the trials of each question of the run."""
        return np.bincount(trials.question, minlength=len(self._marks.numbers.template))

    def _read_grown(self, names: Iterable[str], place: int) -> CountedTrials:
        """Read the trials of the personas whose story went on since the checkpoint before."""
        return self._marks.read([name for name in names if place in self._grown[name]], place)

    def _estimate(self, tallies: Iterable[MarkTally]) -> list[Estimate | None]:
        return estimate_tallies(tallies, self._marks.numbers)

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
        count = len(self._scenarios[names[0]].checkpoint_plans) if names else 0
        return range(count) if places is None else places

    def _get_items(self, persona: str) -> tuple[Item, ...]:
        return self._scenarios[persona].items

    def _iterate_all(self, persona: str | None) -> Iterator[CountedTrial]:
        for name in self._list_personas(persona):
            for place in range(len(self._scenarios[name].checkpoint_plans)):
                yield from self._iterate_trials((name,), place)

    def _iterate_trials(self, personas: Iterable[str], place: int) -> Iterator[CountedTrial]:
        for name in personas:
            states = self._scenarios[name]
            for repeat, item in states.list_owed_trials(place):
                yield CountedTrial(name, item, states.get_status(place, repeat, item))

    def _count_eligible(self, personas: Iterable[str], place: int) -> Counter[str]:
        """Count the eligible questions of each category; those of a persona are counted once."""
        total: Counter[str] = Counter()
        for name in personas:
            if (name, place) not in self._eligible:
                plan, names = self._scenarios[name].checkpoint_plans[place], self._named[name]
                self._eligible[name, place] = Counter([names[item] for item in plan.eligible])
            total += self._eligible[name, place]
        return total


def _list_grown(states: ScenarioStates) -> frozenset[int]:
    """The places at which questions were asked for the first time after another day."""
    first: dict[int, int] = {}
    for place, plan in enumerate(states.checkpoint_plans):
        if plan.asked:
            first.setdefault(plan.cutoff, place)
    return frozenset(first.values())


def _tally_all(trials: CountedTrials, resamples: int) -> Iterator[MarkTally]:
    """Tally the figures of a headline, one after another, in its order."""
    yield trials.tally_points(resamples)
    yield trials.tally_ungrounded(resamples)
    yield trials.tally_invented(resamples)
    yield trials.tally_leaked(resamples)


def _group_trials(
    trials: Iterable[CountedTrial], categories: _Categories
) -> dict[str, list[CountedTrial]]:
    return group_by(trials, lambda trial: categories[trial.persona][trial.item])


def _get_category(item: Item) -> str:
    return item.truth.category


EstimateFields = dict[str, object]


def build_estimates(means: RunEstimates, persona: str | None = None) -> EstimateFields:
    """Build the estimates of a persona, or of all: overall, and at each checkpoint."""
    table = means.build_heatmap(persona)
    fields: EstimateFields = {
        "level": LEVEL,
        "seed": SEED,
        "overall": encode_row(format_estimate(means.estimate_overall(persona))),
        "hallucinationRate": encode_row(
            format_estimate(means.estimate_hallucination(persona), scale=100)
        ),
        "inventionRate": encode_row(format_estimate(means.estimate_invented(persona), scale=100)),
        "leakRate": encode_row(format_estimate(means.estimate_leaked(persona), scale=100)),
        "rows": encode_row(_list_row_heads(table)),
        "checkpoints": _build_checkpoints(table),
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


def _list_row_heads(table: RowTable) -> list[EstimateFields]:
    """List what the fields of a checkpoint are, so that a reader need not know them."""
    return [
        {
            "key": row.key,
            "name": row.name,
            "scale": row.scale.name,
            **({} if row.note is None else {"note": row.note, "absent": row.absent}),
        }
        for row in table.rows
        if row.kind != RowKind.CATEGORY and not row.is_in_files_only
    ]


def _build_checkpoints(table: RowTable) -> Iterator[msgspec.Raw]:
    for place, checkpoint in enumerate(table.columns):
        fields: EstimateFields = {"range": checkpoint.label}
        categories: EstimateFields = {}
        for row in table.rows:
            is_category = row.kind is RowKind.CATEGORY
            mean = format_estimate(row.cells[place], scale=row.scale.file_factor)
            (categories if is_category else fields)[row.name if is_category else row.key] = mean
        yield encode_row({**fields, "categories": categories})


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
