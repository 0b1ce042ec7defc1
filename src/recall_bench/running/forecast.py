"""Forecast what a run will take: calls, tokens, money and hours; nothing is fed or asked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from recall_bench.core.event_loop import run_to_end
from recall_bench.core.memory import MemorySystem, PortableSnapshots, get_worker_limit
from recall_bench.core.plan import NAMED_RANGES, Plan, SampleMode
from recall_bench.core.settings import Executor, Settings
from recall_bench.generate.shipped_personas import BuildProgress
from recall_bench.models.model_target import resolve_without_keys
from recall_bench.reporting.plan_report import (
    Forecast,
    HoursEstimate,
    HoursWith,
    Outline,
    RoleSpending,
    SmallerRun,
    UnmeasuredHours,
)
from recall_bench.running.assembly import assemble
from recall_bench.running.executor import count_cores
from recall_bench.running.job import Job
from recall_bench.running.measured_runs import (
    ASK,
    FEED,
    JUDGE,
    READ,
    REST,
    SETTLE,
    EarlierRuns,
    find_earlier_runs,
    merge_timings,
)
from recall_bench.running.plan_cost import (
    RoleRate,
    SampledAnswers,
    compute_spending,
    find_rates,
    sample_answers,
)
from recall_bench.running.plan_outline import (
    OPEN,
    START,
    build_outline,
    count_workers,
    list_steps,
    read_progress,
)
from recall_bench.running.plan_precision import (
    KnownVariance,
    estimate_precision,
    estimate_variance,
    make_worst_case,
)
from recall_bench.running.plan_schedule import (
    ExecutionModel,
    PlannedTask,
    ScenarioWork,
    StepPaces,
    average_opening,
    average_start,
    compute_makespan,
    compute_workload,
    estimate_rest,
    find_critical,
    find_useful_workers,
    list_scenario_work,
    list_tasks,
)
from recall_bench.running.step_timings import StepPace, make_fixed_pace


@contextmanager
def dry_plan(
    settings: Settings, building: BuildProgress | None = None, own: MemorySystem | None = None
) -> Iterator[Job]:
    """Assemble the job of these settings, and close its components at the end.

    Output paths are not tried: trying them would make their folders. Models need no keys.
    """
    with resolve_without_keys():
        job = assemble(replace(settings, skip_preflight=True), own, building)
    try:
        yield job
    finally:
        run_to_end(job.components.close)


SAMPLES = (100, 50, 25, 10, 0)
"""About halves: each step saves half of what is drawn, down to none, and all fit on a screen."""
ONE_SECOND = make_fixed_pace(1.0)

_NO_ANSWERS = SampledAnswers(exhibits=(), are_real=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTimes:
    """Seconds that the user states; None uses what was measured."""

    answer_s: float | None = None
    day_s: float | None = None
    verdict_s: float | None = None


def make_outline(job: Job) -> Outline:
    """The plan in numbers."""
    estimator = _Estimator(job, EarlierRuns(), StatedTimes())
    return estimator.outline


def estimate_run(
    job: Job, *, earlier: Sequence[Path] = (), stated_s: StatedTimes | None = None
) -> Forecast:
    """What the job will take, from the runs named, or from the newest of its system."""
    found = find_earlier_runs(job.plan, job.folder, earlier)
    return _Estimator(job, found, stated_s or StatedTimes()).estimate()


class _Estimator:
    def __init__(self, job: Job, earlier: EarlierRuns, stated: StatedTimes) -> None:
        self._job, self._earlier, self._stated = job, earlier, stated
        self._stories = list_scenario_work(job.plan, job.questions)
        self._cores = count_cores()
        settings = job.settings
        self._max_shards = get_worker_limit(job.components.system)
        self._can_carry = _is_portable(job, self._max_shards)
        self._portable = self._can_carry and settings.executor is not Executor.LOCAL
        self.outline = build_outline(
            job.plan,
            self._stories,
            settings,
            folder=str(job.folder),
            begun=read_progress(job),
            portable=self._portable,
            cores=self._cores,
            max_shards=self._max_shards,
        )

    def estimate(self) -> Forecast:
        measured = self._measure_paces()
        paces = StepPaces(**{step: pace for step, pace in measured.items() if pace is not None})
        untimed = [step for step in self._list_steps() if measured[step] is None]
        is_timed = not {ASK, FEED}.intersection(untimed)
        rates, known = self._find_rates(), self._find_variance()
        spending = tuple(
            compute_spending(rate, compute_workload(self._stories, self._job.plan))
            for rate in rates
        )
        return Forecast(
            outline=self.outline,
            sources=tuple(
                dict.fromkeys(
                    each.name for each in (*self._earlier.of_system, *self._earlier.of_judge)
                )
            ),
            other_systems=tuple(self._list_other_systems()),
            stages=tuple(list_steps(measured, self._stories, self._job.plan)),
            untimed=tuple(untimed),
            hours=self._build_hours(paces, untimed) if is_timed else None,
            unmeasured=None if is_timed else self._estimate_unmeasured(),
            spending=spending,
            cost_usd=_sum_cost(spending),
            is_variance_measured=known.is_measured,
            less=tuple(self._list_smaller_runs(paces if is_timed else None, rates, known)),
        )

    def _list_steps(self) -> list[str]:
        """The steps that this plan has."""
        plan = self._job.plan
        steps = [FEED, SETTLE, ASK]
        if plan.reader is not None:
            steps.append(READ)
        return steps if plan.unjudged else [*steps, JUDGE]

    def _measure_paces(self) -> dict[str, StepPace | None]:
        earlier, stated = self._earlier, self._stated
        reader = self._job.plan.reader
        read = [each for each in earlier.of_system if each.plan.reader == reader]
        found = {
            START: average_start(earlier.of_system),
            OPEN: average_opening(earlier.of_system),
            FEED: merge_timings(earlier.of_system, FEED).fit_pace(),
            SETTLE: merge_timings(earlier.of_system, SETTLE).fit_pace(),
            ASK: merge_timings(earlier.of_system, ASK).fit_pace(),
            READ: merge_timings(read, READ).fit_pace() if reader is not None else None,
            JUDGE: merge_timings(earlier.of_judge, JUDGE).fit_pace(),
            REST: estimate_rest(earlier.of_system, cores=self._cores, portable=self._can_carry),
        }
        for step, seconds in (
            (ASK, stated.answer_s),
            (FEED, stated.day_s),
            (JUDGE, stated.verdict_s),
        ):
            if seconds is not None:
                found[step] = make_fixed_pace(seconds)
        return found

    def _list_other_systems(self) -> Iterator[str]:
        """The systems of the earlier runs, if any was of another."""
        named = dict.fromkeys(each.plan.system.name for each in self._earlier.of_system)
        if set(named) - {self._job.plan.system.name}:
            yield from named

    def _list_tasks(
        self, stories: Sequence[ScenarioWork], plan: Plan, paces: StepPaces, *, portable: bool
    ) -> list[PlannedTask]:
        model = ExecutionModel(
            plan=plan,
            paces=paces,
            parallelism=self._job.settings.parallelism,
            portable=portable,
        )
        return [task for story in stories for task in list_tasks(story, model)]

    def _estimate_hours(
        self, stories: Sequence[ScenarioWork], plan: Plan, paces: StepPaces
    ) -> float:
        """The hours as the settings have it."""
        settings = self._job.settings
        tasks = self._list_tasks(stories, plan, paces, portable=self._portable)
        workers = count_workers(
            settings, shards=len(tasks), cores=self._cores, max_shards=self._max_shards
        )
        return compute_makespan(tasks, workers, max_calls=settings.max_calls) / 3600

    def _build_hours(self, paces: StepPaces, untimed: Sequence[str]) -> HoursEstimate:
        plan, stories, limit = self._job.plan, self._stories, self._job.settings.max_calls
        tasks = self._list_tasks(stories, plan, paces, portable=self._can_carry)
        name, seconds = find_critical(tasks)
        enough = find_useful_workers(tasks, max_calls=limit)
        if self._max_shards is not None:
            enough = min(enough, self._max_shards)
        expected = self._estimate_hours(stories, plan, paces)
        days = _find_last_measured_day(paces, stories)
        with_verdicts = self._estimate_hours(stories, plan, replace(paces, judge=ONE_SECOND))
        return HoursEstimate(
            expected=expected,
            low=None if days else self._estimate_hours(stories, plan, paces.fast),
            high=None if days else self._estimate_hours(stories, plan, paces.slow),
            measured_days=days,
            verdict_second=with_verdicts - expected if JUDGE in untimed else None,
            longest=name,
            longest_hours=min(seconds, compute_makespan(tasks, len(tasks), max_calls=limit)) / 3600,
            enough=enough,
            spread=tuple(self._list_spread(tasks, enough, expected)),
        )

    def _list_spread(
        self, tasks: Sequence[PlannedTask], enough: int, expected: float
    ) -> Iterator[HoursWith]:
        settings = self._job.settings
        for workers in (*(1 << place for place in range(32) if 1 << place < enough), enough):
            hours = compute_makespan(tasks, workers, max_calls=settings.max_calls) / 3600
            # One process is what was asked for: it feeds and asks in an order of its own.
            is_asked_for = workers == 1 and settings.executor is Executor.LOCAL
            yield HoursWith(workers=workers, hours=expected if is_asked_for else hours)

    def _estimate_unmeasured(self) -> UnmeasuredHours:
        plan, stories = self._job.plan, self._stories
        return UnmeasuredHours(
            answering=self._estimate_hours(stories, plan, StepPaces(ask=ONE_SECOND)),
            feeding=self._estimate_hours(stories, plan, StepPaces(feed=ONE_SECOND)),
        )

    def _find_rates(self) -> list[RoleRate]:
        job = self._job
        plan, runs = job.plan, self._earlier.of_system
        first = self._stories[0]
        sample = [
            each for run in runs for each in run.sample if each.trial.scenario == first.scenario
        ]
        pays = not plan.judge.computes or (plan.reader and plan.reader.model)
        others = (*plan.other_judges, *([plan.appellate] if plan.appellate else []))
        if not pays and all(card.computes for card in others):
            return find_rates(plan, job.settings, self._earlier, _NO_ANSWERS)
        scenario = job.components.load(first.scenario)
        sampled = sample_answers(scenario, first, plan, sample)
        return find_rates(plan, job.settings, self._earlier, sampled)

    def _find_variance(self) -> KnownVariance:
        runs = [each for each in self._earlier.of_system if each.marks]
        if not runs:
            return make_worst_case()
        categories = {
            (story.scenario, item.id): item.truth.category
            for story in self._stories
            for item in story.items
        }
        return estimate_variance(max(runs, key=lambda each: len(each.marks)).marks, categories)

    def _list_smaller_runs(
        self, paces: StepPaces | None, rates: list[RoleRate], known: KnownVariance
    ) -> Iterator[SmallerRun]:
        seen: set[int] = set()
        for change, plan in _list_variants(self._job.plan):
            stories = list_scenario_work(plan, self._job.questions)
            work = compute_workload(stories, plan)
            if work.trials in seen or not work.trials:
                continue
            seen.add(work.trials)
            yield SmallerRun(
                change=change,
                trials=work.trials,
                questions=work.questions,
                hours=None if paces is None else self._estimate_hours(stories, plan, paces),
                cost_usd=_sum_cost([compute_spending(rate, work) for rate in rates]),
                precision=estimate_precision(stories, plan, known),
            )


def _is_portable(job: Job, stood: int | None) -> bool:
    """Whether several workers may share a scenario whose memory is copied.

    As executors have it: not where one meter has to tell feeding from asking, nor where feeding
    and asking cannot go on at a time.
    """
    has_room = 1 not in (stood, job.settings.max_calls)
    travels = isinstance(job.components.system.snapshots, PortableSnapshots)
    return travels and has_room and job.components.meter is None


def _find_last_measured_day(paces: StepPaces, stories: Sequence[ScenarioWork]) -> int | None:
    """The last day on which feeding and asking were measured, if the story goes on after it."""
    last = max(point.cutoff for story in stories for point in story.points)
    known = [each.last_day for each in (paces.feed, paces.ask) if each.last_day]
    return min(known) if known and min(known) < last else None


def _list_variants(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """The plan, and plans that ask less."""
    yield "as planned", plan
    for size in SAMPLES:
        if plan.sample is None or size < plan.sample:
            yield f"--sample {size}", plan.replace(sample=size, sampling=SampleMode.CORE)
    points = plan.checkpoints
    for step, words in ((2, "every 2nd checkpoint"), (4, "every 4th checkpoint")):
        # Counted from the end: the last one asks about the whole story.
        yield words, plan.replace(checkpoints=points[::-1][::step][::-1])
    named = tuple(each for each in points if each.label in NAMED_RANGES)
    if named:
        yield "the named checkpoints", plan.replace(checkpoints=named)
    yield "the last checkpoint", plan.replace(checkpoints=points[-1:])


def _sum_cost(spending: Sequence[RoleSpending]) -> float | None:
    costs = [each.cost_usd for each in spending]
    return None if any(each is None for each in costs) else sum(each or 0.0 for each in costs)
