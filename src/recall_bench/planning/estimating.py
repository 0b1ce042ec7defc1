"""What a run will take, put together: calls, tokens, money, hours, and what less would show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recall_bench.core.memory import Portable, shards_stood
from recall_bench.core.plan import Plan
from recall_bench.core.ranges import NAMED
from recall_bench.core.record import Record
from recall_bench.executors.opening import cores
from recall_bench.job import Job
from recall_bench.planning.begun import begun
from recall_bench.planning.earlier import Earlier, earlier_runs
from recall_bench.planning.measured import ASK, FEED, JUDGE, READ, REST, SETTLE, together
from recall_bench.planning.outline import Outline, outline_of, workers_of
from recall_bench.planning.pace import Pace, stated
from recall_bench.planning.precision import Known, Precision, assumed, known_from, precision_of
from recall_bench.planning.rest import opening_of, rest_of, start_of
from recall_bench.planning.schedule import (
    Manner,
    Paces,
    Task,
    critical,
    makespan,
    most_useful,
    tasks_of,
)
from recall_bench.planning.spending import Rate, Sampled, Spending, rates_of, sample_of, spent
from recall_bench.planning.steps import OPEN, START, StepTime, steps_of
from recall_bench.planning.workload import Story, stories_of, workload_of
from recall_bench.settings import Executor

SAMPLES = (100, 50, 25, 10, 0)
"""About halves: each step saves half of what is drawn, down to none, and all fit on a screen."""
ONE_SECOND = stated(1.0)

_NOBODY = Sampled(exhibits=(), are_real=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """Seconds that somebody says; None leaves them to what was measured."""

    answer_s: float | None = None
    day_s: float | None = None
    verdict_s: float | None = None


class HoursWith(Record, frozen=True, kw_only=True):
    """The hours with so many workers."""

    workers: int
    hours: float


class Hours(Record, frozen=True, kw_only=True):
    """How long it takes as it is to be carried out."""

    expected: float
    low: float | None
    high: float | None
    """If every step were as in the fast, or the slow, tenth of what was measured; None where the
    story goes on after that, and nobody knows how far it may be off."""
    measured_days: int | None
    """The last story day that was measured, where the story goes on after it."""
    verdict_second: float | None
    """What each second that a verdict takes adds, where nobody has timed one."""
    longest: str
    """The shard that takes longest."""
    longest_hours: float
    enough: int
    """More workers than these save nothing."""
    spread: tuple[HoursWith, ...]
    """One worker, two, four, and so on to what is enough."""


class Unmeasured(Record, frozen=True, kw_only=True):
    """What the hours would be for each second that a step takes."""

    answering: float
    feeding: float


class Less(Record, frozen=True, kw_only=True):
    """A smaller run, and what it saves and shows."""

    change: str
    trials: int
    questions: int
    hours: float | None
    cost_usd: float | None
    precision: Precision


class Forecast(Record, frozen=True, kw_only=True):
    """All that can be said before anything is spent."""

    outline: Outline
    sources: tuple[str, ...]
    """The runs it is from."""
    other_systems: tuple[str, ...]
    """The systems whose times these are, where they are of others than the one planned."""
    stages: tuple[StepTime, ...]
    untimed: tuple[str, ...]
    """Steps that nobody has timed, and that the hours leave out."""
    hours: Hours | None
    """None where neither an earlier run nor anybody says how long answers or days take."""
    unmeasured: Unmeasured | None
    spending: tuple[Spending, ...]
    cost_usd: float | None
    """None where somebody's price is not known."""
    is_variance_measured: bool
    """Whether how far marks vary is from an earlier run; else the worst case is taken."""
    less: tuple[Less, ...]
    """As planned first."""


def outline(job: Job) -> Outline:
    """The plan in numbers."""
    estimator = _Estimator(job, Earlier(), Stated())
    return estimator.outline


def estimate(job: Job, *, earlier: Sequence[Path] = (), stated_s: Stated | None = None) -> Forecast:
    """What the job will take, from the runs named, or from the newest of its system."""
    found = earlier_runs(job.plan, job.folder, earlier)
    return _Estimator(job, found, stated_s or Stated()).estimate()


