"""How much the score of a run depends on its judge.

The first judge of a plan gives the score. Where the plan names other judges, all of them judge the
same answers, and what differs is the judges' doing alone: the range of their scores, how often two
of them agree, and the answers that some pass and others fail. A verdict passes unless it is a
failure, as for a review; the score of a dataset's protocol passes where it is full.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from statistics import fmean
from typing import Any, Self

import numpy as np

from recall_bench.core.errors import UsageError
from recall_bench.core.event import Judged, TrialResult
from recall_bench.core.plain_text import clean_text
from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.scenario import Item
from recall_bench.core.trial_states import TrialState, TrialStatus
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import PASS, SCALES, JudgeCard
from recall_bench.engine.runs.estimates import RunEstimates, format_estimate
from recall_bench.engine.runs.result_records import encode_row
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import OtherVerdictCounts, summarise
from recall_bench.engine.runs.trials import TrialTable, read_trials
from recall_bench.metrics.agreement import MarkPairs, compute_pass_figures, measure_agreement
from recall_bench.metrics.bootstrap import Interval, number_names
from recall_bench.metrics.estimate import Estimate


class JudgeScore(Record, frozen=True, kw_only=True):
    """The score of a run by one judge."""

    name: str
    """As `--judge` of `gate` takes it."""
    card: JudgeCard
    score: Estimate | None
    """Of six points; None where it has judged nothing."""
    missing: int
    """Answers without its verdict."""
    usage: Usage
    """What its verdicts cost."""


class JudgePair(ComputedRecord, frozen=True, kw_only=True):
    """How often two judges agree whether an answer passes."""

    first: str
    second: str
    answers: int
    """Answers that both judged."""
    same: int
    """Those that both pass or both fail."""
    agreement: float | None
    """The share of the same; None without answers."""
    agreement_interval: Interval | None
    kappa: float | None
    """Cohen's kappa; None where it is undefined."""
    kappa_interval: Interval | None
    marks: dict[str, float | None]
    """The share of the same pass or failure by mark; empty where a protocol gives a score."""


class JudgedCategory(ComputedRecord, frozen=True, kw_only=True):
    """One category by every judge."""

    name: str
    scores: tuple[float | None, ...]
    """Of six points, in the order of the judges."""
    answers: int
    """Answers that all judges judged."""
    splits: int
    """Those that some pass and others fail."""


class SplitTrial(Record, frozen=True, kw_only=True):
    """An answer that some judges pass and others fail."""

    trial: Trial
    category: str
    points: tuple[float, ...]
    """Of six, in the order of the judges."""
    passes: tuple[bool, ...]

    @property
    def spread(self) -> float:
        """The points between the highest and the lowest verdict."""
        return max(self.points) - min(self.points)


