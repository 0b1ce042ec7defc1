"""The pass `generate`: the days of a story by a model, each on disk as soon as it exists."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recall_bench.core.usage import Usage
from recall_bench.features.personas.call_log import CallLog, log_path
from recall_bench.features.personas.days.day_plan import (
    PlannedDay,
    SessionPlan,
    StoryPlan,
    find_isolated_sessions,
    plan_story,
)
from recall_bench.features.personas.days.diary import Diary, PastReader, render_day
from recall_bench.features.personas.days.entry_check import check_entry
from recall_bench.features.personas.days.entry_prompt import (
    USUAL_TOKENS,
    EntryRequirements,
    build_entry_prompt,
    collect_material,
    collect_requirements,
)
from recall_bench.features.personas.days.knowledge import HiddenValueFinder
from recall_bench.features.personas.model_caller import ModelCaller, describe_estimate, open_model
from recall_bench.features.personas.model_reply import NoUsableReply, ask_until_usable
from recall_bench.features.personas.pass_request import DaysRequest
from recall_bench.features.personas.pass_run import (
    MissingUnit,
    OnProgress,
    PassResult,
    PassStop,
    run_parts,
    run_pass,
    run_units,
)
from recall_bench.stories.persona_story import Persona, Story, read_persona, read_story
from recall_bench.systems.models.model import Prompt

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model


@dataclass(frozen=True, slots=True)
class EntryRequest:
    """The prompt for an entry and the requirements on the reply."""

    prompt: Prompt
    requirements: EntryRequirements


class EntryWriter:
    """Writes entries with a model. A prompt depends only on the story and the days on disk."""

    def __init__(
        self, persona: Persona, story: Story, plan: StoryPlan, past_reader: PastReader
    ) -> None:
        self._persona = persona
        self._story = story
        self._past_reader = past_reader
        self._isolated = find_isolated_sessions(plan.sessions)
        self._secrecy = HiddenValueFinder(persona, story.arcs, self._isolated)

    def build_request(self, planned: PlannedDay, session_plan: SessionPlan) -> EntryRequest:
        """The request for one session's entry."""
        hidden = self._secrecy.find_hidden(session_plan.session, planned.day)
        past = self._past_reader.collect_past(planned, session_plan)
        blocks = collect_material(
            self._persona, self._story.epoch, planned, session_plan, hidden=hidden, past=past
        )
        requirements = collect_requirements(
            planned,
            session_plan,
            self._story.arcs,
            self._isolated,
            hidden=hidden,
            blocks=blocks,
            shown=past.entries,
        )
        return EntryRequest(build_entry_prompt(planned, session_plan, blocks), requirements)

    async def write_entry(
        self, caller: ModelCaller, planned: PlannedDay, session_plan: SessionPlan
    ) -> str:
        """The entry of one session; NoUsableReply if the model gives none."""
        entry = self.build_request(planned, session_plan)
        return await ask_until_usable(
            caller,
            f"{planned.unit}, {session_plan.session.id}",
            entry.prompt,
            lambda reply: check_entry(reply, entry.requirements),
        )


