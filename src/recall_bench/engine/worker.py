"""A worker: does units with components of its own, and sends what happens to the driver."""

import shutil
import traceback
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import ObjectSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from recall_bench.core.errors import (
    BenchError,
    BudgetSpent,
    JudgeGone,
    UsageError,
    find_single_fault,
)
from recall_bench.core.event import Answered, Event, encode_event
from recall_bench.core.memory import PortableSnapshots, Snapshots
from recall_bench.core.retry import Budget
from recall_bench.core.scenario import Scenario
from recall_bench.core.schedule import CheckpointPlan, plan_checkpoints
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.engine.checkpoint import OpenTrials
from recall_bench.engine.components import Components
from recall_bench.engine.fed_memory import (
    FeedFault,
    call_in_time,
    close_memory,
    open_fed_memory,
    release,
)
from recall_bench.engine.lifecycle import ask_copies, raise_pending, run_lifecycle
from recall_bench.engine.scenario_run import MAX_WAITING, ScenarioRun, make_tracer
from recall_bench.engine.worker_messages import (
    NotShared,
    OnEvents,
    RunSpec,
    RunUnit,
    SnapshotReady,
    Unit,
    UnitEvents,
    UnitFailure,
    UnitLimits,
)
from recall_bench.systems.reply import list_paid_work

if TYPE_CHECKING:
    from recall_bench.text.passage_tracer import PassageTracer

_MAX_LOADED = 4
"""How many scenarios stay loaded: the units of one tend to come one after another."""


@dataclass(kw_only=True)
class _LoadedScenario:
    """A scenario and the states of its trials."""

    scenario: Scenario
    trials: ScenarioStates
    inspected: set[str] = field(default_factory=set)
    """Labels of the checkpoints at which no memory is inspected any more."""

    @cached_property
    def tracer(self) -> "PassageTracer":
        """Traces what is found of it, for all of its units."""
        return make_tracer(self.scenario)


@dataclass(slots=True, kw_only=True)
class _WorkerRun:
    """A run that this worker takes part in."""

    spec: RunSpec
    components: Components | None = None
    budgets: list[Budget] = field(default_factory=list)
    """The budgets of the units under way."""
    loaded: OrderedDict[str, _LoadedScenario] = field(default_factory=OrderedDict)
    stop_reason: BudgetSpent | JudgeGone | None = None


class Worker:
    """Takes part in runs; the components of a run are built for its first unit."""

    def __init__(self) -> None:
        self._runs: dict[str, _WorkerRun] = {}
        self._building = anyio.Lock()

    async def perform(self, message: RunUnit, send: OnEvents) -> None:
        """Do one unit; every event is sent at once, and so is the reason if it ends early.

        Nothing but a cancellation is raised.
        """
        if message.spec is not None:
            self._runs[message.run] = _WorkerRun(spec=message.spec)
        send(UnitEvents())
        failure: UnitFailure | None = None
        try:
            await self._perform(self._runs[message.run], message.unit, message.limits, send)
        except BenchError as error:
            failure = UnitFailure.from_error(error)
        except BaseExceptionGroup as group:
            fault = find_single_fault(group)
            failure = _describe_bug(group) if fault is None else UnitFailure.from_error(fault)
        except Exception as error:  # noqa: BLE001 - a bug is reported by the driver
            failure = _describe_bug(error)
        send(UnitEvents(failure=failure, is_over=True))

    def stop(self, run: str, reason: UnitFailure) -> None:
        """Begin nothing new for the run; what is under way may finish."""
        part, error = self._runs.get(run), reason.to_error()
        if part is None or not isinstance(error, BudgetSpent | JudgeGone):
            return
        part.stop_reason = error
        for budget in part.budgets:
            budget.stop(error)

    async def close(self) -> None:
        """Close the components of every run."""
        for run in self._runs.values():
            if run.components is not None:
                components, run.components = run.components, None
                await components.close()

    async def _perform(
        self, run: _WorkerRun, unit: Unit, limits: UnitLimits, send: OnEvents
    ) -> None:
        components, plan = await self._build_components(run), run.spec.plan
        budget = Budget(
            limits.at_once,
            spent=limits.spent,
            allowed_usd=limits.allowed_usd,
            allowed_tokens=limits.allowed_tokens,
            max_calls=limits.max_calls,
            paid_work=list_paid_work(components.system.card, components.reader, judges=True),
        )
        if run.stop_reason is not None:
            budget.stop(run.stop_reason)
        loaded = _load_scenario(run, components, unit.scenario)

        def record(event: Event) -> None:
            send(UnitEvents(lines=encode_event(event) + b"\n"))

        def make_run(answers: ObjectSendStream[Answered] | None = None) -> ScenarioRun:
            return ScenarioRun.make(
                plan,
                loaded.scenario,
                loaded.trials,
                components,
                record=record,
                budget=budget,
                tracer=lambda: loaded.tracer,
                answers=answers,
                parallelism=limits.at_once,
                inspected=loaded.inspected,
            )

        def report_snapshot(checkpoint: str, place: Path) -> None:
            ready = SnapshotReady(checkpoint=checkpoint, place=str(place))
            send(UnitEvents(snapshot=ready))

        run.budgets.append(budget)
        try:
            if unit.saves:
                due = [loaded.trials.get_plan(label) for label in unit.saves]
                await _feed_and_pack(make_run(), due, unit, report_snapshot)
            elif unit.batches:
                answers, waiting = anyio.create_memory_object_stream[Answered](MAX_WAITING)
                await _ask_and_judge(make_run(answers), unit, answers, waiting)
                budget.check()
            else:
                grader = make_run().make_grader()
                await grader.judge_answers(unit.answers, limits.at_once)
                await grader.review(unit.reviews, limits.at_once)
                await grader.judge_others(unit.others, limits.at_once)
                budget.check()
        finally:
            run.budgets.remove(budget)

    async def _build_components(self, run: _WorkerRun) -> Components:
        async with self._building:
            if run.components is None:
                components = run.spec.factory()
                try:
                    components.refuse_others(run.spec.plan)
                except BaseException:
                    await components.close()
                    raise
                run.components = components
            return run.components


