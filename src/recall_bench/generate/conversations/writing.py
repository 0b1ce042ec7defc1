"""Pass 2: every day that is told, as a dialogue of four to twelve turns."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recall_bench.core.history import Turn
from recall_bench.datasets.identity import Persona
from recall_bench.datasets.layout import Layout
from recall_bench.generate.conversations.asking import asking, read_dialogue
from recall_bench.generate.conversations.offline import dialogue
from recall_bench.generate.conversations.rendering import rendered
from recall_bench.generate.conversations.request import ConversationsRequest
from recall_bench.generate.day_pass import Retold, Told, retell
from recall_bench.generate.outcome import Generated
from recall_bench.generate.rounds import Rejected
from recall_bench.generate.told_days import ToldDay

if TYPE_CHECKING:
    from recall_bench.models.model import Model, Prompt

_ENDINGS = {"markdown": ("md", "json"), "json": ("json", "md")}


def generate_conversations(
    request: ConversationsRequest, told: Told = lambda _: None, model: "Model | None" = None
) -> Generated:
    """Write the dialogue of every day that has a log and no dialogue yet; see `retell`."""
    return retell(request, _Dialogues(request.format), told, model)


class _Dialogues:
    what = "conversations"
    usual_tokens = 1500
    usual_temperature = 0.7

    def __init__(self, form: str) -> None:
        self._form = form

    def paths(self, layout: Layout, day: int) -> Sequence[Path]:
        """In the format wanted, or in the other one."""
        names = (f"conv-{day:04}.{ending}" for ending in _ENDINGS[self._form])
        return [layout.conversations / name for name in names]

    def offline(self, persona: Persona, day: ToldDay) -> Retold:  # noqa: ARG002 - as others need it
        return self._retold(dialogue(day))

    def asking(self, persona: Persona, day: ToldDay) -> "Prompt":
        return asking(persona, day)

    def read(self, reply: str, persona: Persona, day: ToldDay) -> Retold | Rejected:
        isolated = {session.id for session in persona.sessions if session.isolated}
        turns = read_dialogue(reply, day, isolated)
        return turns if isinstance(turns, Rejected) else self._retold(turns)

    def _retold(self, turns: tuple[Turn, ...]) -> Retold:
        return Retold(rendered(turns, self._form), "\n\n".join(turn.text for turn in turns))