class _Estimator:
    def __init__(self, job: Job, earlier: Earlier, said: Stated) -> None:
        self._job, self._earlier, self._said = job, earlier, said
        self._stories = stories_of(job.plan, job.questions)
        self._cores = cores()
        settings = job.settings
        self._max_shards = shards_stood(job.staff.system)
        self._can_carry = _can_carry(job, self._max_shards)
        self._portable = self._can_carry and settings.executor is not Executor.LOCAL
        self.outline = outline_of(
            job.plan,
            self._stories,
            settings,
            folder=str(job.folder),
            begun=begun(job),
            portable=self._portable,
            cores=self._cores,
            max_shards=self._max_shards,
        )

    def estimate(self) -> Forecast:
        measured = self._measured()
        paces = Paces(**{step: pace for step, pace in measured.items() if pace is not None})
        untimed = [step for step in self._steps() if measured[step] is None]
        is_timed = not {ASK, FEED}.intersection(untimed)
        rates, known = self._rates(), self._known()
        spending = tuple(spent(rate, workload_of(self._stories, self._job.plan)) for rate in rates)
        return Forecast(
            outline=self.outline,
            sources=tuple(
                dict.fromkeys(
                    each.name for each in (*self._earlier.of_system, *self._earlier.of_judge)
                )
            ),
            other_systems=tuple(self._others()),
            stages=tuple(steps_of(measured, self._stories, self._job.plan)),
            untimed=tuple(untimed),
            hours=self._hours(paces, untimed) if is_timed else None,
            unmeasured=None if is_timed else self._unmeasured(),
            spending=spending,
            cost_usd=_total(spending),
            is_variance_measured=known.is_measured,
            less=tuple(self._less(paces if is_timed else None, rates, known)),
        )

    def _steps(self) -> list[str]:
        """The steps that this plan has."""
        plan = self._job.plan
        steps = [FEED, SETTLE, ASK]
        if plan.reader is not None:
            steps.append(READ)
        return steps if plan.unjudged else [*steps, JUDGE]

    def _measured(self) -> dict[str, Pace | None]:
        earlier, said = self._earlier, self._said
        reader = self._job.plan.reader
        read = [each for each in earlier.of_system if each.plan.reader == reader]
        found = {
            START: start_of(earlier.of_system),
            OPEN: opening_of(earlier.of_system),
            FEED: together(earlier.of_system, FEED).pace(),
            SETTLE: together(earlier.of_system, SETTLE).pace(),
            ASK: together(earlier.of_system, ASK).pace(),
            READ: together(read, READ).pace() if reader is not None else None,
            JUDGE: together(earlier.of_judge, JUDGE).pace(),
            REST: rest_of(earlier.of_system, cores=self._cores, portable=self._can_carry),
        }
        for step, seconds in ((ASK, said.answer_s), (FEED, said.day_s), (JUDGE, said.verdict_s)):
            if seconds is not None:
                found[step] = stated(seconds)
        return found

    def _others(self) -> Iterator[str]:
        """The systems of the earlier runs, if any was of another."""
        named = dict.fromkeys(each.plan.system.name for each in self._earlier.of_system)
        if set(named) - {self._job.plan.system.name}:
            yield from named

    def _tasks(
        self, stories: Sequence[Story], plan: Plan, paces: Paces, *, portable: bool
    ) -> list[Task]:
        manner = Manner(
            plan=plan,
            paces=paces,
            parallelism=self._job.settings.parallelism,
            portable=portable,
        )
        return [task for story in stories for task in tasks_of(story, manner)]

    def _taken(self, stories: Sequence[Story], plan: Plan, paces: Paces) -> float:
        """The hours as the settings have it."""
        settings = self._job.settings
        tasks = self._tasks(stories, plan, paces, portable=self._portable)
        workers = workers_of(
            settings, shards=len(tasks), cores=self._cores, max_shards=self._max_shards
        )
        return makespan(tasks, workers, max_calls=settings.max_calls) / 3600

    def _hours(self, paces: Paces, untimed: Sequence[str]) -> Hours:
        plan, stories, limit = self._job.plan, self._stories, self._job.settings.max_calls
        tasks = self._tasks(stories, plan, paces, portable=self._can_carry)
        name, seconds = critical(tasks)
        enough = most_useful(tasks, max_calls=limit)
        if self._max_shards is not None:
            enough = min(enough, self._max_shards)
        expected = self._taken(stories, plan, paces)
        days = _measured_days(paces, stories)
        with_verdicts = self._taken(stories, plan, replace(paces, judge=ONE_SECOND))
        return Hours(
            expected=expected,
            low=None if days else self._taken(stories, plan, paces.fast),
            high=None if days else self._taken(stories, plan, paces.slow),
            measured_days=days,
            verdict_second=with_verdicts - expected if JUDGE in untimed else None,
            longest=name,
            longest_hours=min(seconds, makespan(tasks, len(tasks), max_calls=limit)) / 3600,
            enough=enough,
            spread=tuple(self._spread(tasks, enough, expected)),
        )

    def _spread(self, tasks: Sequence[Task], enough: int, expected: float) -> Iterator[HoursWith]:
        settings = self._job.settings
        for workers in (*(1 << place for place in range(32) if 1 << place < enough), enough):
            hours = makespan(tasks, workers, max_calls=settings.max_calls) / 3600
            # One process is what was asked for: it feeds and asks in an order of its own.
            is_asked_for = workers == 1 and settings.executor is Executor.LOCAL
            yield HoursWith(workers=workers, hours=expected if is_asked_for else hours)

    def _unmeasured(self) -> Unmeasured:
        plan, stories = self._job.plan, self._stories
        return Unmeasured(
            answering=self._taken(stories, plan, Paces(ask=ONE_SECOND)),
            feeding=self._taken(stories, plan, Paces(feed=ONE_SECOND)),
        )

    def _rates(self) -> list[Rate]:
        job = self._job
        plan, runs = job.plan, self._earlier.of_system
        first = self._stories[0]
        specimens = [
            each for run in runs for each in run.specimens if each.trial.scenario == first.scenario
        ]
        pays = not plan.judge.computes or (plan.reader and plan.reader.model)
        if not pays and (plan.appellate is None or plan.appellate.computes):
            return rates_of(plan, job.settings, self._earlier, _NOBODY)
        scenario = job.staff.load(first.scenario)
        sampled = sample_of(scenario, first, plan, specimens)
        return rates_of(plan, job.settings, self._earlier, sampled)

    def _known(self) -> Known:
        runs = [each for each in self._earlier.of_system if each.marks]
        if not runs:
            return assumed()
        categories = {
            (story.scenario, item.id): item.truth.category
            for story in self._stories
            for item in story.items
        }
        return known_from(max(runs, key=lambda each: len(each.marks)).marks, categories)

    def _less(self, paces: Paces | None, rates: list[Rate], known: Known) -> Iterator[Less]:
        seen: set[int] = set()
        for change, plan in _variants(self._job.plan):
            stories = stories_of(plan, self._job.questions)
            work = workload_of(stories, plan)
            if work.trials in seen or not work.trials:
                continue
            seen.add(work.trials)
            yield Less(
                change=change,
                trials=work.trials,
                questions=work.questions,
                hours=None if paces is None else self._taken(stories, plan, paces),
                cost_usd=_total([spent(rate, work) for rate in rates]),
                precision=precision_of(stories, plan, known),
            )


