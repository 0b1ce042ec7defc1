"""Every mean of a run with its interval.

The means are those of the summary, to the last digit. Intervals resample questions with all their
trials, those of one template together, or whole personas where there are five or more.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from recall_bench.core.scenario import CATEGORIES, Item
from recall_bench.core.schedule import is_in_plan
from recall_bench.core.trial_states import TrialState
from recall_bench.engine.runs.counted_marks import (
    CountedMarks,
    CountedTrials,
    QuestionSpan,
    find_best_span,
)
from recall_bench.engine.runs.heatmap_rows import (
    CELL_RESAMPLES,
    CategoryTrials,
    RowKind,
    RowTable,
    RowTrials,
    build_rows,
)
from recall_bench.engine.runs.leak_counts import read_boundary
from recall_bench.engine.runs.result_records import encode_row
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import (
    BoundedTrial,
    ScoreRange,
    bound_trial,
    estimate_bounded,
)
from recall_bench.engine.runs.summary import list_names
from recall_bench.engine.runs.trials import TrialTable, map_templates, read_trials
from recall_bench.metrics.bootstrap import LEVEL, RESAMPLES, SEED, Ints, TemplateNames
from recall_bench.metrics.estimate import Estimate, MarkTally, estimate_tallies

T = TypeVar("T")


def build_heatmaps(folder: RunFolder, means: "RunEstimates | None" = None) -> tuple[RowTable, ...]:
    """Build the heatmap of all personas where there are several, then that of each."""
    means = means or RunEstimates.get(folder)
    heatmaps = tuple(means.build_heatmap(name) for name in folder.scenarios)
    return (means.build_heatmap(), *heatmaps) if len(heatmaps) > 1 else heatmaps


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

    @classmethod
    def get(cls, folder: RunFolder, table: TrialTable | None = None) -> "RunEstimates":
        """Return the estimates of a folder, shared by everything that reads it.

        With a table that a protocol scores, they are of its scores.
        """
        if table is not None and table.scale is not None:
            return cls(folder, table)
        return folder.compute_once("estimates", cls)

    def __init__(self, folder: RunFolder, scores: TrialTable | None = None) -> None:
        """With `scores`, a table with a scale, the points are its scores."""
        self._folder = folder
        self._scores = scores
        self._personas = folder.scenarios
        self._scenarios = folder.states.scenarios
        boundaries = {name: read_boundary(folder, name) for name in self._personas}
        self._marks = CountedMarks(self._scenarios, boundaries, scores)
        self._named = {
            name: [item.truth.category for item in self._scenarios[name].items]
            for name in self._personas
        }
        names = (category for categories in self._named.values() for category in categories)
        self._categories = tuple(
            name for name in list_names(names, CATEGORIES) if is_in_plan(name, folder.plan)
        )
        places = {name: number for number, name in enumerate(self._categories)}
        named, kinds = self._marks.number_kinds(lambda item: item.truth.category)
        self._kinds = np.array([*(places.get(name, -1) for name in named), -1], np.int64)[kinds]
        """The place of the category of each question; -1 for one that is not asked."""
        self._computed: dict[tuple[object, ...], Any] = {}

    def _compute_once(self, *key: object, compute: Callable[[], T]) -> T:
        if key not in self._computed:
            self._computed[key] = compute()
        figure: T = self._computed[key]
        return figure

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

    def _estimate_headline(self, persona: str | None) -> _Headline:
        """Estimate all figures of a persona, or of all, together; once."""
        persona = self._name_only_persona(persona)

        def compute() -> _Headline:
            trials = self._marks.read(self._list_personas(persona))
            resamples = self._choose_resamples(persona)
            tallies = (
                trials.tally_points(resamples),
                trials.tally_ungrounded(resamples),
                trials.tally_invented(resamples),
                trials.tally_leaked(resamples),
            )
            return _Headline(*self._estimate(tallies))

        return self._compute_once("headline", persona, compute=compute)

    def estimate_by(
        self, kind: Callable[[Item], str | None], persona: str | None = None
    ) -> dict[str, KindEstimates]:
        """Estimate each kind of question; those without a kind are left out."""
        names, kinds = self._marks.number_kinds(kind)
        trials = self._marks.read(self._list_personas(persona))
        kind_of_trial = kinds[trials.question]
        groups = {
            name: trials.select(kind_of_trial == number)
            for number, name in enumerate(names)
            if number in kind_of_trial
        }
        tallies = (
            tally
            for group in groups.values()
            for tally in (
                group.tally_points(CELL_RESAMPLES),
                group.tally_invented(CELL_RESAMPLES),
                group.tally_leaked(CELL_RESAMPLES),
            )
        )
        means = iter(self._estimate(tallies))
        return {name: KindEstimates(next(means), next(means), next(means)) for name in groups}

    def estimate_range(self, persona: str | None = None) -> ScoreRange | None:
        """Estimate where the score of a persona, or of all, lies between floor and ceiling.

        None where the run has no bounds.
        """
        persona = self._name_only_persona(persona)

        def compute() -> ScoreRange | None:
            groups = self._group_bounded(persona)
            every = [trial for group in groups.values() for trial in group]
            return estimate_bounded(every, self._templates, self._choose_resamples(persona))

        return self._compute_once("range", persona, compute=compute)

    def estimate_category_ranges(self, persona: str | None = None) -> dict[str, ScoreRange]:
        """Estimate the range of each category, over all checkpoints."""
        persona = self._name_only_persona(persona)

        def compute() -> dict[str, ScoreRange]:
            groups = self._group_bounded(persona)
            ranges = {
                name: estimate_bounded(groups[name], self._templates, CELL_RESAMPLES)
                for name in self._categories
                if name in groups
            }
            return {name: span for name, span in ranges.items() if span is not None}

        return self._compute_once("categories", persona, compute=compute)

    def _group_bounded(self, persona: str | None) -> dict[str, list[BoundedTrial | None]]:
        """Group the trials that count by category, None for one without a floor."""
        groups: dict[str, list[BoundedTrial | None]] = {}
        for name in self._list_personas(persona):
            states, categories = self._scenarios[name], self._named[name]
            for place in range(len(states.checkpoint_plans)):
                for repeat, number in states.list_owed_trials(place):
                    status = states.get_status(place, repeat, number)
                    if status.state in (TrialState.JUDGED, TrialState.NOT_ANSWERED):
                        bounded = bound_trial(
                            name, states.items[number].id, status.composite, states.bounds
                        )
                        groups.setdefault(categories[number], []).append(bounded)
        return groups

    @property
    def _templates(self) -> TemplateNames:
        return map_templates({name: self._scenarios[name].items for name in self._personas})

    def estimate_checkpoints(
        self, persona: str | None = None, places: Sequence[int] | None = None
    ) -> tuple[Estimate | None, ...]:
        """Estimate the mean points at each checkpoint, or at those in these places."""
        names = self._list_personas(persona)
        trials = (self._marks.read(names, place) for place in self._list_places(names, places))
        return tuple(self._estimate(part.tally_points(CELL_RESAMPLES) for part in trials))

    def build_heatmap(
        self, persona: str | None = None, places: Sequence[int] | None = None
    ) -> RowTable:
        """Build the rows over all checkpoints, or over those in these places."""
        names = self._list_personas(persona)
        columns_shown = self._list_places(names, places)
        plans = self._scenarios[names[0]].checkpoint_plans if names else ()
        columns = tuple(plans[place].checkpoint for place in columns_shown)
        parts, whole = (
            [self._marks.read(names, place) for place in columns_shown],
            self._marks.read(names),
        )
        eligible = [self._count_eligible(names, place) for place in columns_shown]
        ranges = self.estimate_category_ranges(persona)

        def select(trials: CountedTrials, number: int) -> CountedTrials:
            return trials.select(self._kinds[trials.question] == number)

        trials = RowTrials(
            personas=names,
            columns=columns,
            trials=parts,
            eligible=tuple(counts.total() for counts in eligible),
            categories={
                name: CategoryTrials(
                    trials=[select(part, number) for part in parts],
                    whole=select(whole, number),
                    eligible=tuple(counts[name] for counts in eligible),
                    bounds=ranges.get(name),
                )
                for number, name in enumerate(self._categories)
            },
            same=self._select_same(names, columns_shown),
            bounds=self.estimate_range(persona),
            whole=whole,
            total_resamples=self._choose_resamples(persona),
            numbers=self._marks.numbers,
            read_table=lambda: self._scores or read_trials(self._folder),
        )
        return RowTable(persona=persona, columns=columns, rows=build_rows(trials))

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
            parts.append(
                part.select(np.isin(part.question, span.questions)) if is_followed else None
            )
        return parts

    def _find_span(self, names: tuple[str, ...]) -> QuestionSpan | None:
        """Find the span of some personas; None where each checkpoint asks the same questions."""

        def count_trials(trials: CountedTrials) -> Ints:
            return np.bincount(trials.question, minlength=len(self._marks.numbers.template))

        def compute() -> QuestionSpan | None:
            if self._marks.has_scores or not names:
                return None
            plans = [self._scenarios[name].checkpoint_plans for name in names]
            days = {
                place: max(plan.cutoff for plan in at if plan.asked)
                for place, at in enumerate(zip(*plans, strict=True))
                if any(plan.asked for plan in at)
            }
            parts = [self._read_grown(names, place) for place in days]
            counts_asked = [count_trials(part) for part in parts]
            if not any(
                (counts != counts_asked[0]).any() for counts in counts_asked if counts.any()
            ):
                return None
            counted = np.stack([count_trials(part.select_counted()) for part in parts], axis=1)
            repeats = self._scenarios[names[0]].repeats
            span = find_best_span(counted == repeats, list(days.values()))
            if span is None:
                return None
            listed = list(days)
            return replace(span, first=listed[span.first], last=listed[span.last])

        return self._compute_once("span", names, compute=compute)

    def _read_grown(self, names: Iterable[str], place: int) -> CountedTrials:
        """Read the trials of the personas whose story went on since the checkpoint before."""
        grown = []
        for name in names:
            plans = self._scenarios[name].checkpoint_plans
            cutoff, asked_before = (
                plans[place].cutoff,
                (plan for plan in plans[:place] if plan.asked),
            )
            if plans[place].asked and all(plan.cutoff != cutoff for plan in asked_before):
                grown.append(name)
        return self._marks.read(grown, place)

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

    def _count_eligible(self, personas: Iterable[str], place: int) -> Counter[str]:
        """Count the eligible questions of each category."""
        total: Counter[str] = Counter()
        for name in personas:
            plan, categories = self._scenarios[name].checkpoint_plans[place], self._named[name]
            total.update([categories[item] for item in plan.eligible])
        return total


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
    span = means.estimate_range(persona)
    if span is not None:
        fields["bounds"] = {
            "overall": encode_row(_format_range(span)),
            "categories": {
                name: encode_row(_format_range(part))
                for name, part in means.estimate_category_ranges(persona).items()
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
