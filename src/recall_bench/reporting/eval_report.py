"""The report of an evaluation as one record: what ran, its figures, and every question.

All of it can be counted again from the questions: hits carry their ids, ranks, scores and the
digests of their texts.
"""

import os
import platform
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import msgspec

from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.plan import DatasetCard, Plan
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.scenario import WallTime
from recall_bench.core.verdict import JudgeCard
from recall_bench.datasets.eval_dataset import EvalRequest, OpenedDataset
from recall_bench.datasets.methodologies import Level
from recall_bench.metrics.retrieval import BUDGETS
from recall_bench.reporting.eval_estimates import (
    AbstentionCounts,
    EvalCounts,
    EvalGroup,
    average_categories,
    count_abstentions,
    count_outcomes,
    group_scores,
)
from recall_bench.reporting.eval_scores import QuestionScorer, ScoredQuestion
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.run_result import RunResult

FORMAT = "recall-bench-eval/1"
_BUDGET = re.compile(r"@(\d+)tok$")
_FILLED = 0.95
"""A budget is quoted if for this share of the questions it, and not the count, was the limit."""
_RANKED = tuple(f"{level} " for level in Level)
_PARTS = ("recall-bench", "numpy", "bm25s", "wordllama", "msgspec")


KEYWORDS, SILENCE, ORACLE = "bm25", "none", "oracle"


ABOUT = {
    KEYWORDS: "finds by words alone",
    SILENCE: "remembers nothing and says so",
    ORACLE: "knows where the answers are, and quotes them",
}


@dataclass(frozen=True, slots=True)
class ControlRun:
    """A control system and its run, or the reason why it was not run."""

    name: str
    finished: RunResult | None
    with_answers: bool = False
    reason: str | None = None


class ProtocolReport(Record, frozen=True, kw_only=True):
    """How it was counted."""

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
    """Delivered with an answer, on average, within the budget."""
    tokens: float | None = None
    traced: float | None = None
    """The share of the passages that could be traced to a session."""
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
    asked: dict[str, object]
    """What was asked for that can change a number."""
    plan_digest: str
    code: tuple[str, ...]
    """Versions of the harness that worked on it."""
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
    """Without figures of rankings that do not come first: hits and gold tell them again."""


@dataclass(frozen=True, slots=True)
class ScoredQuestions:
    """All questions of a run, scored."""

    scored: tuple[ScoredQuestion, ...]
    depth: int

    @classmethod
    def score_run(
        cls, folder: RunFolder, opened: OpenedDataset, *, with_answers: bool
    ) -> "ScoredQuestions":
        """Measure every trial of a run against its dataset, one scenario in memory at a time."""
        return cls(tuple(_score_trials(folder, opened, with_answers)), folder.plan.top_k)

    def group(self, headline: Sequence[str], *, with_intervals: bool) -> tuple[EvalGroup, ...]:
        """The figures of all of them, and of their parts."""
        found = group_scores(self.scored, headline, with_intervals=with_intervals)
        filled = {budget for budget in BUDGETS if self._is_filled(budget)}
        return tuple(_drop_unfilled(each, filled) for each in (*found, average_categories(found)))

    def drop_rankings(self, headline: Sequence[str]) -> tuple[ScoredQuestion, ...]:
        """The questions as a report holds them."""
        return tuple(
            each.replace(
                chance={},
                ceiling={},
                figures={
                    name: value
                    for name, value in each.figures.items()
                    if name in headline or not name.startswith(_RANKED)
                },
            )
            for each in self.scored
        )

    def _is_filled(self, budget: int) -> bool:
        filled = sum(
            len(each.hits) < self.depth or sum(hit.tokens for hit in each.hits) >= budget
            for each in self.scored
        )
        return filled >= _FILLED * len(self.scored)


def _drop_unfilled(group: EvalGroup, filled: Collection[int]) -> EvalGroup:
    """Without budgets that the passages asked for do not fill: they would be cut by count."""
    figures = {
        name: each
        for name, each in group.figures.items()
        if (budget := _BUDGET.search(name)) is None or int(budget[1]) in filled
    }
    return group.replace(figures=figures)


def _score_trials(
    folder: RunFolder, opened: OpenedDataset, with_answers: bool
) -> Iterator[ScoredQuestion]:
    for name in folder.scenarios:
        scorer = QuestionScorer(
            opened.methodology,
            opened.load(name),
            depth=folder.plan.top_k,
            with_answers=with_answers,
        )
        for result in folder.results(name):
            yield scorer.score(result)


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
        asked=_describe_request(request, plan),
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
        controls=tuple(_report_control(each, opened) for each in controls),
        notes=(*opened.dataset.about.notes, *opened.notes),
        errata=opened.dataset.about.errata,
        headline=methodology.headline,
        histories=_list_histories(folder, opened),
        questions=questions.drop_rankings(methodology.headline),
    )


def _average_longest_option(scored: Sequence[ScoredQuestion]) -> float | None:
    offered = [each.longest_option for each in scored if each.longest_option is not None]
    return sum(offered) / len(offered) if offered else None


def _list_histories(
    folder: RunFolder, opened: OpenedDataset
) -> dict[str, tuple[tuple[int, int], ...]]:
    return {
        name: tuple((each.day, len(each.turns)) for each in opened.load(name).episodes)
        for name in folder.scenarios
    }


def _report_control(control: ControlRun, opened: OpenedDataset) -> ControlReport:
    about, finished = ABOUT[control.name], control.finished
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
    found, deliveries = folder.service, folder.service.deliveries
    hits = [hit for each in scored for hit in each.hits]
    p50, p95 = found.compute_latency(0.5), found.compute_latency(0.95)
    return ServiceReport(
        ingest_s=round(sum(clock.ingest_s + clock.settle_s for clock in clocks), 3),
        p50_ms=None if p50 is None else round(1000 * p50, 3),
        p95_ms=None if p95 is None else round(1000 * p95, 3),
        passages=deliveries.kept / deliveries.answers if deliveries.answers else None,
        tokens=deliveries.tokens / deliveries.answers if deliveries.answers else None,
        traced=sum(hit.session is not None for hit in hits) / len(hits) if hits else None,
        traced_to_turn=sum(hit.turn is not None or bool(hit.turns) for hit in hits) / len(hits)
        if hits
        else None,
    )


def _describe_environment() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count() or "unknown"),
        **{part: _find_version(part) for part in _PARTS},
    }


def _find_version(part: str) -> str:
    try:
        return version(part)
    except PackageNotFoundError:
        return "not installed"
