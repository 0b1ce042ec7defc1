"""The report of an evaluation as one record: what ran, its figures, and every question.

All of it can be counted again from the questions: hits carry their ids, ranks, scores and the
digests of their texts.
"""

import os
import platform
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError

import msgspec

from recall_bench.core.distribution import DISTRIBUTION, get_part_version
from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.plan import DatasetCard, Plan
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.scenario import WallTime
from recall_bench.core.verdict import JudgeCard
from recall_bench.engine.experiment import RunResult
from recall_bench.engine.runs.judge_sensitivity import JudgeSensitivity
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.datasets.eval_groups import (
    AbstentionCounts,
    EvalCounts,
    EvalGroup,
    average_categories,
    count_abstentions,
    count_outcomes,
    group_scores,
)
from recall_bench.features.datasets.question_scores import QuestionScorer, ScoredQuestion
from recall_bench.judging.eval_dataset import EvalRequest, OpenedDataset
from recall_bench.judging.methodologies import Level
from recall_bench.metrics.retrieval import BUDGETS
from recall_bench.reporting.trial_scores import measure_judges

FORMAT = "recall-bench-eval/1"
_BUDGET = re.compile(r"@(\d+)tok$")
_MIN_LIMITED = 0.95
"""Figures within a token budget are reported if for at least this share of the questions the
budget, not top_k, was the limit."""
_RANKED = tuple(f"{level} " for level in Level)
_PARTS = (DISTRIBUTION, "numpy", "bm25s", "wordllama", "msgspec")

BM25_CONTROL, NONE_CONTROL, ORACLE_CONTROL = "bm25", "none", "oracle"
_ABOUT = {
    BM25_CONTROL: "finds by words alone",
    NONE_CONTROL: "remembers nothing and says so",
    ORACLE_CONTROL: "knows where the answers are, and quotes them",
}


@dataclass(frozen=True, slots=True)
class ControlRun:
    """A control system and its run, or the reason why it was not run."""

    name: str
    finished: RunResult | None
    with_answers: bool = False
    reason: str | None = None


class ProtocolReport(Record, frozen=True, kw_only=True):
    """The protocol that the figures follow."""

    name: str
    eval_version: str
    digest: str
    about: str


