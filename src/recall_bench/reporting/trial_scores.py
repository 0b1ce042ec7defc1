"""The score of every trial of a run, whatever it was asked: marks, or a protocol's figure.

Runs on personas have marks. Runs on public datasets have the figures of their protocol: what a
judge found, what is computed from the answer, and what was retrieved. All are computed from the
journal alone; figures that need the histories are only in the report of `eval`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.event import NotAnswered, TrialResult
from recall_bench.core.plain_text import suggest_or_list
from recall_bench.core.plan import DatasetCard, Trial
from recall_bench.core.record import Record, group_by
from recall_bench.engine.runs.counted_marks import RATE
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.heatmap_rows import CELL_RESAMPLES
from recall_bench.engine.runs.judge_sensitivity import (
    JudgeSensitivity,
    JudgeView,
    measure_sensitivity,
    open_judge_views,
)
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import (
    ScoreScale,
    TrialTable,
    explain_missing_marks,
    read_trials,
)
from recall_bench.judging.methodologies import (
    AnswerCheck,
    Methodology,
    Ranking,
    find_methodology,
)
from recall_bench.metrics.bootstrap import TemplateNames
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.retrieval import RetrievalMeasure
from recall_bench.reporting.groups import estimate_marks
from recall_bench.reporting.protocol_scores import (
    JUDGED,
    list_judged_figures,
    score_outcome,
    score_protocols,
    score_ranking,
    select_measures,
)

_LABELS: Final = {
    JUDGED: "accuracy",
    "locomo/official": "token F1",
    "choice/letter": "accuracy",
    "personamem/official": "accuracy",
    "match/substring": "substring match",
}
"""What figures are, where their names do not say it."""

_Score = Callable[[TrialResult], float | None]


def read_scored_trials(folder: RunFolder, score: str | None = None) -> TrialTable:
    """Read the trials of a run with the score that all analyses go by.

    `score` names a figure of the dataset's protocol; by default it is the marks where there are
    some, else the first figure of the protocol that the run has. UsageError if it has no such
    figure, and without a table that has scores if it has none at all.
    """
    table = read_trials(folder)
    card = folder.plan.dataset
    if card is None:
        if score is not None:
            raise UsageError(
                f"--score: {folder.path} is a run on personas, which has marks and no figure of a "
                "protocol; leave it out"
            )
        return table
    methodology = find_own_methodology(card)
    if score is None and table.hallucinations and not (methodology and methodology.reads_store):
        return table
    if methodology is None:
        if score is not None:
            raise UsageError(f"--score: {folder.path}: {card.protocol} has no figures to choose")
        return table
    if score in methodology.counts:
        raise UsageError(
            f"--score: {score} of {folder.path} is a share of answers that are not right, and more "
            "is not better; name another figure"
        )
    name = score or next(iter(_FigureReader(folder, methodology).list_names()), None)
    return table if name is None else _choose_figure(folder, table, methodology, name, "--score")


def read_figure(folder: RunFolder, name: str, flag: str) -> TrialTable:
    """Read the trials of a run with any figure of its protocol as the score.

    UsageError, which begins with the name of the flag, if the run has no such figure.
    """
    card = folder.plan.dataset
    methodology = None if card is None else find_own_methodology(card)
    if methodology is None:
        raise UsageError(f"{flag}: {folder.path} has no figures of a protocol; leave it out")
    return _choose_figure(folder, read_trials(folder), methodology, name, flag)


def _choose_figure(
    folder: RunFolder, table: TrialTable, methodology: Methodology, name: str, flag: str
) -> TrialTable:
    figures = _FigureReader(folder, methodology)
    names = figures.list_names()
    if name not in names:
        hint = suggest_or_list(name, names, f"it has {', '.join(names[:_MOST_NAMED])}")
        raise UsageError(f"{flag}: {folder.path} has no figure {name[:60]!r}; {hint}")
    return _score_table(folder, table, methodology, name, figures.choose(name))


_MOST_NAMED = 12


def read_scores(folder: RunFolder, score: str | None = None) -> tuple[TrialTable, RunEstimates]:
    """The same, with the means of these scores."""
    table = read_scored_trials(folder, score)
    return table, RunEstimates.get(folder, table)


def measure_judges(folder: RunFolder, score: str | None = None) -> JudgeSensitivity | None:
    """Measure how much the score of a run depends on its judge; None if it has one judge.

    A protocol that has a model judge the answers is measured by that, unless `score` names another
    figure.
    """
    if not folder.plan.other_judges:
        return None
    if score is None and read_scored_trials(folder).scale is not None:
        score = JUDGED if JUDGED in list_score_names(folder) else None
    views = [
        JudgeView.make(folder, view, *read_scores(view, score)) for view in open_judge_views(folder)
    ]
    return measure_sensitivity(views)


def estimate_run(folder: RunFolder) -> tuple[ScoreScale | None, RunEstimates]:
    """What a run is scored by, and its means; trials are read only where a protocol scores them."""
    if folder.plan.dataset is None:
        return None, RunEstimates.get(folder)
    table, means = read_scores(folder)
    return table.scale, means


def list_score_names(folder: RunFolder) -> tuple[str, ...]:
    """The figures of the protocol that can be computed from the run, the first ones first."""
    card = folder.plan.dataset
    methodology = None if card is None else find_own_methodology(card)
    return () if methodology is None else _FigureReader(folder, methodology).list_names()


def find_own_methodology(card: DatasetCard) -> Methodology | None:
    """The methodology that a run was measured by; None if it is not one of this version's."""
    family, _, name = card.protocol.partition("/")
    try:
        methodology = find_methodology(family, name)
    except UsageError:
        return None
    return methodology if methodology.eval_version == card.eval_version else None