def generate_days(
    request: DaysRequest, on_progress: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Write the missing days of the story, or all with `overwrite`.

    The same request continues an interrupted one. A given model replaces that of the request.
    """
    if model is None and request.is_offline:
        from recall_bench.features.personas.days.offline_days import write_offline_days

        return write_offline_days(request, on_progress)
    if request.from_ledger:
        from recall_bench.features.personas.days.ledger_days import write_from_ledger

        return write_from_ledger(request, on_progress, model)
    return _write_with_model(request, on_progress, model)


def _write_with_model(
    request: DaysRequest, on_progress: OnProgress, model: "Model | None"
) -> PassResult:
    layout = request.find_layout()
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    plan = plan_story(persona, story)
    span = request.select_days(story.last_day)
    with CallLog(log_path(layout.folder, "days", layout.suffix)) as log:
        diary = Diary(layout)
        diary.remove_leftovers()
        past_reader = PastReader(
            diary, plan.days, story.epoch, lag=request.lag, window=request.history_window
        )
        work = _ModelDaysPass(
            request=request,
            on_progress=on_progress,
            folder=str(layout.memories),
            last=span[-1],
            wanted=[planned for planned in plan.days if planned.day in span],
            plan=plan,
            author=EntryWriter(persona, story, plan, past_reader),
            diary=diary,
            log=log,
        )
        return work.run(model)


@dataclass(slots=True, kw_only=True)
class _ModelDaysPass:
    """The state of one pass."""

    request: DaysRequest
    on_progress: OnProgress
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
        """Write the missing days; the model is opened only if there are any."""
        there = frozenset(item.day for item in self.wanted if self._is_there(item))
        owed = [planned for planned in self.wanted if planned.day not in there]
        if not owed:
            if self.request.overwrite:
                self.log.end_round()
            return self._make_result(len(there), None, None)
        for note in self.plan.notes:
            self.on_progress(f"[generator] {note}")
        used_model = open_model(self.request) if model is None else model
        self.log.begin_round(overwrite=self.request.overwrite)
        caller = ModelCaller.from_request(self.request, used_model, self.log)
        self._report_estimate(owed)

        stopped = run_pass(
            lambda: self._write_days(caller, there),
            owned_model=used_model if model is None else None,
        )
        if self.request.overwrite and stopped is None and not self.missing:
            self.log.end_round()
        return self._make_result(len(there), caller, stopped)

    def _is_there(self, planned: PlannedDay) -> bool:
        if self.request.overwrite:
            return self.log.is_done_in_round(planned.unit) and planned.day in self.diary.days
        return planned.day in self.diary.days

    def _report_estimate(self, owed: list[PlannedDay]) -> None:
        calls = sum(len(planned.session_plans) for planned in owed)
        sample = self.author.build_request(owed[-1], owed[-1].session_plans[0]).prompt
        self.on_progress(describe_estimate(self.request.model, calls, sample, USUAL_TOKENS))

    async def _write_days(self, caller: ModelCaller, there: frozenset[int]) -> None:
        async def write_one(planned: PlannedDay) -> None:
            if planned.day not in there:
                await self._write_day(caller, planned)

        # Existing days keep their places, so that the lag is the same in every run.
        await run_units(
            self.wanted, write_one, concurrency=self.request.parallelism, lag=self.request.lag
        )

    async def _write_day(self, caller: ModelCaller, planned: PlannedDay) -> None:
        """Write all sessions of a day concurrently; if one fails, the day is not written."""
        entries: dict[str, str] = {}
        failures: dict[str, str] = {}

        async def write_session(session_plan: SessionPlan) -> None:
            try:
                entries[session_plan.session.id] = await self.author.write_entry(
                    caller, planned, session_plan
                )
            except NoUsableReply as failure:
                failures[session_plan.session.id] = str(failure)

        await run_parts(planned.session_plans, write_session)
        order = [session_plan.session.id for session_plan in planned.session_plans]
        if failures:
            self._skip(planned, {name: failures[name] for name in order if name in failures})
            return
        await self.diary.write_day(planned.day, render_day({name: entries[name] for name in order}))
        self.log.mark_written(planned.unit)
        self.written += 1
        unique = len(self.diary.days)
        self.on_progress(f"Generated day {planned.day}/{self.last} ({unique} unique)")

    def _skip(self, planned: PlannedDay, failures: dict[str, str]) -> None:
        reason = "; ".join(f"session {name}: {why}" for name, why in failures.items())
        arcs = ",".join(planned.arcs) or "none"
        self.on_progress(f"[generator] arc={arcs} day={planned.day} skipped: {reason}")
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
            fill=self.request.resume_command,
            usage=caller.usage if caller else Usage(),
            spent=self.log.spent,
            stopped=stopped,
        )
