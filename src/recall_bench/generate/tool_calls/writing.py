"""Pass 3: what the agent put into its memory on every day that is told."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.datasets.identity import Persona
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.transcripts import ToolCall
from recall_bench.generate.day_pass import Retold, Told, retell
from recall_bench.generate.outcome import Generated
from recall_bench.generate.request import PassRequest
from recall_bench.generate.rounds import Rejected
from recall_bench.generate.told_days import ToldDay
from recall_bench.generate.tool_calls.asking import asking, read_calls
from recall_bench.generate.tool_calls.offline import calls_of
from recall_bench.generate.tool_calls.rendering import rendered

if TYPE_CHECKING:
    from recall_bench.models.model import Model, Prompt


def generate_tool_calls(
    request: PassRequest, told: Told = lambda _: None, model: "Model | None" = None
) -> Generated:
    """Write the tool calls of every day that has a log and no calls yet; see `retell`."""
    return retell(request, _Calls(), told, model)


class _Calls:
    what = "tool calls"
    usual_tokens = 1200
    # Saving is copying: a lower one than for the passes that invent.
    usual_temperature = 0.3

    def paths(self, layout: Layout, day: int) -> Sequence[Path]:
        return [layout.tools / f"day-{day:04}.{ending}" for ending in ("yaml", "yml")]

    def offline(self, persona: Persona, day: ToldDay) -> Retold:
        return _retold(calls_of(day), day, persona.id)

    def asking(self, persona: Persona, day: ToldDay) -> "Prompt":
        return asking(persona, day)

    def read(self, reply: str, persona: Persona, day: ToldDay) -> Retold | Rejected:
        calls = read_calls(reply, day)
        return calls if isinstance(calls, Rejected) else _retold(calls, day, persona.id)


def _retold(calls: tuple[ToolCall, ...], day: ToldDay, persona: str) -> Retold:
    said = "\n\n".join(call.content for call in calls)
    return Retold(rendered(calls, day, persona), said)