def explain_missing_scores(table: TrialTable) -> str | None:
    """Explain why a run has no score to go by; None if it has one."""
    if table.scale is not None:
        return None if table.points else f"no trial has a {table.scale.label} yet"
    return explain_missing_marks(table)


class ProtocolFigure(Record, frozen=True, kw_only=True):
    """One figure of a dataset's protocol on its own scale, from 0 to 1."""

    name: str
    label: str
    mean: Estimate | None
    """None where it applies to no trial."""
    categories: dict[str, Estimate]
    """By the dataset's own categories, those it applies to."""


def measure_figures(folder: RunFolder, table: TrialTable) -> tuple[ProtocolFigure, ...]:
    """The figures that the protocol names first, as far as the journal has them."""
    card = folder.plan.dataset
    methodology = None if card is None else find_own_methodology(card)
    if methodology is None:
        return ()
    figures = _FigureReader(folder, methodology)
    names_held = figures.list_names()
    names = [name for name in names_held if name in (*methodology.headline, *methodology.answers)]
    scores = {name: figures.choose(name) for name in names}
    marks: dict[str, dict[Trial, float]] = {name: {} for name in names}
    for scenario in folder.scenarios:
        for result in folder.results(scenario):
            for name, score in scores.items():
                if (value := score(result)) is not None:
                    marks[name][result.trial] = value
    category = {row.trial: row.category for row in table.rows}
    return tuple(
        _estimate_figure(name, mark, category, table.templates) for name, mark in marks.items()
    )


def _estimate_figure(
    name: str,
    marks: dict[Trial, float],
    category: dict[Trial, str],
    templates: TemplateNames,
) -> ProtocolFigure:
    estimate = partial(estimate_marks, limits=RATE, templates=templates, resamples=CELL_RESAMPLES)
    groups = {
        category_name: estimate({trial: marks[trial] for trial in trials})
        for category_name, trials in group_by(marks, category.__getitem__).items()
    }
    return ProtocolFigure(
        name=name,
        label=_LABELS.get(name, name),
        mean=estimate(marks),
        categories={group_name: group for group_name, group in groups.items() if group is not None},
    )


