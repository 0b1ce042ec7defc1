"""Pass 3: what the agent put into its memory on every day that is told."""

from typing import TYPE_CHECKING

from recall_bench.datasets.identity import read_persona
from recall_bench.datasets.story import read_story
from recall_bench.datasets.transcripts import ToolCall
from recall_bench.generate.call_log import CallLog, log_path
from recall_bench.generate.caller import Caller
from recall_bench.generate.day_pass import LAST, DayPass, Retold, Told
from recall_bench.generate.estimate import estimate
from recall_bench.generate.opening import open_model
from recall_bench.generate.outcome import Generated
from recall_bench.generate.request import PassRequest
from recall_bench.generate.rounds import accepted
from recall_bench.generate.told_days import ToldDay, read_day, told_days
from recall_bench.generate.tool_calls.asking import asking, read_calls
from recall_bench.generate.tool_calls.offline import calls_of
from recall_bench.generate.tool_calls.rendering import rendered

if TYPE_CHECKING:
    from recall_bench.models.model import Model

_USUAL_TOKENS = 1200
_TEMPERATURE = 0.3
"""Saving is copying: a lower one than for the passes that invent."""


def generate_tool_calls(
    request: PassRequest, told: Told = lambda _: None, model: "Model | None" = None
) -> Generated:
    """Write the tool calls of every day that has a log and no calls yet.

    Each is on disk, whole, the moment it exists, and the same request goes on where an earlier
    one stopped. A model of one's own may take the place of the one the request names.
    """
    layout = request.layout()
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    days = told_days(layout, request.span(LAST))
    if model is None and not request.is_offline:
        model = open_model(request, usual_temperature=_TEMPERATURE)
    with CallLog(log_path(layout.folder, "tool-calls", layout.suffix)) as log:
        log.begin(overwrite=request.overwrite)
        work = DayPass(
            what="tool calls",
            request=request,
            layout=layout,
            story=story,
            days=days,
            folder=layout.tools,
            log=log,
            paths=lambda day: [layout.tools / f"day-{day:04}.{end}" for end in ("yaml", "yml")],
            told=told,
        )
        owed = work.owed()
        if model is None:

            async def offline(day: ToldDay) -> Retold:
                return _retold(calls_of(day), day, persona.id)

            return work.run(owed, offline, None)
        caller = Caller.of(request, model, log)
        if owed:
            sample = asking(persona, read_day(owed[0], story))
            told(estimate(request.model, len(owed), sample, _USUAL_TOKENS))

        async def asked(day: ToldDay) -> Retold:
            calls = await accepted(
                caller,
                f"day {day.number}",
                asking(persona, day),
                lambda text: read_calls(text, day),
            )
            return _retold(calls, day, persona.id)

        return work.run(owed, asked, caller)


def _retold(calls: tuple[ToolCall, ...], day: ToldDay, persona: str) -> Retold:
    said = "\n\n".join(call.content for call in calls)
    return Retold(rendered(calls, day, persona), said)
