"""A worker: does units with components of its own, and sends what happens to the driver."""

import traceback
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from recall_bench.core.budget import Budget
from recall_bench.core.errors import BenchError, BudgetSpent, JudgeGone, find_single_fault
from recall_bench.core.event import Event, encode_event
from recall_bench.core.plan import ScenarioCard
from recall_bench.core.scenario import Scenario
from recall_bench.core.schedule import plan_checkpoints
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.engine.checkpoint import OpenTrials
from recall_bench.engine.components import Components
from recall_bench.engine.grader import Grader
from recall_bench.engine.lifecycle import ask_snapshot, feed_and_pack, run_lifecycle
from recall_bench.engine.scenario_run import AnswerQueue, ScenarioRun, make_tracer
from recall_bench.engine.worker_messages import (
    OnEvents,
    RunSpec,
    RunUnit,
    SnapshotReady,
    Unit,
    UnitEvents,
    UnitFailure,
)
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.systems.reply import ReplyFinisher, list_paid_work

if TYPE_CHECKING:
    from recall_bench.text.passage_tracer import PassageTracer

_MAX_LOADED = 4
"""How many scenarios stay loaded: the units of one tend to come one after another."""


class _RelayQueue(AnswerQueue):
    """Yields after each answer: without a turn nothing is sent while a system computes."""

    @property
    def is_deep(self) -> bool:
        return True


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
    planned: dict[str, ScenarioCard]
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
            planned = {card.id: card for card in message.spec.plan.scenarios}
            self._runs[message.run] = _WorkerRun(spec=message.spec, planned=planned)
        send(UnitEvents())
        failure: UnitFailure | None = None
        try:
            await self._perform(self._runs[message.run], message, send)
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

    async def _perform(self, run: _WorkerRun, message: RunUnit, send: OnEvents) -> None:
        components, limits = await self._build_components(run), message.limits
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
        run.budgets.append(budget)
        try:
            await _UnitRun(run, components, budget, limits.at_once, send).execute(message.unit)
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


@dataclass(frozen=True, slots=True)
class _UnitRun:
    """One unit under way."""

    run: _WorkerRun
    components: Components
    budget: Budget
    at_once: int
    send: OnEvents

    async def execute(self, unit: Unit) -> None:
        """Feed, ask or judge."""
        loaded = self._load_scenario(unit.scenario)
        trials = loaded.trials
        if unit.saves:
            due = [trials.checkpoint_plans[trials.row[label]] for label in unit.saves]
            run = self._make_scenario_run(loaded, AnswerQueue(capacity=0))
            await feed_and_pack(run, due, unit, self._report_snapshot)
        elif unit.batches:
            await self._ask_and_judge(loaded, unit)
        else:
            grader, closed = self._make_grader(loaded), AnswerQueue()
            closed.close()
            await grader.run(unit.answers, closed, tuple, self.at_once)
            await grader.review(unit.reviews, self.at_once)
            await grader.judge_others(unit.others, self.at_once)
            self.budget.check()

    async def _ask_and_judge(self, loaded: _LoadedScenario, unit: Unit) -> None:
        """Judge answers as they come; what ends the asking is raised when all are judged."""
        trials = loaded.trials
        batches = [
            OpenTrials(
                trials.checkpoint_plans[trials.row[batch.checkpoint]],
                batch.repeat,
                list(batch.items),
            )
            for batch in unit.batches
        ]
        queue, failure = _RelayQueue(sum(len(batch.items) for batch in unit.batches)), None
        run = self._make_scenario_run(loaded, queue)
        async with anyio.create_task_group() as group:
            if not run.plan.unjudged:
                judge = self._make_grader(loaded).run
                group.start_soon(judge, (), queue, tuple, self.at_once)
            try:
                if unit.snapshot is None:
                    await run_lifecycle(run, batches)
                else:
                    await ask_snapshot(run, batches, Path(unit.snapshot))
            except BenchError as error:
                failure = error
            finally:
                queue.close()
        if failure is not None:
            raise failure
        self.budget.check()

    def _make_grader(self, loaded: _LoadedScenario) -> Grader:
        plan = self.run.spec.plan
        return Grader(
            ExhibitFactory(loaded.scenario, loaded.trials, window=plan.judge_memory_window),
            plan=plan,
            judges=self.components.judges,
            budget=self.budget,
            record=self._record,
        )

    def _make_scenario_run(self, loaded: _LoadedScenario, queue: AnswerQueue) -> ScenarioRun:
        components, plan = self.components, self.run.spec.plan
        return ScenarioRun(
            plan=plan,
            scenario=loaded.scenario,
            trials=loaded.trials,
            system=components.system,
            record=self._record,
            queue=queue,
            budget=self.budget,
            finisher=ReplyFinisher(
                lambda: loaded.tracer, plan=plan, reader=components.reader, budget=self.budget
            ),
            meter=components.meter,
            parallelism=self.at_once,
            inspected=loaded.inspected,
        )

    def _load_scenario(self, scenario: str) -> _LoadedScenario:
        kept = self.run.loaded
        found = kept.get(scenario)
        if found is None:
            card, plan = self.run.planned[scenario], self.run.spec.plan
            loaded = self.components.load_planned(card)
            owed = plan_checkpoints(
                loaded.items, card.last_day, plan, left_out=plan.list_left_out(scenario)
            )
            trials = ScenarioStates(loaded.items, owed, plan.repeats)
            # Before anything is asked: if the judge cannot prepare, no answer can be judged.
            if not plan.unjudged:
                self.components.judges.study(loaded)
            found = kept[scenario] = _LoadedScenario(scenario=loaded, trials=trials)
            while len(kept) > _MAX_LOADED:
                kept.popitem(last=False)
        kept.move_to_end(scenario)
        return found

    def _record(self, event: Event) -> None:
        self.send(UnitEvents(lines=encode_event(event) + b"\n"))

    def _report_snapshot(self, checkpoint: str, place: Path) -> None:
        ready = SnapshotReady(checkpoint=checkpoint, place=str(place))
        self.send(UnitEvents(snapshot=ready))


def _describe_bug(error: BaseException) -> UnitFailure:
    return UnitFailure(kind="bug", message="".join(traceback.format_exception(error)))
