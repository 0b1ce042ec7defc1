"""One worker: carries out assignments with a staff of its own, and tells what happens."""

import traceback
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from recall_bench.core.event import Event, encode
from recall_bench.core.plan import ScenarioCard
from recall_bench.core.question import Scenario
from recall_bench.core.schedule import sheets
from recall_bench.core.standing import ScenarioStanding
from recall_bench.core.tracing import Tracer
from recall_bench.errors import BenchError, BudgetSpent, JudgeGone
from recall_bench.executors.assignments import (
    Ask,
    Assignment,
    Begun,
    Brief,
    Feed,
    Grade,
    Message,
    PaperLeft,
    Raised,
    Reviews,
    Saved,
    Terms,
)
from recall_bench.executors.snapshots import ask_saved, feed_and_pack
from recall_bench.running.court import Court
from recall_bench.running.desk import Desk, is_paid
from recall_bench.running.docket import Docket
from recall_bench.running.examination import Examination
from recall_bench.running.exhibits import Exhibits
from recall_bench.running.grade import Grading
from recall_bench.running.lifecycles import Paper, examine
from recall_bench.staff import Staff

_KEPT = 4
"""So many scenarios stay loaded: shards of one tend to come one after another."""


class _Relay(Docket):
    """Takes answers that somebody else will judge, and asks for a turn after each.

    Without a turn nothing is sent while a system computes.
    """

    def __init__(self) -> None:
        super().__init__(capacity=0)

    @property
    def is_deep(self) -> bool:
        return True


@dataclass(slots=True, kw_only=True)
class _Loaded:
    """A scenario, and room for its trials."""

    scenario: Scenario
    standing: ScenarioStanding
    tracer: Tracer
    inspected: set[str] = field(default_factory=set)
    """The checkpoints at which no memory is looked into any more, by label."""


@dataclass(slots=True, kw_only=True)
class _Engagement:
    """A run this worker takes part in."""

    brief: Brief
    planned: dict[str, ScenarioCard]
    staff: Staff | None = None
    courts: list[Court] = field(default_factory=list)
    loaded: OrderedDict[str, _Loaded] = field(default_factory=OrderedDict)
    adjourned: BudgetSpent | JudgeGone | None = None


class Worker:
    """Takes part in runs. Each staff is called together when its first assignment comes."""

    def __init__(self) -> None:
        self._engagements: dict[str, _Engagement] = {}
        self._calling = anyio.Lock()

    def brief(self, brief: Brief) -> None:
        """Hear of a run."""
        planned = {card.id: card for card in brief.plan.scenarios}
        self._engagements[brief.run] = _Engagement(brief=brief, planned=planned)

    async def perform(
        self, run: str, assignment: Assignment, terms: Terms, tell: Callable[[Message], None]
    ) -> None:
        """Carry out one assignment; `tell` hears of every event at once, and why it ended early.

        Nothing but a cancellation is raised.
        """
        tell(Begun())
        try:
            await self._perform(self._engagements[run], assignment, terms, tell)
        except BenchError as error:
            tell(Raised.of(error))
        except BaseExceptionGroup as group:
            tell(_told(group))
        except Exception:  # noqa: BLE001 - a bug is told to whoever reports it
            tell(Raised(kind="bug", message=traceback.format_exc()))

    def adjourn(self, run: str, reason: Raised) -> None:
        """Begin nothing new for the run; what is under way may finish."""
        engagement, error = self._engagements.get(run), reason.error()
        if engagement is None or not isinstance(error, BudgetSpent | JudgeGone):
            return
        engagement.adjourned = error
        for court in engagement.courts:
            court.adjourn(error)

    async def close(self) -> None:
        """Let every staff go."""
        for engagement in self._engagements.values():
            if engagement.staff is not None:
                staff, engagement.staff = engagement.staff, None
                await staff.close()

    async def _perform(
        self,
        engagement: _Engagement,
        assignment: Assignment,
        terms: Terms,
        tell: Callable[[Message], None],
    ) -> None:
        staff = await self._staff(engagement)
        court = Court(
            terms.at_once,
            spent=terms.spent,
            allowed_usd=terms.allowed_usd,
            allowed_tokens=terms.allowed_tokens,
            max_calls=terms.max_calls,
            pays_reader=is_paid(staff.reader),
        )
        if engagement.adjourned is not None:
            court.adjourn(engagement.adjourned)
        engagement.courts.append(court)
        try:
            duty = _Duty(engagement, staff, court, terms, tell)
            await duty.carry_out(assignment)
        finally:
            engagement.courts.remove(court)

    async def _staff(self, engagement: _Engagement) -> Staff:
        async with self._calling:
            if engagement.staff is None:
                staff = engagement.brief.hire()
                try:
                    staff.refuse_others(engagement.brief.plan)
                except BaseException:
                    await staff.close()
                    raise
                engagement.staff = staff
            return engagement.staff


