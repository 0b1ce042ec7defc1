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
from typing import NamedTuple

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
from recall_bench.core.memory import Answer, MemorySystem
from recall_bench.core.plan import NAMED_RANGES, Plan, SampleMode, Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.core.runtime import run_to_end
from recall_bench.core.scenario import Scenario
from recall_bench.core.settings import RUNS, Settings
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.usage import Usage, estimate_tokens
from recall_bench.core.verdict import SCALES, Exhibit
from recall_bench.engine.assembly import assemble
from recall_bench.engine.job import Job
from recall_bench.engine.plan_outline import (
    Outline,
    ScenarioWork,
    compute_workload,
    list_scenario_work,
    make_outline,
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


class StepTime(ComputedRecord, frozen=True, kw_only=True):
    """The time of one step, and where it comes from."""

    step: str
    mean_s: float
    times: int
    """The number of measurements; 0 if the time was stated."""
    count: int
    """How often one process executes it."""
    total_s: float
    """The total, one after another."""


class RoleSpending(ComputedRecord, frozen=True, kw_only=True):
    """The usage of one role in all."""

    role: str
    who: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    source: str
    is_limit: bool = False


class HoursEstimate(ComputedRecord, frozen=True, kw_only=True):
    """How long the run takes with its executor."""

    expected: float
    measured_days: int | None
    """The last measured story day, if the story is longer."""


class SmallerRun(ComputedRecord, frozen=True, kw_only=True):
    """A smaller run and its cost."""

    change: str
    trials: int
    questions: int
    hours: float | None
    cost_usd: float | None


class Forecast(ComputedRecord, frozen=True, kw_only=True):
    """A plan with its estimates of time and money."""

    outline: Outline
    sources: tuple[str, ...]
    """The earlier runs that it is computed from."""
    other_systems: tuple[str, ...]
    """The systems of the earlier runs, if they are not the planned one."""
    stages: tuple[StepTime, ...]
    untimed: tuple[str, ...]
    """Steps that were never timed, which the hours leave out."""
    hours: HoursEstimate | None
    """None if neither an earlier run nor the user gives the time of answers or days."""
    spending: tuple[RoleSpending, ...]
    cost_usd: float | None
    """None if a price is unknown."""
    less: tuple[SmallerRun, ...]
    """The plan itself first."""


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
    """What the steps of one run took."""

    name: str
    plan: Plan
    times: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    usage: defaultdict[str, Usage] = field(default_factory=lambda: defaultdict(Usage))
    """What the judge, its reviews, the reader, and the system for days and answers used."""
    last_day: int = 0
    wall_s: float = 0.0
    """The run time of its processes, without the pauses between them."""
    has_workers: bool = False

    def note(self, event: Event) -> None:
        """Take one event into account."""
        match event:
            case RunStarted() | RunResumed():
                self.has_workers |= event.executor is not None
            case Ingested():
                self._add(FEED, event.seconds)
                self.last_day = max(self.last_day, event.day)
            case Settled():
                self._add(SETTLE, event.seconds)
            case Metered():
                self._add(FEED if event.stage == INGEST else ASK, None, event.usage)
            case NotAnswered():
                self._add(ASK, event.seconds)
            case Answered():
                self._add(ASK, event.seconds, event.answer.usage)
                self._add(READ, event.reading_s, event.reading_usage)
            case Judged():
                self._add(JUDGE, event.seconds, event.usage)
                self._add("review", None, event.review_usage)

    def _add(self, step: str, seconds: float | None, usage: Usage | None = None) -> None:
        if seconds is not None:
            self.times[step] += 1
            self.seconds[step] += seconds
        if usage is not None:
            self.usage[step] += usage


def measure_run(folder: Path) -> MeasuredRun:
    """Measure the run in the folder, finished or not."""
    try:
        events = iter(read_events(folder / JOURNAL))
        first = next(events, None)
    except OSError as error:
        raise UsageError(explain_missing(folder, error)) from error
    if not isinstance(first, RunStarted):
        raise DataError(f"{folder / JOURNAL}: does not begin with a plan; name the folder of a run")
    run, latest = MeasuredRun(name=str(folder), plan=first.plan), first.at
    run.note(first)
    for event in events:
        # Questions are declared with the time they were read, which was before the run started.
        if not isinstance(event, RunResumed):
            run.wall_s += max(0.0, (event.at - latest).total_seconds())
        latest = event.at if isinstance(event, RunResumed) else max(latest, event.at)
        run.note(event)
    return run


class EarlierRuns(NamedTuple):
    """Runs to estimate from."""

    of_system: tuple[MeasuredRun, ...] = ()
    of_judge: tuple[MeasuredRun, ...] = ()


def find_earlier_runs(plan: Plan, folder: Path, named: Sequence[Path] = ()) -> EarlierRuns:
    """Find the runs named, or the newest of the same system and judge near the run's folder.

    A named run counts for the system whatever system it ran, but for the judge only if the judge
    is the same.
    """

    def has_same_judge(other: Plan) -> bool:
        ours, theirs = other.judge, plan.judge
        return not other.unjudged and (ours.name, ours.model) == (theirs.name, theirs.model)

    if named:
        runs = tuple(map(measure_run, named))
        return EarlierRuns(runs, tuple(run for run in runs if has_same_judge(run.plan)))
    plans = [(path, other) for path, other in _list_plans(folder) if other.imported is None]
    of_system = [
        path
        for path, other in plans
        if other.system.name == plan.system.name and other.answers_from is None
    ][:MAX_EARLIER_RUNS]
    of_judge = [path for path, other in plans if has_same_judge(other)][:MAX_EARLIER_RUNS]
    measured = {path: measure_run(path) for path in dict.fromkeys(of_system + of_judge)}
    return EarlierRuns(
        tuple(measured[path] for path in of_system), tuple(measured[path] for path in of_judge)
    )


def _list_plans(folder: Path) -> Iterator[tuple[Path, Plan]]:
    """Every run below `recall-runs` and beside the folder, newest first."""
    places = (RUNS, folder.parent)
    journals = {path.resolve(): path for place in places for path in place.glob(f"*/{JOURNAL}")}
    for path in sorted(journals.values(), key=lambda journal: -journal.stat().st_mtime):
        try:
            first = next(read_events(path), None)
        except BenchError:
            continue  # not a run of this version
        if isinstance(first, RunStarted):
            yield path.parent, first.plan


class StatedTimes(NamedTuple):
    """Seconds that the user states; None uses what was measured."""

    answer_s: float | None = None
    day_s: float | None = None
    verdict_s: float | None = None


def estimate_run(
    job: Job, *, earlier: Sequence[Path] = (), stated_s: StatedTimes | None = None
) -> Forecast:
    """Estimate what the job will take, from the runs named, or from the newest of its system."""
    plan, outline = job.plan, make_outline(job)
    runs = find_earlier_runs(plan, job.folder, earlier)
    paces, times = _measure_paces(plan, runs, stated_s or StatedTimes())
    steps = [FEED, SETTLE, ASK]
    steps += [READ] if plan.reader is not None else []
    steps += [] if plan.unjudged else [JUDGE]
    untimed = tuple(step for step in steps if step not in paces)
    is_timed = not {ASK, FEED}.intersection(untimed)
    counts = {FEED: outline.ingest_calls, SETTLE: outline.settle_calls}
    stories = list_scenario_work(plan, job.questions)
    measured = max((run.last_day for run in runs.of_system), default=0)
    last = max(point.cutoff for story in stories for point in story.points)
    spending = tuple(_list_spending(job, runs, outline, stories[0]))
    costs = [role.cost_usd for role in spending if role.cost_usd is not None]
    cost = sum(costs) if len(costs) == len(spending) else None
    systems = tuple(dict.fromkeys(run.plan.system.name for run in runs.of_system))
    smaller: dict[int, SmallerRun] = {}
    for change, variant in _list_variants(plan):
        work = compute_workload(list_scenario_work(variant, job.questions), variant)
        if work.trials and work.trials not in smaller:
            smaller[work.trials] = SmallerRun(
                change=change,
                trials=work.trials,
                questions=work.questions,
                hours=_estimate_hours(job, variant, paces, outline.workers) if is_timed else None,
                cost_usd=None if cost is None else cost * work.trials / outline.trials,
            )
    return Forecast(
        outline=outline,
        sources=tuple(dict.fromkeys(run.name for run in (*runs.of_system, *runs.of_judge))),
        other_systems=systems if set(systems) - {plan.system.name} else (),
        stages=tuple(
            StepTime(
                step=step,
                mean_s=seconds,
                times=times[step],
                count=counts.get(step, outline.trials),
                total_s=seconds * counts.get(step, outline.trials),
            )
            for step, seconds in paces.items()
        ),
        untimed=untimed,
        hours=HoursEstimate(
            expected=_estimate_hours(job, plan, paces, outline.workers),
            measured_days=measured if 0 < measured < last else None,
        )
        if is_timed
        else None,
        spending=spending,
        cost_usd=cost,
        less=tuple(smaller.values()),
    )


def _measure_paces(
    plan: Plan, earlier: EarlierRuns, stated: StatedTimes
) -> tuple[dict[str, float], Counter[str]]:
    """Return the seconds of each step that was timed or stated, and how often it was timed."""
    of_system = earlier.of_system
    runs_of = {
        FEED: of_system,
        SETTLE: of_system,
        ASK: of_system,
        READ: [run for run in of_system if plan.reader and run.plan.reader == plan.reader],
        JUDGE: () if plan.unjudged else earlier.of_judge,
    }
    paces, times = dict[str, float](), Counter[str]()
    for step, runs in runs_of.items():
        if count := sum(run.times[step] for run in runs):
            paces[step] = sum(run.seconds[step] for run in runs) / count
            times[step] = count
    for step, seconds in ((ASK, stated.answer_s), (FEED, stated.day_s), (JUDGE, stated.verdict_s)):
        if seconds is not None:
            paces[step], times[step] = seconds, 0
    # Loading, tracing and writing: what a run in one process took beyond its steps.
    alone = [run for run in of_system if run.times[ASK] and not run.has_workers]
    if alone:
        times[REST] = sum(run.times[ASK] for run in alone)
        rest_s = sum(run.wall_s - sum(run.seconds.values()) for run in alone)
        paces[REST] = max(0.0, rest_s) / times[REST]
    return paces, times


def _estimate_hours(job: Job, plan: Plan, paces: Mapping[str, float], workers: int) -> float:
    """Estimate the hours of a plan: its steps, divided among workers and concurrent questions."""
    work = compute_workload(list_scenario_work(plan, job.questions), plan)
    pace, settings, card = defaultdict(float, paces), job.settings, plan.system
    concurrency = 1 if card.computes else min(settings.parallelism, card.max_concurrency)
    asking = work.trials * (pace[ASK] + pace[READ]) / concurrency
    judging = work.trials * pace[JUDGE] / (1 if plan.judge.computes else settings.parallelism)
    # A judge computes while a system waits, but not while another computation runs.
    takes_turns = plan.judge.computes and card.computes
    total = asking + judging if takes_turns else max(asking, judging)
    total += work.ingests * pace[FEED] + work.settles * pace[SETTLE] + work.trials * pace[REST]
    return total / min(workers, settings.max_calls or workers) / 3600


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


def _list_spending(
    job: Job, earlier: EarlierRuns, outline: Outline, story: ScenarioWork
) -> Iterator[RoleSpending]:
    """List what each role that may cost money will use."""
    plan, settings, trials = job.plan, job.settings, outline.trials
    judges = [] if plan.unjudged else [("judge", plan.judge, settings.judge)]
    judges += [
        (f"judge {number}", card, target)
        for number, (card, target) in enumerate(
            zip(plan.other_judges, settings.judges[1:], strict=True), start=2
        )
    ]
    if plan.appellate is not None and settings.appellate_judge is not None:
        # At most: how many verdicts are reviewed is known once they are given.
        judges.append(("second judge", plan.appellate, settings.appellate_judge))
    paid = [judge for judge in judges if not judge[1].computes]
    reader = plan.reader if plan.reader is not None and plan.reader.model is not None else None
    exhibits: tuple[Exhibit, ...] = ()
    if paid or reader is not None:
        exhibits = build_exhibits(job.components.load(story.scenario), story, plan)
    for role, card, target in paid:
        who = card.model or card.name
        usage, verdicts = Usage(), 0
        for run in earlier.of_judge if role == "judge" else ():
            usage += run.usage[JUDGE] - run.usage["review"]
            verdicts += run.times[JUDGE]
        if usage.calls and verdicts:
            yield _scale_usage(role, who, usage, trials / verdicts)
        else:
            yield price_verdicts(PaidRole(role, who, target), settings, exhibits, trials)
    if reader is not None and settings.reader:
        readers = [run for run in earlier.of_system if run.plan.reader == reader]
        usage = sum((run.usage[READ] for run in readers), Usage())
        answers = sum(run.times[READ] for run in readers)
        if usage.calls and answers:
            yield _scale_usage("reader", reader.model or reader.name, usage, trials / answers)
        else:
            role_of_reader = PaidRole("reader", reader.model or reader.name, settings.reader)
            yield _price_reading(role_of_reader, plan, exhibits, trials)
    asking = sum((run.usage[ASK] for run in earlier.of_system), Usage())
    feeding = sum((run.usage[FEED] for run in earlier.of_system), Usage())
    if asking.tokens or feeding.tokens:
        answers = sum(run.times[ASK] for run in earlier.of_system)
        days = sum(run.times[FEED] for run in earlier.of_system)
        parts = ((asking, trials / max(1, answers)), (feeding, outline.ingest_calls / max(1, days)))
        yield RoleSpending(
            role="system",
            who=plan.system.name,
            calls=round(parts[0][1] * asking.calls),
            input_tokens=round(sum(factor * usage.input_tokens for usage, factor in parts)),
            output_tokens=round(sum(factor * usage.output_tokens for usage, factor in parts)),
            cost_usd=None
            if asking.unpriced or feeding.unpriced
            else sum(factor * usage.cost_usd for usage, factor in parts),
            source=f"{answers:,} answers and {days:,} days metered",
        )


def build_exhibits(scenario: Scenario, story: ScenarioWork, plan: Plan) -> tuple[Exhibit, ...]:
    """Build what a judge is shown under this plan, of some answers that are the reference."""
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


class PaidRole(NamedTuple):
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
    spending = _price_calls(role._replace(target=target), (size, reply), trials, source)
    return spending.replace(is_limit=True)


def _price_reading(
    role: PaidRole, plan: Plan, exhibits: Sequence[Exhibit], trials: int
) -> RoleSpending:
    from recall_bench.systems.readers import build_reader_prompt

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
    return _price_calls(role, (fmean(prompts) + (room or 0), fmean(replies)), trials, source)


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
