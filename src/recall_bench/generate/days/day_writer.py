"""The entries of a day, each by an author who knows what that session knows by then."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from recall_bench.core.usage import Usage
from recall_bench.datasets.persona_story import Persona, Story, read_persona, read_story
from recall_bench.generate.call_log import CallLog, log_path
from recall_bench.generate.days.day_plan import (
    PlannedDay,
    SessionPlan,
    StoryPlan,
    find_isolated_sessions,
    plan_story,
)
from recall_bench.generate.days.diary import Diary, PastReader, render_day
from recall_bench.generate.days.entry_check import check_entry
from recall_bench.generate.days.entry_prompt import (
    USUAL_TOKENS,
    EntryRequirements,
    build_entry_prompt,
    collect_material,
    collect_requirements,
)
from recall_bench.generate.days.knowledge import HiddenValueFinder
from recall_bench.generate.model_caller import ModelCaller, describe_estimate, open_model
from recall_bench.generate.model_reply import NoUsableReply, ask_until_usable
from recall_bench.generate.pass_request import DaysRequest
from recall_bench.generate.pass_run import MissingUnit, PassResult, PassStop, run_pass, run_units
from recall_bench.models.model import Prompt

if TYPE_CHECKING:
    from recall_bench.models.model import Model


@dataclass(frozen=True, slots=True)
class EntryRequest:
    """The request for an entry, and what is asked of the reply."""

    prompt: Prompt
    demands: EntryRequirements


class EntryWriter:
    """Asks for entries. A request depends on the story and the days on disk, and nothing else."""

    def __init__(
        self, persona: Persona, story: Story, plan: StoryPlan, hindsight: PastReader
    ) -> None:
        self._persona = persona
        self._story = story
        self._hindsight = hindsight
        self._isolated = find_isolated_sessions(plan.sessions)
        self._secrecy = HiddenValueFinder(persona, story.arcs, self._isolated)

    def build_request(self, planned: PlannedDay, telling: SessionPlan) -> EntryRequest:
        """The request for what one session tells on one day."""
        unsaid = self._secrecy.find_hidden(telling.session, planned.day)
        past = self._hindsight.collect_past(planned, telling)
        blocks = collect_material(
            self._persona, self._story.epoch, planned, telling, unsaid=unsaid, past=past
        )
        demands = collect_requirements(
            planned,
            telling,
            self._story.arcs,
            self._isolated,
            unsaid=unsaid,
            blocks=blocks,
            shown=past.entries,
        )
        return EntryRequest(build_entry_prompt(planned, telling, blocks), demands)

    async def write_entry(
        self, caller: ModelCaller, planned: PlannedDay, telling: SessionPlan
    ) -> str:
        """The entry of one session; Unwritten if the model gives none that can be used."""
        asked = self.build_request(planned, telling)
        return await ask_until_usable(
            caller,
            f"{planned.unit}, {telling.session.id}",
            asked.prompt,
            lambda reply: check_entry(reply, asked.demands),
        )


OnProgress = Callable[[str], None]
"""Hears a sentence about each day."""


def generate_days(
    request: DaysRequest, told: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Write every day of the story that is not there yet, or every one with `overwrite`.

    The same request goes on where an earlier one stopped. A model of one's own may take the place
    of the one the request names.
    """
    if model is None and request.is_offline:
        from recall_bench.generate.days.offline_days import write_offline_days

        return write_offline_days(request, told)
    if request.from_ledger:
        from recall_bench.generate.days.ledger_days import write_from_ledger

        return write_from_ledger(request, told, model)
    return _write_with_model(request, told, model)


def _write_with_model(request: DaysRequest, told: OnProgress, model: "Model | None") -> PassResult:
    layout = request.find_layout()
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    plan = plan_story(persona, story)
    span = request.select_days(story.last_day)
    with CallLog(log_path(layout.folder, "days", layout.suffix)) as log:
        diary = Diary(layout)
        diary.remove_leftovers()
        hindsight = PastReader(
            diary, plan.days, story.epoch, lag=request.lag, window=request.history_window
        )
        work = _ModelDaysPass(
            request=request,
            told=told,
            folder=str(layout.memories),
            last=span[-1],
            wanted=[planned for planned in plan.days if planned.day in span],
            plan=plan,
            author=EntryWriter(persona, story, plan, hindsight),
            diary=diary,
            log=log,
        )
        return work.run(model)