class _Duty:
    """One assignment under way."""

    def __init__(
        self,
        engagement: _Engagement,
        staff: Staff,
        court: Court,
        terms: Terms,
        tell: Callable[[Message], None],
    ) -> None:
        self._engagement = engagement
        self._plan = engagement.brief.plan
        self._staff = staff
        self._court = court
        self._terms = terms
        self._tell = tell

    async def carry_out(self, assignment: Assignment) -> None:
        """Do what is asked."""
        loaded = self._loaded(assignment.scenario)
        match assignment:
            case Ask():
                await self._ask(loaded, assignment)
            case Feed():
                rows = loaded.standing.row
                due = [loaded.standing.sheets[rows[label]] for label in assignment.checkpoints]
                await feed_and_pack(self._exam(loaded), due, assignment, self._saved)
            case Grade() | Reviews():
                await self._judge(loaded, assignment)

    async def _ask(self, loaded: _Loaded, assignment: Ask) -> None:
        papers = [_paper(loaded.standing, left) for left in assignment.papers]
        if assignment.saved is None:
            await examine(self._exam(loaded), papers)
        else:
            await ask_saved(self._exam(loaded), papers, Path(assignment.saved))

    async def _judge(self, loaded: _Loaded, assignment: Grade | Reviews) -> None:
        plan, bench = self._plan, self._staff.bench
        exhibits = Exhibits(loaded.scenario, loaded.standing, window=plan.judge_memory_window)
        grading = Grading(exhibits, plan=plan, bench=bench, court=self._court, record=self._record)
        if isinstance(assignment, Grade):
            over = Docket()
            over.close()
            await grading.run(assignment.answers, over, tuple, self._terms.at_once)
        else:
            await grading.review(assignment.verdicts, self._terms.at_once)
        self._court.check()

    def _exam(self, loaded: _Loaded) -> Examination:
        staff = self._staff
        return Examination(
            plan=self._plan,
            scenario=loaded.scenario,
            standing=loaded.standing,
            system=staff.system,
            record=self._record,
            docket=_Relay(),
            court=self._court,
            desk=Desk(loaded.tracer, plan=self._plan, reader=staff.reader, court=self._court),
            meter=staff.meter,
            parallelism=self._terms.at_once,
            inspected=loaded.inspected,
        )

    def _loaded(self, scenario: str) -> _Loaded:
        kept = self._engagement.loaded
        found = kept.get(scenario)
        if found is None:
            loaded = self._staff.loaded(self._engagement.planned[scenario])
            card, plan = self._engagement.planned[scenario], self._plan
            standing = ScenarioStanding(
                loaded.items, sheets(loaded.items, card.last_day, plan), plan.repeats
            )
            # Before anything is asked: a judge who cannot prepare could grade none of it.
            if not plan.unjudged:
                self._staff.bench.study(loaded)
            tracer = Tracer(loaded.fed)
            found = kept[scenario] = _Loaded(scenario=loaded, standing=standing, tracer=tracer)
            while len(kept) > _KEPT:
                kept.popitem(last=False)
        kept.move_to_end(scenario)
        return found

    def _record(self, event: Event) -> None:
        self._tell(encode(event) + b"\n")

    def _saved(self, checkpoint: str, place: Path) -> None:
        self._tell(Saved(checkpoint=checkpoint, place=str(place)))


def _paper(standing: ScenarioStanding, left: PaperLeft) -> Paper:
    return standing.sheets[standing.row[left.checkpoint]], left.repeat, list(left.items)


def _told(group: BaseExceptionGroup[BaseException]) -> Raised:
    """The failure several tasks met together; the whole group's traceback if a bug is there."""
    faults, others = group.split(BenchError)
    leaf: BaseException | None = faults if others is None else None
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    if isinstance(leaf, BenchError):
        return Raised.of(leaf)
    return Raised(kind="bug", message="".join(traceback.format_exception(group)))
