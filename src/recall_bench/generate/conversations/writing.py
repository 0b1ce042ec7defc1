"""Pass 2: every day that is told, as a dialogue of four to twelve turns."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.core.history import Turn
from recall_bench.datasets.identity import Persona
from recall_bench.datasets.layout import Layout
from recall_bench.generate.conversations.asking import build_conversation_prompt, parse_dialogue
from recall_bench.generate.conversations.offline import build_dialogue
from recall_bench.generate.conversations.rendering import render_conversation
from recall_bench.generate.conversations.request import ConversationsRequest
from recall_bench.generate.day_pass import DayRendition, OnProgress, run_day_pass
from recall_bench.generate.outcome import PassResult
from recall_bench.generate.rounds import RejectedReply
from recall_bench.generate.told_days import StoryDay

if TYPE_CHECKING:
    from recall_bench.models.model import Model, Prompt

_ENDINGS = {"markdown": ("md", "json"), "json": ("json", "md")}


def generate_conversations(
    request: ConversationsRequest, told: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Write the dialogue of every day that has a log and no dialogue yet; see `retell`."""
    return run_day_pass(request, _ConversationFormat(request.format), told, model)


class _ConversationFormat:
    what = "conversations"
    usual_tokens = 1500
    usual_temperature = 0.7

    def __init__(self, form: str) -> None:
        self._form = form

    def list_paths(self, layout: Layout, day: int) -> Sequence[Path]:
        """In the format wanted, or in the other one."""
        names = (f"conv-{day:04}.{ending}" for ending in _ENDINGS[self._form])
        return [layout.conversations / name for name in names]

    def render_offline(self, persona: Persona, day: StoryDay) -> DayRendition:  # noqa: ARG002 - as others need it
        return self._make_rendition(build_dialogue(day))

    def build_prompt(self, persona: Persona, day: StoryDay) -> "Prompt":
        return build_conversation_prompt(persona, day)

    def parse_reply(
        self, reply: str, persona: Persona, day: StoryDay
    ) -> DayRendition | RejectedReply:
        isolated = {session.id for session in persona.sessions if session.isolated}
        turns = parse_dialogue(reply, day, isolated)
        return turns if isinstance(turns, RejectedReply) else self._make_rendition(turns)

    def _make_rendition(self, turns: tuple[Turn, ...]) -> DayRendition:
        return DayRendition(
            render_conversation(turns, self._form), "\n\n".join(turn.text for turn in turns)
        )