@dataclass(slots=True, kw_only=True)
class _ModelDaysPass:
    """The writing of the days, under way."""

    request: DaysRequest
    told: OnProgress
    folder: str
    last: int
    wanted: list[PlannedDay]
    plan: StoryPlan
    author: EntryWriter
    diary: Diary
    log: CallLog
    written: int = 0
    missing: list[MissingUnit] = field(default_factory=list)

    def run(self, model: "Model | None") -> PassResult:
        """Write what is owed; a model is opened only if something is."""
        there = frozenset(each.day for each in self.wanted if self._is_there(each))
        owed = [planned for planned in self.wanted if planned.day not in there]
        if not owed:
            if self.request.overwrite:
                self.log.end_round()
            return self._make_result(len(there), None, None)
        for note in self.plan.notes:
            self.told(f"[generator] {note}")
        asked = open_model(self.request) if model is None else model
        self.log.begin_round(overwrite=self.request.overwrite)
        caller = ModelCaller.from_request(self.request, asked, self.log)
        self._report_estimate(owed)

        stopped = run_pass(
            lambda: self._write_days(caller, there), closing=asked if model is None else None
        )
        if self.request.overwrite and stopped is None and not self.missing:
            self.log.end_round()
        return self._make_result(len(there), caller, stopped)

    def _is_there(self, planned: PlannedDay) -> bool:
        if self.request.overwrite:
            return self.log.is_written_anew(planned.unit) and planned.day in self.diary.days
        return planned.day in self.diary.days

    def _report_estimate(self, owed: list[PlannedDay]) -> None:
        calls = sum(len(planned.tellings) for planned in owed)
        sample = self.author.build_request(owed[-1], owed[-1].tellings[0]).prompt
        self.told(describe_estimate(self.request.model, calls, sample, USUAL_TOKENS))

    async def _write_days(self, caller: ModelCaller, there: frozenset[int]) -> None:
        async def write_one(planned: PlannedDay) -> None:
            if planned.day not in there:
                await self._write_day(caller, planned)

        # Days that are there keep their places, so that the lag means the same in every run.
        await run_units(
            self.wanted, write_one, at_once=self.request.parallelism, lag=self.request.lag
        )

    async def _write_day(self, caller: ModelCaller, planned: PlannedDay) -> None:
        """All sessions of a day at once; if one cannot be had, the day is not written."""
        entries: dict[str, str] = {}
        failures: dict[str, str] = {}

        async def write_session(telling: SessionPlan) -> None:
            try:
                entries[telling.session.id] = await self.author.write_entry(
                    caller, planned, telling
                )
            except NoUsableReply as failure:
                failures[telling.session.id] = str(failure)

        async with anyio.create_task_group() as tasks:
            for telling in planned.tellings:
                tasks.start_soon(write_session, telling)
        order = [telling.session.id for telling in planned.tellings]
        if failures:
            self._skip(planned, {name: failures[name] for name in order if name in failures})
            return
        await self.diary.write_day(planned.day, render_day({name: entries[name] for name in order}))
        self.log.mark_written(planned.unit)
        self.written += 1
        unique = len(self.diary.days)
        self.told(f"Generated day {planned.day}/{self.last} ({unique} unique)")

    def _skip(self, planned: PlannedDay, failures: dict[str, str]) -> None:
        reason = "; ".join(f"session {name}: {why}" for name, why in failures.items())
        arcs = ",".join(planned.arcs) or "none"
        self.told(f"[generator] arc={arcs} day={planned.day} skipped: {reason}")
        self.missing.append(MissingUnit(unit=planned.unit, reason=reason, day=planned.day))

    def _make_result(
        self, kept: int, caller: ModelCaller | None, stopped: PassStop | None
    ) -> PassResult:
        return PassResult(
            what="days",
            folder=self.folder,
            wanted=len(self.wanted),
            written=self.written,
            kept=kept,
            missing=tuple(sorted(self.missing, key=lambda each: each.day or 0)),
            notes=self.plan.notes,
            fill=self.request.again,
            usage=caller.usage if caller else Usage(),
            spent=self.log.spent,
            stopped=stopped,
        )