class ServiceReport(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """How the system served."""

    ingest_s: float
    """Seconds to take in and settle everything."""
    p50_ms: float | None = None
    p95_ms: float | None = None
    passages: float | None = None
    """How many were delivered with an answer, on average, after the cut to the token budget."""
    tokens: float | None = None
    traced: float | None = None
    """The share of the passages that could be traced to a session."""
    summaries: float | None = None
    """The share that name a session and stand in none; they count for no session."""
    traced_to_turn: float | None = None
    """The share that could be traced to turns, whole ones; figures of turns know only these."""


class ControlReport(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a system of known worth got on the same questions."""

    name: str
    about: str
    groups: tuple[EvalGroup, ...] = ()
    abstention: AbstentionCounts | None = None
    reason: str | None = None
    """Why it has no figures: it was not run, or its run is not valid."""


class EvalReport(ComputedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One system on one dataset by one protocol."""

    format: str
    title: str
    dataset: DatasetCard
    protocol: ProtocolReport
    system: SystemCard
    reader: ReaderCard | None = None
    judge: JudgeCard | None = None
    """None where no answer was judged."""
    judges: JudgeSensitivity | None = None
    """How much the score depends on the judge; None if there was one judge."""
    request: dict[str, object] = msgspec.field(name="asked")
    """The settings of the request that can change a number."""
    plan_digest: str
    code: tuple[str, ...]
    """The versions of the harness that ran it; several if it was resumed with another."""
    at: WallTime
    active_s: float
    environment: dict[str, str]
    validity: str
    reason: str | None = None
    scenarios: int
    counts: EvalCounts
    groups: tuple[EvalGroup, ...]
    abstention: AbstentionCounts | None = None
    longest_option: float | None = None
    """What naming the longest option gets, unread: the floor that options give away themselves."""
    service: ServiceReport
    controls: tuple[ControlReport, ...] = ()
    notes: tuple[str, ...] = ()
    """What one should know of the dataset before quoting a number."""
    errata: dict[str, str] = msgspec.field(default_factory=dict)
    headline: tuple[str, ...] = ()
    histories: dict[str, tuple[tuple[int, int], ...]] = msgspec.field(default_factory=dict)
    """Of each scenario, the number of every session and how many turns it has: what a blind draw
    draws from."""
    questions: tuple[ScoredQuestion, ...] = ()
    """Without figures of rankings that are not in the headline, chance and ceiling: hits and gold
    tell them again."""


@dataclass(frozen=True, slots=True)
class ScoredQuestions:
    """All questions of a run, scored."""

    scored: tuple[ScoredQuestion, ...]
    histories: dict[str, tuple[tuple[int, int], ...]]
    """As in the report."""
    top_k: int

    @classmethod
    def score_run(
        cls, folder: RunFolder, opened: OpenedDataset, *, with_answers: bool
    ) -> "ScoredQuestions":
        """Measure every trial of a run against its dataset, one scenario in memory at a time."""
        scored: list[ScoredQuestion] = []
        histories = {}
        top_k = folder.plan.top_k
        for name in folder.scenarios:
            scenario = opened.load(name)
            histories[name] = tuple(
                (episode.day, len(episode.turns)) for episode in scenario.episodes
            )
            scorer = QuestionScorer(
                opened.methodology, scenario, depth=top_k, with_answers=with_answers
            )
            scored += map(scorer.score, folder.results(name))
        return cls(tuple(scored), histories, top_k)

    def group(self, headline: Sequence[str], *, with_intervals: bool) -> tuple[EvalGroup, ...]:
        """The figures of all of them, and of their parts."""
        scores = group_scores(self.scored, headline, with_intervals=with_intervals)
        limiting = {budget for budget in BUDGETS if self._is_limit(budget)}
        return tuple(
            _keep_budgets(group, limiting) for group in (*scores, average_categories(scores))
        )

    def drop_recountable(self, headline: Sequence[str]) -> tuple[ScoredQuestion, ...]:
        """The questions without what their hits and gold tell again.

        These are chance, ceiling, and the figures of rankings that are not in the headline.
        """
        return tuple(
            question.replace(
                chance={},
                ceiling={},
                figures={
                    name: value
                    for name, value in question.figures.items()
                    if name in headline or not name.startswith(_RANKED)
                },
            )
            for question in self.scored
        )

    def _is_limit(self, budget: int) -> bool:
        """Whether the token budget, not top_k, was the limit for nearly all questions."""
        limited = sum(
            len(question.hits) < self.top_k or sum(hit.tokens for hit in question.hits) >= budget
            for question in self.scored
        )
        return limited >= _MIN_LIMITED * len(self.scored)


def _keep_budgets(group: EvalGroup, budgets: Collection[int]) -> EvalGroup:
    """The group without figures within other token budgets than these."""
    figures = {
        name: figure
        for name, figure in group.figures.items()
        if (budget := _BUDGET.search(name)) is None or int(budget[1]) in budgets
    }
    return group.replace(figures=figures)


def build_eval_report(
    request: EvalRequest, opened: OpenedDataset, finished: RunResult, controls: Sequence[ControlRun]
) -> EvalReport:
    """Build the whole report of a run that is complete."""
    folder, plan = finished.folder, finished.folder.plan
    methodology = opened.methodology
    questions = ScoredQuestions.score_run(folder, opened, with_answers=not request.skip_qa)
    validity = finished.summary.validity
    return EvalReport(
        format=FORMAT,
        title=opened.dataset.title,
        dataset=opened.card,
        protocol=ProtocolReport(
            name=methodology.label,
            eval_version=methodology.eval_version,
            digest=methodology.digest,
            about=methodology.about,
        ),
        system=plan.system,
        reader=plan.reader,
        judge=None if plan.unjudged else plan.judge,
        judges=measure_judges(folder),
        request=_describe_request(request, plan),
        plan_digest=plan.digest,
        code=folder.codes,
        at=folder.ended,
        active_s=round(folder.active_s, 3),
        environment=_describe_environment(),
        validity=str(validity.status),
        reason=validity.reason,
        scenarios=len(plan.scenarios),
        counts=count_outcomes(questions.scored),
        groups=questions.group(methodology.headline, with_intervals=True),
        abstention=count_abstentions(questions.scored),
        longest_option=_average_longest_option(questions.scored),
        service=_measure_service(folder, questions.scored),
        controls=tuple(_report_control(control, opened) for control in controls),
        notes=(*opened.dataset.about.notes, *opened.notes),
        errata=opened.dataset.about.errata,
        headline=methodology.headline,
        histories=questions.histories,
        questions=questions.drop_recountable(methodology.headline),
    )


def _average_longest_option(scored: Sequence[ScoredQuestion]) -> float | None:
    offered = [
        question.longest_option for question in scored if question.longest_option is not None
    ]
    return sum(offered) / len(offered) if offered else None


def _report_control(control: ControlRun, opened: OpenedDataset) -> ControlReport:
    about, finished = _ABOUT[control.name], control.finished
    if finished is None or not finished.is_valid:
        reason = control.reason
        if finished is not None:
            reason = finished.summary.validity.reason or "it did not finish"
        return ControlReport(name=control.name, about=about, reason=reason)
    questions = ScoredQuestions.score_run(
        finished.folder, opened, with_answers=control.with_answers
    )
    return ControlReport(
        name=control.name,
        about=about,
        groups=questions.group((), with_intervals=False),
        abstention=count_abstentions(questions.scored),
    )


def _describe_request(request: EvalRequest, plan: Plan) -> dict[str, object]:
    return {
        "mode": str(request.mode),
        "errata": list(request.errata),
        "categories": list(request.categories),
        "max_scenarios": request.max_scenarios,
        "scenario_offset": request.scenario_offset,
        "skip_qa": request.skip_qa,
        "top_k": plan.top_k,
        "max_context_tokens": plan.max_context_tokens,
        "repeats": plan.repeats,
        "seed": plan.seed,
        "parallelism": request.settings.parallelism,
        "lifecycle": str(plan.lifecycle),
    }


def _measure_service(folder: RunFolder, scored: Sequence[ScoredQuestion]) -> ServiceReport:
    clocks = [clock for name in folder.scenarios for clock in folder.states.scenarios[name].times]
    service, deliveries = folder.service, folder.service.deliveries
    hits = [hit for question in scored for hit in question.hits]
    p50, p95 = service.compute_latency(0.5), service.compute_latency(0.95)
    return ServiceReport(
        ingest_s=round(sum(clock.feeding_s for clock in clocks), 3),
        p50_ms=None if p50 is None else round(1000 * p50, 3),
        p95_ms=None if p95 is None else round(1000 * p95, 3),
        passages=deliveries.kept / deliveries.answers if deliveries.answers else None,
        tokens=deliveries.tokens / deliveries.answers if deliveries.answers else None,
        traced=_compute_share(hit.session is not None for hit in hits),
        summaries=_compute_share(hit.claimed is not None for hit in hits),
        traced_to_turn=_compute_share(hit.turn is not None or bool(hit.turns) for hit in hits),
    )


def _compute_share(holds: Iterable[bool]) -> float | None:
    flags = list(holds)
    return sum(flags) / len(flags) if flags else None


def _describe_environment() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count() or "unknown"),
        **{part: _find_version(part) for part in _PARTS},
    }


def _find_version(part: str) -> str:
    try:
        return get_part_version(part)
    except PackageNotFoundError:
        return "not installed"
