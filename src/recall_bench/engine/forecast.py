"""Forecast what a run will take, from what earlier runs took: calls, tokens, money and hours.

Nothing is fed or asked. A step takes what it took on average, on every day of the story.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from recall_bench.core.errors import BenchError, DataError, UsageError
from recall_bench.core.event import (
    INGEST,
    Answered,
    Event,
    Ingested,
    Judged,
    Metered,
    NotAnswered,
    RunResumed,
    RunStarted,
    Settled,
)
from recall_bench.core.event_loop import run_to_end
from recall_bench.core.memory import Answer, MemorySystem, PortableSnapshots, get_worker_limit
from recall_bench.core.plan import NAMED_RANGES, Plan, SampleMode, Trial
from recall_bench.core.scenario import Scenario
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.settings import RUNS, Executor, Settings
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.usage import Usage, estimate_tokens
from recall_bench.core.verdict import SCALES, Exhibit
from recall_bench.core.work_unit import is_divisible
from recall_bench.engine.assembly import assemble
from recall_bench.engine.executor import count_cores
from recall_bench.engine.job import Job
from recall_bench.engine.plan_outline import (
    ScenarioWork,
    build_outline,
    compute_workload,
    count_workers,
    list_memories,
    list_scenario_work,
    read_progress,
)
from recall_bench.engine.plan_report import (
    Forecast,
    HoursEstimate,
    HoursWith,
    Outline,
    RoleSpending,
    SmallerRun,
    StepTime,
)
from recall_bench.engine.runs.journal import JOURNAL, explain_missing, read_events
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.stories.drawn import BuildProgress
from recall_bench.systems.models.target import estimate_target_cost, resolve_without_keys

FEED, SETTLE, ASK, READ, JUDGE, REST = "feed", "settle", "ask", "read", "judge", "rest"

SAMPLES = (100, 50, 25, 10, 0)
"""About halves: each step saves half of what is drawn, down to none, and all fit on a screen."""
MAX_EARLIER_RUNS = 3
"""The number of newest runs of a system that are read: older ones may come from other machines."""
_MAX_PROMPTS = 24
"""The number of prompts that are built to measure their length: enough for a mean."""
_REASON = 400
"""The most characters of a reason, by the schema of a verdict."""


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


@dataclass(slots=True)
class MeasuredRun:
    """What the steps of one run took; call `note` with every event."""

    name: str
    plan: Plan
    times: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    usage: dict[str, Usage] = field(default_factory=dict)
    """What the judge, its reviews, the reader, and the system for days and answers used."""
    last_day: int = 0
    wall_s: float = 0.0
    """The run time of its processes, without the pauses between them."""
    has_workers: bool = False
    _before: datetime | None = None

    def note(self, event: Event) -> None:
        """Take one event into account."""
        # Questions are declared with the time they were read, which was before the run started.
        if self._before is not None and not isinstance(event, RunResumed):
            self.wall_s += max(0.0, (event.at - self._before).total_seconds())
        if self._before is None or isinstance(event, RunResumed) or event.at > self._before:
            self._before = event.at
        match event:
            case RunStarted() | RunResumed():
                self.has_workers |= event.executor is not None
            case Ingested():
                self._add(FEED, event.seconds)
                self.last_day = max(self.last_day, event.day)
            case Settled():
                self._add(SETTLE, event.seconds)
            case Metered():
                self._use(FEED if event.stage == INGEST else ASK, event.usage)
            case NotAnswered():
                self._add(ASK, event.seconds)
            case Answered():
                self._add(ASK, event.seconds)
                self._add(READ, event.reading_s)
                self._use(READ, event.reading_usage)
                self._use(ASK, event.answer.usage)
            case Judged():
                self._add(JUDGE, event.seconds)
                self._use(JUDGE, event.usage)
                self._use("review", event.review_usage)
            case _:
                pass

    def _add(self, step: str, seconds: float | None) -> None:
        if seconds is not None:
            self.times[step] += 1
            self.seconds[step] += seconds

    def _use(self, step: str, usage: Usage | None) -> None:
        if usage is not None:
            self.usage[step] = self.usage.get(step, Usage()) + usage


def measure_run(folder: Path) -> MeasuredRun:
    """Measure the run in the folder, finished or not."""
    try:
        events = iter(read_events(folder / JOURNAL))
        first = next(events, None)
    except OSError as error:
        raise UsageError(explain_missing(folder, error)) from error
    if not isinstance(first, RunStarted):
        raise DataError(f"{folder / JOURNAL}: does not begin with a plan; name the folder of a run")
    run = MeasuredRun(name=str(folder), plan=first.plan)
    run.note(first)
    for event in events:
        run.note(event)
    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRuns:
    """Runs to estimate from."""

    of_system: tuple[MeasuredRun, ...] = ()
    of_judge: tuple[MeasuredRun, ...] = ()


def find_earlier_runs(plan: Plan, folder: Path, named: Sequence[Path] = ()) -> EarlierRuns:
    """The runs named, or those of the same system, and of the same judge, near the run's folder.

    A named run counts for the system whatever system it ran, but for the judge only if the judge
    is the same.
    """

    def has_same_judge(other: Plan) -> bool:
        ours, theirs = other.judge, plan.judge
        return not other.unjudged and (ours.name, ours.model) == (theirs.name, theirs.model)

    if named:
        runs = tuple(measure_run(path) for path in named)
        return EarlierRuns(
            of_system=runs, of_judge=tuple(run for run in runs if has_same_judge(run.plan))
        )
    plans = [(path, other) for path, other in _list_plans(folder) if other.imported is None]
    of_system = [
        path
        for path, other in plans
        if other.system.name == plan.system.name and other.answers_from is None
    ][:MAX_EARLIER_RUNS]
    of_judge = [path for path, other in plans if has_same_judge(other)][:MAX_EARLIER_RUNS]
    measured = {path: measure_run(path) for path in dict.fromkeys(of_system + of_judge)}
    return EarlierRuns(
        of_system=tuple(measured[path] for path in of_system),
        of_judge=tuple(measured[path] for path in of_judge),
    )


def _list_plans(folder: Path) -> Iterator[tuple[Path, Plan]]:
    """Every run below `recall-runs` and beside the folder, newest first."""
    journals = {
        path.resolve(): path
        for place in (RUNS, folder.parent)
        for path in place.glob(f"*/{JOURNAL}")
    }
    for path in sorted(journals.values(), key=lambda journal: -journal.stat().st_mtime):
        try:
            first = next(read_events(path), None)
        except BenchError:
            continue  # not a run of this version
        if isinstance(first, RunStarted):
            yield path.parent, first.plan


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTimes:
    """Seconds that the user states; None uses what was measured."""

    answer_s: float | None = None
    day_s: float | None = None
    verdict_s: float | None = None


def make_outline(job: Job) -> Outline:
    """The plan in numbers."""
    return _Estimator(job, EarlierRuns(), StatedTimes()).outline


def estimate_run(
    job: Job, *, earlier: Sequence[Path] = (), stated_s: StatedTimes | None = None
) -> Forecast:
    """What the job will take, from the runs named, or from the newest of its system."""
    runs = find_earlier_runs(job.plan, job.folder, earlier)
    return _Estimator(job, runs, stated_s or StatedTimes()).estimate()


class _Estimator:
    def __init__(self, job: Job, earlier: EarlierRuns, stated: StatedTimes) -> None:
        self._job, self._earlier, self._stated = job, earlier, stated
        self._stories = list_scenario_work(job.plan, job.questions)
        self._cores = count_cores()
        self._max_shards = get_worker_limit(job.components.system)
        # As executors have it: not where one meter has to tell feeding from asking, nor where
        # feeding and asking cannot go on at a time.
        self._can_carry = (
            isinstance(job.components.system.snapshots, PortableSnapshots)
            and 1 not in (self._max_shards, job.settings.max_calls)
            and job.components.meter is None
        )
        self.outline = build_outline(
            job.plan,
            self._stories,
            job.settings,
            folder=str(job.folder),
            begun=read_progress(job),
            portable=self._can_carry and job.settings.executor is not Executor.LOCAL,
            cores=self._cores,
            max_shards=self._max_shards,
        )

    def estimate(self) -> Forecast:
        plan, of_system = self._job.plan, self._earlier.of_system
        paces, times = self._measure_paces()
        steps = [FEED, SETTLE, ASK, *([READ] if plan.reader is not None else [])]
        steps += [] if plan.unjudged else [JUDGE]
        untimed = tuple(step for step in steps if step not in paces)
        is_timed = not {ASK, FEED}.intersection(untimed)
        exhibits = self._build_exhibits()
        spending = tuple(self._list_spending(exhibits))
        systems = dict.fromkeys(run.plan.system.name for run in of_system)
        work = compute_workload(self._stories, plan)
        counts = {FEED: work.ingests, SETTLE: work.settles}
        return Forecast(
            outline=self.outline,
            sources=tuple(dict.fromkeys(run.name for run in (*of_system, *self._earlier.of_judge))),
            other_systems=tuple(systems) if set(systems) - {plan.system.name} else (),
            stages=tuple(
                StepTime(
                    step=step,
                    mean_s=seconds,
                    times=times.get(step, 0),
                    count=counts.get(step, work.trials),
                    total_s=seconds * counts.get(step, work.trials),
                )
                for step, seconds in paces.items()
            ),
            untimed=untimed,
            hours=self._build_hours(paces) if is_timed else None,
            answer_second=None if is_timed else self._estimate_hours(plan, {ASK: 1.0}),
            day_second=None if is_timed else self._estimate_hours(plan, {FEED: 1.0}),
            verdict_second=(
                self._estimate_hours(plan, {**paces, JUDGE: 1.0})
                - self._estimate_hours(plan, paces)
                if is_timed and JUDGE in untimed
                else None
            ),
            spending=spending,
            cost_usd=_sum_costs(spending),
            less=tuple(self._list_smaller_runs(paces if is_timed else None, spending)),
        )

    def _measure_paces(self) -> tuple[dict[str, float], Counter[str]]:
        """The seconds of each step that was timed or stated, and how often it was timed."""
        of_system, plan = self._earlier.of_system, self._job.plan
        runs_of = {
            FEED: of_system,
            SETTLE: of_system,
            ASK: of_system,
            READ: [run for run in of_system if plan.reader and run.plan.reader == plan.reader],
            JUDGE: () if plan.unjudged else self._earlier.of_judge,
        }
        paces, times = dict[str, float](), Counter[str]()
        for step, runs in runs_of.items():
            if count := sum(run.times[step] for run in runs):
                paces[step] = sum(run.seconds[step] for run in runs) / count
                times[step] = count
        stated = self._stated
        for step, seconds in (
            (ASK, stated.answer_s),
            (FEED, stated.day_s),
            (JUDGE, stated.verdict_s),
        ):
            if seconds is not None:
                paces[step], times[step] = seconds, 0
        # Loading, tracing and writing: what a run in one process took beyond its steps.
        rests = [
            (run.times[ASK], run.wall_s - sum(run.seconds.values()))
            for run in of_system
            if run.times[ASK] and not run.has_workers
        ]
        if rests:
            trials = sum(count for count, _ in rests)
            paces[REST] = max(0.0, sum(seconds for _, seconds in rests)) / trials
            times[REST] = trials
        return paces, times

    def _estimate_durations(self, plan: Plan, paces: Mapping[str, float]) -> tuple[float, float]:
        """The seconds of all work, one unit after another, and of the part that is longest."""
        pace = {step: paces.get(step, 0.0) for step in (FEED, SETTLE, ASK, READ, JUDGE, REST)}
        parallelism, card = self._job.settings.parallelism, plan.system
        concurrency = 1 if card.computes else min(parallelism, card.max_concurrency)

        def estimate_asking(point: CheckpointPlan) -> float:
            count = len(point.asked)
            asking = (pace[ASK] + pace[READ]) * max(1.0, count / concurrency)
            if plan.judge.computes:
                judging = count * pace[JUDGE]
            else:
                judging = pace[JUDGE] * max(1.0, count / parallelism)
            # A judge computes while a system waits, but not while another computation runs.
            takes_turns = plan.judge.computes and card.computes
            both = asking + judging if takes_turns else max(asking, judging)
            return both + count * pace[REST]

        total, longest = 0.0, 0.0
        for story in list_scenario_work(plan, self._job.questions):
            feeding = [
                days * pace[FEED] + settles * pace[SETTLE]
                for days, settles in list_memories(story, plan)
            ]
            asking = [estimate_asking(point) for point in story.points for _ in range(plan.repeats)]
            seconds = sum(feeding) + sum(asking)
            total += seconds
            if is_divisible(plan, portable=self._can_carry) and asking:
                # The last unit to begin is one that asks about the whole story.
                seconds = feeding[-1] + asking[-1] / plan.copies
            longest = max(longest, seconds)
        return total, longest

    def _estimate_hours(
        self, plan: Plan, paces: Mapping[str, float], workers: int | None = None
    ) -> float:
        """The hours with these workers; as the settings have it, if no number is given."""
        settings = self._job.settings
        if workers is None:
            workers = count_workers(
                settings,
                shards=self.outline.shards,
                cores=self._cores,
                max_shards=self._max_shards,
            )
        if settings.max_calls is not None:
            workers = min(workers, settings.max_calls)
        total, longest = self._estimate_durations(plan, paces)
        return max(total / workers, longest) / 3600

    def _build_hours(self, paces: Mapping[str, float]) -> HoursEstimate:
        plan = self._job.plan
        total, longest = self._estimate_durations(plan, paces)
        enough = math.ceil(total / longest) if longest else 1
        if self._max_shards is not None:
            enough = min(enough, self._max_shards)
        steps = [1 << place for place in range(32) if 1 << place < enough]
        measured = max((run.last_day for run in self._earlier.of_system), default=0)
        last = max(point.cutoff for story in self._stories for point in story.points)
        return HoursEstimate(
            expected=self._estimate_hours(plan, paces),
            measured_days=measured if 0 < measured < last else None,
            longest_hours=longest / 3600,
            enough=enough,
            spread=tuple(
                HoursWith(workers=workers, hours=self._estimate_hours(plan, paces, workers))
                for workers in (*steps, enough)
            ),
        )

    def _list_smaller_runs(
        self, paces: Mapping[str, float] | None, spending: Sequence[RoleSpending]
    ) -> Iterator[SmallerRun]:
        planned, sizes = self.outline, set[int]()
        for change, plan in _list_variants(self._job.plan):
            work = compute_workload(list_scenario_work(plan, self._job.questions), plan)
            if work.trials in sizes or not work.trials:
                continue
            sizes.add(work.trials)
            cost = _sum_costs(spending)
            yield SmallerRun(
                change=change,
                trials=work.trials,
                questions=work.questions,
                hours=None if paces is None else self._estimate_hours(plan, paces),
                cost_usd=None if cost is None else cost * work.trials / planned.trials,
            )

    def _build_exhibits(self) -> tuple[Exhibit, ...]:
        """What a judge is shown of some reference answers, where a model is to be priced."""
        plan, story = self._job.plan, self._stories[0]
        judges = (plan.judge, *plan.other_judges, *([plan.appellate] if plan.appellate else []))
        has_paid_reader = plan.reader is not None and plan.reader.model is not None
        if not has_paid_reader and all(card.computes for card in judges):
            return ()
        return build_exhibits(self._job.components.load(story.scenario), story, plan)

    def _list_spending(self, exhibits: Sequence[Exhibit]) -> Iterator[RoleSpending]:
        """What each role that may cost money will use."""
        plan, settings, earlier = self._job.plan, self._job.settings, self._earlier
        trials = self.outline.trials
        if not (plan.unjudged or plan.judge.computes):
            who = plan.judge.model or plan.judge.name
            usage, verdicts = Usage(), 0
            for run in earlier.of_judge:
                usage += run.usage.get(JUDGE, Usage()) - run.usage.get("review", Usage())
                verdicts += run.times[JUDGE]
            if usage.calls and verdicts:
                yield _scale_usage("judge", who, usage, trials / verdicts)
            else:
                role = PaidRole("judge", who, settings.judge)
                yield price_verdicts(role, settings, exhibits, trials)
        for number, (card, target) in enumerate(
            zip(plan.other_judges, settings.judges[1:], strict=True), start=2
        ):
            if not card.computes:
                role = PaidRole(f"judge {number}", card.model or card.name, target)
                yield price_verdicts(role, settings, exhibits, trials)
        second = plan.appellate
        if second is not None and not second.computes and settings.appellate_judge is not None:
            who = second.model or second.name
            role = PaidRole("second judge", who, settings.appellate_judge)
            # At most: how many verdicts are reviewed is known once they are given.
            yield price_verdicts(role, settings, exhibits, trials)
        if plan.reader is not None and plan.reader.model is not None and settings.reader:
            yield self._estimate_reading(plan.reader.model, settings.reader, exhibits)
        usage, feeding, answers, days = Usage(), Usage(), 0, 0
        for run in earlier.of_system:
            usage += run.usage.get(ASK, Usage())
            feeding += run.usage.get(FEED, Usage())
            answers, days = answers + run.times[ASK], days + run.times[FEED]
        if usage.tokens or feeding.tokens:
            asking = _scale_usage("system", plan.system.name, usage, trials / max(1, answers))
            fed = _scale_usage("", "", feeding, self.outline.ingest_calls / max(1, days))
            costs = (asking.cost_usd, fed.cost_usd)
            yield asking.replace(
                input_tokens=asking.input_tokens + fed.input_tokens,
                output_tokens=asking.output_tokens + fed.output_tokens,
                cost_usd=None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
                source=f"{answers:,} answers and {days:,} days metered",
            )

    def _estimate_reading(self, who: str, target: str, exhibits: Sequence[Exhibit]) -> RoleSpending:
        from recall_bench.systems.readers import build_reader_prompt

        plan, trials = self._job.plan, self.outline.trials
        usage, answers = Usage(), 0
        for run in self._earlier.of_system:
            if run.plan.reader is not None and run.plan.reader.model == who:
                usage += run.usage.get(READ, Usage())
                answers += run.times[READ]
        if usage.calls and answers:
            return _scale_usage("reader", who, usage, trials / answers)
        prompts, replies = [], []
        for exhibit in exhibits:
            question = exhibit.item.ask(exhibit.scenario, exhibit.asked_at, plan.top_k)
            prompt = build_reader_prompt(question, exhibit.answer.passages)
            prompts.append(estimate_tokens(prompt.system) + estimate_tokens(prompt.user))
            replies.append(estimate_tokens(exhibit.item.truth.reference))
        room = plan.max_context_tokens
        source = (
            "prompts without passages"
            if room is None
            else f"prompts and {room:,} tokens of passages, the most allowed"
        )
        size = (fmean(prompts) + (room or 0), fmean(replies))
        return _price_calls(PaidRole("reader", who, target), size, trials, source)


def build_exhibits(scenario: Scenario, story: ScenarioWork, plan: Plan) -> tuple[Exhibit, ...]:
    """What a judge is shown under this plan, of some answers that are the reference."""
    places = [(point.checkpoint.label, place) for point in story.points for place in point.asked]
    trials = ScenarioStates(story.items, story.points, plan.repeats)
    factory = ExhibitFactory(scenario, trials, window=plan.judge_memory_window)
    return tuple(
        factory.build(
            Answered(
                at=datetime.now(UTC),
                trial=Trial(scenario=story.scenario, item=story.items[place].id, checkpoint=label),
                answer=Answer(text=story.items[place].truth.reference),
                seconds=0.0,
            ),
            lambda _: None,
        )
        for label, place in places[:: max(1, math.ceil(len(places) / _MAX_PROMPTS))]
    )


def _scale_usage(role: str, who: str, usage: Usage, factor: float) -> RoleSpending:
    return RoleSpending(
        role=role,
        who=who,
        calls=round(factor * usage.calls),
        input_tokens=round(factor * usage.input_tokens),
        output_tokens=round(factor * usage.output_tokens),
        cost_usd=None if usage.unpriced else factor * usage.cost_usd,
        source=f"measured, {usage.calls:,} calls",
    )


@dataclass(frozen=True, slots=True)
class PaidRole:
    """A judge or a reader that is a model: its role, its name and what it was resolved from."""

    role: str
    who: str
    target: str


def price_verdicts(
    role: PaidRole, settings: Settings, exhibits: Sequence[Exhibit], trials: int
) -> RoleSpending:
    """Price the longest replies to prompts of the rubric, as if no verdict were cached."""
    from recall_bench.judging.judges import split_reading
    from recall_bench.judging.rubric.passages import ExcerptMode, RubricOptions
    from recall_bench.judging.rubric.prompt import build_case

    target, reading = split_reading(role.target)
    options = RubricOptions(
        showing=ExcerptMode(settings.judge_shows),
        budget_tokens=settings.judge_budget_tokens,
        reading=reading,
    )
    prompts = [build_case(exhibit, options).prompt for exhibit in exhibits]
    size = fmean(
        estimate_tokens(prompt.system) + estimate_tokens(prompt.user) for prompt in prompts
    )
    reply = estimate_tokens(json.dumps({"reason": "." * _REASON, **SCALES}))
    source = f"prompts of {len(prompts)} reference answers"
    spending = _price_calls(replace(role, target=target), (size, reply), trials, source)
    return spending.replace(is_limit=True)


def _price_calls(
    role: PaidRole, size: tuple[float, float], calls: int, source: str
) -> RoleSpending:
    tokens = (round(size[0] * calls), round(size[1] * calls))
    try:
        cost = estimate_target_cost(role.target, input_tokens=tokens[0], output_tokens=tokens[1])
    except UsageError:
        cost = None  # not a model spec but a Python target: its price is unknown
    return RoleSpending(
        role=role.role,
        who=role.who,
        calls=calls,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        cost_usd=cost,
        source=source,
    )


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
    named = tuple(point for point in points if point.label in NAMED_RANGES)
    if named:
        yield "the named checkpoints", plan.replace(checkpoints=named)
    yield "the last checkpoint", plan.replace(checkpoints=points[-1:])


def _sum_costs(spending: Sequence[RoleSpending]) -> float | None:
    costs = [role.cost_usd for role in spending if role.cost_usd is not None]
    return sum(costs) if len(costs) == len(spending) else None