def _can_carry(job: Job, stood: int | None) -> bool:
    """Whether several workers may share a scenario whose memory is copied.

    As executors have it: not where one meter has to tell feeding from asking, nor where feeding
    and asking cannot go on at a time.
    """
    has_room = 1 not in (stood, job.settings.max_calls)
    travels = isinstance(job.staff.system.snapshots, Portable)
    return travels and has_room and job.staff.meter is None


def _measured_days(paces: Paces, stories: Sequence[Story]) -> int | None:
    """The last day on which feeding and asking were measured, if the story goes on after it."""
    last = max(sheet.cutoff for story in stories for sheet in story.sheets)
    known = [each.last_day for each in (paces.feed, paces.ask) if each.last_day]
    return min(known) if known and min(known) < last else None


def _variants(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """The plan, and plans that ask less."""
    yield "as planned", plan
    for size in SAMPLES:
        if plan.sample is None or size < plan.sample:
            yield f"--sample {size}", plan.but(sample=size)
    points = plan.checkpoints
    for step, words in ((2, "every 2nd checkpoint"), (4, "every 4th checkpoint")):
        # Counted from the end: the last one asks about the whole story.
        yield words, plan.but(checkpoints=points[::-1][::step][::-1])
    named = tuple(each for each in points if each.label in NAMED)
    if named:
        yield "the named checkpoints", plan.but(checkpoints=named)
    yield "the last checkpoint", plan.but(checkpoints=points[-1:])


def _total(spending: Sequence[Spending]) -> float | None:
    costs = [each.cost_usd for each in spending]
    return None if any(each is None for each in costs) else sum(each or 0.0 for each in costs)
