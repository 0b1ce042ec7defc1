"""The report of an evaluation as one record: what ran, its figures, and every question.

All of it can be counted again from the questions: hits carry their ids, ranks, scores and the
digests of their texts.
"""

import os
import platform
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from operator import add
from statistics import fmean

import msgspec

from recall_bench.core.distribution import DISTRIBUTION, get_part_version
from recall_bench.core.memory import ReaderCard, SystemCard
from recall_bench.core.plan import DatasetCard, Plan
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.scenario import WallTime
from recall_bench.core.verdict import JudgeCard
from recall_bench.datasets.eval_dataset import EvalRequest, OpenedDataset
from recall_bench.datasets.methodologies import Level
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.metrics.retrieval import BUDGETS
from recall_bench.reporting.eval_scores import ANSWERED, OPEN, QuestionScorer, ScoredQuestion
from recall_bench.reporting.groups import group_by
from recall_bench.reporting.trial_scores import measure_judges
from recall_bench.runs.judge_sensitivity import JudgeSensitivity
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.run_result import RunResult

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
    cells = group_by(scored, lambda each: (each.category, each.is_answerable))
    sums = {cell: _sum_figures(members) for cell, members in cells.items()}
    members: dict[str, list[tuple[str, bool]]] = {ALL: list(cells)}
    if len({is_answerable for _, is_answerable in cells}) == 2:
        members[ANSWERABLE] = [cell for cell in cells if cell[1]]
        members[UNANSWERABLE] = [cell for cell in cells if not cell[1]]
    # A category may be named like one of these.
    groups = [*members.items(), *group_by(cells, lambda cell: cell[0]).items()]
    return tuple(
        EvalGroup(
            name=name,
            questions=sum(len(cells[cell]) for cell in held),
            figures=_build_estimates(
                [sums[cell] for cell in held],
                _compute_intervals([each for cell in held for each in cells[cell]], wanted),
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


_FigureSums = dict[str, list[float]]
"""By figure the number of values and their sum; the same of chance, and of the ceiling."""


def _sum_figures(group: Iterable[ScoredQuestion]) -> _FigureSums:
    sums: _FigureSums = {}
    for each in group:
        for name, value in each.figures.items():
            held = sums.setdefault(name, [0.0] * 6)
            for place, found in enumerate((value, each.chance.get(name), each.ceiling.get(name))):
                if found is not None:
                    held[2 * place] += 1
                    held[2 * place + 1] += found
    return sums


def _build_estimates(
    parts: Iterable[_FigureSums], intervals: Mapping[str, tuple[float, float] | None]
) -> dict[str, EvalEstimate]:
    """The means; chance and ceiling only where they are known of every question."""
    sums: _FigureSums = {}
    for part in parts:
        for name, held in part.items():
            sums[name] = list(map(add, sums[name], held)) if name in sums else held
    return {
        name: EvalEstimate(
            name=name,
            mean=total / count,
            counted=int(count),
            interval=intervals.get(name),
            chance=chance / count if chances == count else None,
            ceiling=ceiling / count if ceilings == count else None,
        )
        for name, (count, total, chances, chance, ceilings, ceiling) in sums.items()
    }


def _average_known(values: Sequence[float | None]) -> float | None:
    """The mean, if all of them are known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


FORMAT = "recall-bench-eval/1"
_BUDGET = re.compile(r"@(\d+)tok$")
_FILLED = 0.95
"""A budget is quoted if for this share of the questions it, and not the count, was the limit."""
_RANKED = tuple(f"{level} " for level in Level)
_PARTS = (DISTRIBUTION, "numpy", "bm25s", "wordllama", "msgspec")


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
        judges=measure_judges(folder),
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
        histories={
            name: tuple((each.day, len(each.turns)) for each in opened.load(name).episodes)
            for name in folder.scenarios
        },
        questions=questions.drop_rankings(methodology.headline),
    )


def _average_longest_option(scored: Sequence[ScoredQuestion]) -> float | None:
    offered = [each.longest_option for each in scored if each.longest_option is not None]
    return sum(offered) / len(offered) if offered else None


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
        ingest_s=round(sum(clock.feeding_s for clock in clocks), 3),
        p50_ms=None if p50 is None else round(1000 * p50, 3),
        p95_ms=None if p95 is None else round(1000 * p95, 3),
        passages=deliveries.kept / deliveries.answers if deliveries.answers else None,
        tokens=deliveries.tokens / deliveries.answers if deliveries.answers else None,
        traced=sum(hit.session is not None for hit in hits) / len(hits) if hits else None,
        summaries=sum(hit.claimed is not None for hit in hits) / len(hits) if hits else None,
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
        return get_part_version(part)
    except PackageNotFoundError:
        return "not installed"