async def _ask_and_judge(
    run: ScenarioRun,
    unit: Unit,
    answers: MemoryObjectSendStream[Answered],
    waiting: MemoryObjectReceiveStream[Answered],
) -> None:
    """Judge answers as they come; what ends the asking is raised when all are judged."""
    batches = [
        OpenTrials(run.trials.get_plan(batch.checkpoint), batch.repeat, list(batch.items))
        for batch in unit.batches
    ]
    failure: BenchError | None = None
    with waiting:
        async with anyio.create_task_group() as group:
            if not run.plan.unjudged:
                group.start_soon(run.make_grader().judge_stream, waiting, run.parallelism)
            try:
                if unit.snapshot is None:
                    await run_lifecycle(run, batches)
                else:
                    await _ask_snapshot(run, batches, Path(unit.snapshot))
            except BenchError as error:
                failure = error
            finally:
                answers.close()
    if failure is not None:
        raise failure


_POLL_S = 0.05
_UNFINISHED = ".part"
"""The suffix of the folder of a snapshot that is still being written."""


async def _feed_and_pack(
    run: ScenarioRun,
    due: Sequence[CheckpointPlan],
    unit: Unit,
    on_saved: Callable[[str, Path], None],
) -> None:
    """Feed a memory from checkpoint to checkpoint, and pack a snapshot for other workers at each.

    If the system cannot be fed, that is recorded and no further snapshot is packed.
    """
    place = Path(unit.place)
    snapshots, portable = _require_portable(run, place)
    try:
        fed = await open_fed_memory(run, due[0])
        try:
            for point in due:
                await fed.feed_until(point)
                # The driver removes those that were asked; another process has no event.
                while sum(1 for _ in place.iterdir()) >= unit.ahead:  # noqa: ASYNC110
                    await anyio.sleep(_POLL_S)
                save = partial(snapshots.save, fed.memory)
                token = await call_in_time("snapshot", save, run=run, point=point)
                # A feeder that died may have left snapshots of other checkpoints there.
                packed = place / f"{run.trials.row[point.checkpoint.label]:04}"
                pack = partial(_pack, portable, token, packed)
                await call_in_time("snapshot", pack, run=run, point=point)
                await release(partial(snapshots.drop, token), run, point)
                on_saved(point.checkpoint.label, packed)
        finally:
            await close_memory(fed.memory, run, due[-1])
    except FeedFault as fault:
        run.record(fault.event)


def _require_portable(run: ScenarioRun, place: Path) -> tuple[Snapshots, PortableSnapshots]:
    """Return the system's snapshots in both roles; raise if they cannot be exchanged there."""
    if not place.is_dir():
        raise NotShared(f"{place}: this worker cannot see the folder where snapshots go")
    snapshots = run.system.snapshots
    if snapshots is None or not isinstance(snapshots, PortableSnapshots):
        raise UsageError(f"{run.system.card.name} has no snapshots that others can open")
    return snapshots, snapshots


async def _pack(snapshots: PortableSnapshots, token: str, place: Path) -> None:
    """Pack the snapshot so that its folder appears whole or not at all."""
    unfinished = place.with_name(place.name + _UNFINISHED)
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(place, ignore_errors=True)
    try:
        # No other user may write there: a snapshot can run code when it is opened.
        unfinished.mkdir(mode=0o700)
        await snapshots.pack(token, unfinished)
        unfinished.rename(place)
    except OSError as error:
        raise NotShared(f"{place}: this worker cannot leave a snapshot there ({error})") from error


async def _ask_snapshot(run: ScenarioRun, rounds: Sequence[OpenTrials], place: Path) -> None:
    """Ask the rounds of one checkpoint on copies of the snapshot that was packed in `place`."""
    snapshots, portable = _require_portable(run, place)
    try:
        unpack = partial(portable.unpack, place)
        token = await call_in_time("snapshot", unpack, run=run, point=rounds[0].point)
        await ask_copies(run, rounds, snapshots, token)
    except FeedFault as fault:
        run.record(fault.event)
    raise_pending(run)


def _load_scenario(run: _WorkerRun, components: Components, scenario: str) -> _LoadedScenario:
    if scenario not in run.loaded:
        plan = run.spec.plan
        card = next(card for card in plan.scenarios if card.id == scenario)
        loaded = components.load_planned(card)
        owed = plan_checkpoints(
            loaded.items, card.last_day, plan, left_out=plan.list_left_out(scenario)
        )
        trials = ScenarioStates(loaded.items, owed, plan.repeats)
        # Before anything is asked: if the judge cannot prepare, no answer can be judged.
        if not plan.unjudged:
            components.judges.study(loaded)
        run.loaded[scenario] = _LoadedScenario(scenario=loaded, trials=trials)
        while len(run.loaded) > _MAX_LOADED:
            run.loaded.popitem(last=False)
    run.loaded.move_to_end(scenario)
    return run.loaded[scenario]


def _describe_bug(error: BaseException) -> UnitFailure:
    return UnitFailure(kind="bug", message="".join(traceback.format_exception(error)))