class JudgeSensitivity(ComputedRecord, frozen=True, kw_only=True):
    """The score of a run by each of its judges, and where they differ."""

    judges: tuple[JudgeScore, ...]
    """The first gives the score of the run."""
    low: float | None
    high: float | None
    """The lowest and the highest score of a judge, of six points."""
    answers: int
    """Answers that all judges judged."""
    splits: tuple[SplitTrial, ...]
    """The answers that some pass and others fail, those with the widest spread first."""
    pairs: tuple[JudgePair, ...]
    categories: tuple[JudgedCategory, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The judges' names."""
        return tuple(judge.name for judge in self.judges)

    @property
    def weakest_pair(self) -> JudgePair | None:
        """The two judges that agree least; None where no two judged the same answers."""
        pairs = [pair for pair in self.pairs if pair.agreement is not None]
        return min(pairs, key=lambda pair: pair.agreement or 0.0, default=None)


@dataclass(frozen=True)
class JudgeView:
    """A run as one of its judges sees it."""

    name: str
    folder: RunFolder
    table: TrialTable
    means: RunEstimates
    counts: OtherVerdictCounts | None
    """None for the first judge."""
    usage: Usage

    @classmethod
    def read_all(cls, folder: RunFolder) -> tuple[Self, ...]:
        """Read the run by each of its judges, the first one first, by marks."""
        return tuple(
            cls.make(folder, view, read_trials(view), RunEstimates.get(view))
            for view in open_judge_views(folder)
        )

    @classmethod
    def make(
        cls, folder: RunFolder, view: RunFolder, table: TrialTable, means: RunEstimates
    ) -> Self:
        """Make the view of the judge that `view` of the folder was opened for."""
        summary, place = summarise(folder), view.other_judge
        return cls(
            name=folder.plan.judge_names[0 if place is None else place + 1],
            folder=view,
            table=table,
            means=means,
            counts=None if place is None else summary.other_verdicts[place],
            usage=summary.costs.first if place is None else summary.costs.others[place],
        )

    @cached_property
    def passes(self) -> Mapping[Trial, bool]:
        """Whether each answer that it judged passes."""
        if self.table.scale is None:
            return {
                row.trial: row.status.is_pass
                for row in self.table.rows
                if row.status.state is TrialState.JUDGED
            }
        return {
            row.trial: row.score >= 1.0
            for row in self.table.rows
            if row.score is not None and row.status.state is TrialState.MEASURED
        }

    @cached_property
    def statuses(self) -> Mapping[Trial, TrialStatus]:
        """The marks of each answer that it judged; empty where a protocol gives a score."""
        if self.table.scale is not None:
            return {}
        return {row.trial: row.status for row in self.table.rows if row.trial in self.passes}

    @property
    def missing(self) -> int:
        """Answers without its verdict."""
        if self.counts is None:
            return self.table.missing
        return self.counts.failed + self.counts.open


def open_judge_views(folder: RunFolder) -> tuple[RunFolder, ...]:
    """Open the run by each of its judges, the first one first; once for each open folder."""

    def open_others(folder: RunFolder) -> list[RunFolder]:
        places = range(len(folder.plan.other_judges))
        return [RunFolder.open(folder.path, other_judge=place) for place in places]

    return (folder, *folder.compute_once("judge views", open_others))


def find_judge_view(folder: RunFolder, name: str | None) -> RunFolder:
    """Find the run by the judge of this name, or by the first one; UsageError if it has none."""
    names = folder.plan.judge_names
    if name is None:
        return folder
    if name not in names:
        raise UsageError(
            f"--judge: {clean_text(name)!r} did not judge {folder.path}; its judges are "
            f"{', '.join(names)}"
        )
    return open_judge_views(folder)[names.index(name)]


def measure_sensitivity(views: Sequence[JudgeView]) -> JudgeSensitivity | None:
    """Measure how much the score depends on the judge; None with fewer than two judges."""
    if len(views) < 2:
        return None
    scores = [
        JudgeScore(
            name=view.name,
            card=view.folder.plan.judge,
            score=view.means.estimate_overall(),
            missing=view.missing,
            usage=view.usage,
        )
        for view in views
    ]
    values = [score.score.value for score in scores if score.score is not None]
    shared = _list_shared(views)
    splits = list(_find_splits(views, shared))
    return JudgeSensitivity(
        judges=tuple(scores),
        low=min(values, default=None),
        high=max(values, default=None),
        answers=len(shared),
        splits=tuple(sorted(splits, key=lambda each: (-each.spread, str(each.trial)))),
        pairs=tuple(_compare_pair(one, other) for one, other in combinations(views, 2)),
        categories=tuple(_list_categories(views, shared, splits)),
    )


def _list_shared(views: Sequence[JudgeView]) -> list[Trial]:
    first, *others = views
    return [trial for trial in first.passes if all(trial in other.passes for other in others)]


def _find_splits(views: Sequence[JudgeView], shared: Sequence[Trial]) -> Iterator[SplitTrial]:
    categories = {row.trial: row.category for row in views[0].table.rows}
    for trial in shared:
        passes = tuple(view.passes[trial] for view in views)
        if len(set(passes)) > 1:
            points = tuple(view.table.points[trial] for view in views)
            yield SplitTrial(trial=trial, category=categories[trial], points=points, passes=passes)


def _list_categories(
    views: Sequence[JudgeView], shared: Sequence[Trial], splits: Sequence[SplitTrial]
) -> Iterator[JudgedCategory]:
    categories = {row.trial: row.category for row in views[0].table.rows}
    for name in summarise(views[0].folder).asked_categories:
        points = [
            [value for trial, value in view.table.points.items() if categories[trial] == name]
            for view in views
        ]
        if any(points):
            yield JudgedCategory(
                name=name,
                scores=tuple(fmean(point) if point else None for point in points),
                answers=sum(categories[trial] == name for trial in shared),
                splits=sum(split.category == name for split in splits),
            )


def _compare_pair(one: JudgeView, other: JudgeView) -> JudgePair:
    both = [trial for trial in one.passes if trial in other.passes]
    verdicts, label = (
        np.array([view.passes[trial] for trial in both], dtype=np.int64) for view in (one, other)
    )
    if not both:
        nothing: dict[str, Any] = {"agreement": None, "agreement_interval": None}
        nothing |= {"kappa": None, "kappa_interval": None, "marks": {}}
        return JudgePair(first=one.name, second=other.name, answers=0, same=0, **nothing)
    question = number_names([f"{trial.scenario}/{trial.item}" for trial in both])
    agreement = measure_agreement(
        MarkPairs(given=verdicts, label=label, question=question, top=1, level=1)
    )
    return JudgePair(
        first=one.name,
        second=other.name,
        answers=len(both),
        same=int((verdicts == label).sum()),
        agreement=agreement.accuracy,
        agreement_interval=agreement.intervals["accuracy"],
        kappa=agreement.kappa,
        kappa_interval=agreement.intervals["kappa"],
        marks={mark: _compare_mark(one, other, both, mark) for mark in SCALES}
        if one.statuses and other.statuses
        else {},
    )


def _compare_mark(
    one: JudgeView, other: JudgeView, both: Sequence[Trial], mark: str
) -> float | None:
    """The share of answers that both judges pass, or both fail, in one mark."""
    passed, positive = (
        np.array([getattr(view.statuses[trial], mark) >= PASS[mark] for trial in both])
        for view in (one, other)
    )
    return float(compute_pass_figures(np.ones((1, len(both))), passed, positive)["accuracy"][0])


class SplitVerdict(Record, frozen=True, kw_only=True):
    """What one judge says of an answer."""

    judge: str
    passes: bool
    points: float
    """Of six."""
    marks: dict[str, int]
    """Empty where a protocol gives a score."""
    reason: str


class SplitAnswer(Record, frozen=True, kw_only=True):
    """An answer that judges split on, with everything they say."""

    trial: str
    category: str
    question: str
    reference: str
    answer: str
    verdicts: tuple[SplitVerdict, ...]


def describe_split_answers(folder: RunFolder, found: JudgeSensitivity) -> Iterator[SplitAnswer]:
    """Describe every answer that the judges of a run split on, in their order."""
    splits = {split.trial: split for split in found.splits}
    items = {(trial.scenario, trial.item) for trial in splits}
    texts: dict[Trial, SplitAnswer] = {}
    for scenario in folder.scenarios:
        is_wanted = partial(_is_listed, scenario, items)
        for result in folder.read_results_of(scenario, is_wanted):
            split = splits.get(result.trial)
            if split is not None:
                texts[result.trial] = _describe_split(result, split, found.names)
    for split in found.splits:
        yield texts[split.trial]


def _is_listed(scenario: str, items: Collection[tuple[str, str]], item: Item) -> bool:
    return (scenario, item.id) in items


def _describe_split(result: TrialResult, split: SplitTrial, names: Sequence[str]) -> SplitAnswer:
    first = result.outcome.verdict if isinstance(result.outcome, Judged) else None
    others = (None if other is None else other.verdict for other in result.others)
    return SplitAnswer(
        trial=str(result.trial),
        category=split.category,
        question=result.item.text,
        reference=result.item.truth.reference,
        answer="" if result.answered is None else result.answered.answer.text,
        verdicts=tuple(
            SplitVerdict(
                judge=name,
                passes=passes,
                points=points,
                marks={} if verdict is None else verdict.marks,
                reason="" if verdict is None else verdict.reason,
            )
            for name, passes, points, verdict in zip(
                names, split.passes, split.points, (first, *others), strict=True
            )
        ),
    )


def build_judges(folder: RunFolder) -> dict[str, object]:
    """Build the part of `result.json` about several judges; nothing for a run with one."""
    sensitivity = None
    if folder.plan.other_judges and folder.plan.dataset is None:
        sensitivity = measure_sensitivity(JudgeView.read_all(folder))
    if sensitivity is None:
        return {}
    judges = (
        {"name": judge.name, "score": format_estimate(judge.score), "missing": judge.missing}
        for judge in sensitivity.judges
    )
    pairs = (
        {
            "first": pair.first,
            "second": pair.second,
            "answers": pair.answers,
            "same": pair.same,
            "agreement": pair.agreement,
            "agreementInterval": pair.agreement_interval,
            "kappa": pair.kappa,
            "kappaInterval": pair.kappa_interval,
            "marks": pair.marks,
        }
        for pair in sensitivity.pairs
    )
    categories = (
        {
            "category": category.name,
            "scores": category.scores,
            "answers": category.answers,
            "splits": category.splits,
        }
        for category in sensitivity.categories
    )
    fields: dict[str, object] = {
        "judges": map(encode_row, judges),
        "low": sensitivity.low,
        "high": sensitivity.high,
        "answers": sensitivity.answers,
        "splits": len(sensitivity.splits),
        "pairs": map(encode_row, pairs),
        "categories": map(encode_row, categories),
    }
    return {"judges": fields}
