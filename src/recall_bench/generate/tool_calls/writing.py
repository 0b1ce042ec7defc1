"""Pass 3: what the agent put into its memory on every day that is told."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.datasets.identity import Persona
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.transcripts import ToolCall
from recall_bench.generate.day_pass import DayRendition, OnProgress, run_day_pass
from recall_bench.generate.outcome import PassResult
from recall_bench.generate.request import PassRequest
from recall_bench.generate.rounds import RejectedReply
from recall_bench.generate.told_days import StoryDay
from recall_bench.generate.tool_calls.asking import build_tool_calls_prompt, parse_calls
from recall_bench.generate.tool_calls.offline import list_calls
from recall_bench.generate.tool_calls.rendering import render_tool_calls

if TYPE_CHECKING:
    from recall_bench.models.model import Model, Prompt


def generate_tool_calls(
    request: PassRequest, told: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Write the tool calls of every day that has a log and no calls yet; see `retell`."""
    return run_day_pass(request, _ToolCallFormat(), told, model)


class _ToolCallFormat:
    what = "tool calls"
    usual_tokens = 1200
    # Saving is copying: a lower one than for the passes that invent.
    usual_temperature = 0.3

    def list_paths(self, layout: Layout, day: int) -> Sequence[Path]:
        return [layout.tools / f"day-{day:04}.{ending}" for ending in ("yaml", "yml")]

    def render_offline(self, persona: Persona, day: StoryDay) -> DayRendition:
        return _make_rendition(list_calls(day), day, persona.id)

    def build_prompt(self, persona: Persona, day: StoryDay) -> "Prompt":
        return build_tool_calls_prompt(persona, day)

    def parse_reply(
        self, reply: str, persona: Persona, day: StoryDay
    ) -> DayRendition | RejectedReply:
        calls = parse_calls(reply, day)
        return (
            calls if isinstance(calls, RejectedReply) else _make_rendition(calls, day, persona.id)
        )


def _make_rendition(calls: tuple[ToolCall, ...], day: StoryDay, persona: str) -> DayRendition:
    said = "\n\n".join(call.content for call in calls)
    return DayRendition(render_tool_calls(calls, day, persona), said)