def _score_table(
    folder: RunFolder, table: TrialTable, methodology: Methodology, name: str, score: _Score
) -> TrialTable:
    results = (result for scenario in folder.scenarios for result in folder.results(scenario))
    rows = tuple(
        msgspec.structs.replace(row, score=score(result))
        for row, result in zip(table.rows, results, strict=True)
    )
    scale = ScoreScale(
        name=name,
        label=_LABELS.get(name, name),
        protocol=methodology.label,
        is_retrieval=methodology.reads_store or isinstance(score, _RetrievalFigure),
        is_stored=methodology.reads_store,
    )
    return replace(table, rows=rows, scale=scale)


class _FigureReader:
    """The figures that a run has, by name."""

    def __init__(self, folder: RunFolder, methodology: Methodology) -> None:
        self._methodology = methodology
        self._depth = folder.plan.top_k
        plan = folder.plan
        is_computed = methodology.judging is AnswerCheck.COMPUTED
        # Where a judge was to judge and there is none, only retrieval was asked for.
        self._has_answers = (plan.reader is not None or plan.system.answers) and (
            is_computed or not plan.unjudged
        )
        self._is_judged = not is_computed and not plan.unjudged

    def list_names(self) -> tuple[str, ...]:
        """The score of answers first where there are any, then in the order of the protocol."""
        answers = list(list_judged_figures(self._methodology)) if self._is_judged else []
        answers += self._methodology.answers if self._has_answers else ()
        counts = self._methodology.counts if self._is_judged else ()
        rankings = (name for name, _, _ in self._list_rankings())
        every = dict.fromkeys((*answers, *counts, *rankings))
        first = [name for name in self._methodology.headline if name in every]
        spoken = [name for name in first if name in answers]
        return tuple(dict.fromkeys((*spoken, *answers, *first, *every)))

    def choose(self, name: str) -> _Score:
        """How the figure of this name is computed."""
        if name in (*list_judged_figures(self._methodology), *self._methodology.counts):
            return _JudgedFigure(name, self._methodology)
        for figure, ranking, measure in self._list_rankings():
            if figure == name:
                return _RetrievalFigure(name, ranking, measure)
        return _AnswerFigure(name)

    def _list_rankings(self) -> Iterator[tuple[str, Ranking, RetrievalMeasure]]:
        for ranking in self._methodology.rankings:
            for measure in select_measures(ranking, self._depth):
                yield f"{ranking.level} {measure.name}", ranking, measure


class _JudgedFigure:
    """A figure of what the judge found; None where it does not apply."""

    def __init__(self, name: str, methodology: Methodology) -> None:
        self._name, self._methodology = name, methodology

    def __call__(self, result: TrialResult) -> float | None:
        text = None if result.answered is None else result.answered.answer.text
        return score_outcome(self._methodology, result.item, result.outcome, text).get(self._name)


class _AnswerFigure:
    """A score that is computed from the answer; 0 where the system gave none."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, result: TrialResult) -> float | None:
        is_failed = isinstance(result.outcome, NotAnswered)
        if result.answered is None and not is_failed:
            return None
        text = "" if result.answered is None else result.answered.answer.text
        return score_protocols((self._name,), result.item, text or "").get(self._name)


class _RetrievalFigure:
    """A figure of what was returned; 0 where the system failed, None where it does not apply."""

    def __init__(self, name: str, ranking: Ranking, measure: RetrievalMeasure) -> None:
        self._name, self._ranking, self._measure = name, ranking, measure

    def __call__(self, result: TrialResult) -> float | None:
        is_failed = isinstance(result.outcome, NotAnswered)
        if result.answered is None and not is_failed:
            return None
        passages = () if result.answered is None else result.answered.answer.passages
        scenario = result.trial.scenario
        gold = self._ranking.find_gold(scenario, result.item)
        figures = score_ranking(self._ranking, (self._measure,), scenario, gold, passages)
        if is_failed:
            return 0.0 if figures else None
        return figures.get(self._name)
