"""The pass `generate`: the days of a story by a model, each on disk as soon as it exists."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

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
from recall_bench.features.personas.model_pass import ModelPass
from recall_bench.features.personas.pass_request import DaysRequest
from recall_bench.features.personas.pass_run import OnProgress, PassResult, run_units
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


def generate_days(
    request: DaysRequest, on_progress: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Write the missing days of the story, or all with `overwrite`.

    The same request continues an interrupted one. A given model replaces that of the request.
    """
    if model is None and request.is_offline:
        from recall_bench.features.personas.days.ledger_days import write_offline_days

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
    frame = ModelPass("generator", request, on_progress, model)
    with frame.open_log(layout.folder, "days", layout.suffix):
        diary = Diary(layout)
        diary.remove_leftovers()
        past_reader = PastReader(
            diary, plan.days, story.epoch, lag=request.lag, window=request.history_window
        )
        author = EntryWriter(persona, story, plan, past_reader)
        days = [planned for planned in plan.days if planned.day in span]
        owed = [
            planned
            for planned in days
            if not frame.is_done(planned.unit, exists=planned.day in diary.days)
        ]
        owed_days = {planned.day for planned in owed}
        if owed:
            for note in plan.notes:
                on_progress(f"[generator] {note}")
            # Only now: a story that is written needs no model.
            frame.open_model()
            frame.begin()
            calls = sum(len(planned.session_plans) for planned in owed)
            sample = author.build_request(owed[-1], owed[-1].session_plans[0]).prompt
            frame.report_estimate(calls, sample, USUAL_TOKENS)

        async def write_day(planned: PlannedDay) -> None:
            if planned.day in owed_days:
                await _write_day(frame, author, diary, planned, last=span[-1])

        # Existing days keep their places, so that the lag is the same in every run.
        if owed:
            frame.run(
                lambda: run_units(
                    days, write_day, concurrency=request.parallelism, lag=request.lag
                ),
                ends_round=request.overwrite,
            )
        elif request.overwrite:
            frame.end_round()
        return frame.make_result(
            "days", layout.memories, wanted=len(days), kept=len(days) - len(owed), notes=plan.notes
        )


async def _write_day(
    frame: ModelPass, author: EntryWriter, diary: Diary, planned: PlannedDay, *, last: int
) -> None:
    """Write all sessions of a day at once; if one fails, the day is not written."""

    async def write_entry(session_plan: SessionPlan) -> str:
        entry = author.build_request(planned, session_plan)
        unit = f"{planned.unit}, {session_plan.session.id}"
        return await frame.ask(
            unit, entry.prompt, lambda reply: check_entry(reply, entry.requirements)
        )

    entries = await frame.write_entries(
        planned.day,
        ",".join(planned.arcs),
        {plan.session.id: partial(write_entry, plan) for plan in planned.session_plans},
    )
    if entries is not None:
        await diary.write_day(planned.day, render_day(entries))
        frame.note_written(planned.unit)
        frame.on_progress(f"Generated day {planned.day}/{last} ({len(diary.days)} unique)")
