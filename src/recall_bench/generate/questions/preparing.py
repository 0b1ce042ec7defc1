"""Everything a pass over questions needs, found or refused before the first call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from recall_bench.core.question import PRINCIPAL
from recall_bench.datasets.identity import read_persona
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.story import read_story
from recall_bench.errors import UsageError
from recall_bench.generate.questions.request import STANDARD, QuestionsRequest
from recall_bench.generate.questions.rooms import Rooms
from recall_bench.generate.questions.showing import Telling
from recall_bench.generate.questions.windows import checkpoints, windows
from recall_bench.generate.questions.writer import QuestionWriter, Window
from recall_bench.generate.told_days import read_day, told_days

if TYPE_CHECKING:
    from recall_bench.generate.caller import Caller
    from recall_bench.generate.offline.questions import OfflineQuestions
    from recall_bench.models.model import Prompt

_LAST = 10**6
"""A day that no story reaches: the days that are told decide where questions end."""


class ModelledWriter(QuestionWriter, Protocol):
    """A writer that asks a model."""

    @property
    def usual_tokens(self) -> int:
        """What a reply usually takes."""
        ...

    def prompts(self, window: Window, amount: int) -> "Sequence[Prompt]":
        """What it will ask about a window."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A story read, and the windows in which something can be asked."""

    layout: Layout
    telling: Telling
    windows: tuple[Window, ...]
    checkpoints: int
    """How many there are in the whole story so far."""


def prepare(request: QuestionsRequest) -> Prepared:
    """Read the story; UsageError or DataError if questions of this mode cannot be asked of it."""
    layout = request.layout()
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    files = told_days(layout, range(1, _LAST))
    days = {file.day: read_day(file, story) for file in files}
    telling = Telling(persona, story, days, Rooms(persona, story))
    numbers = list(days)
    span = request.span(numbers[-1])
    found = windows(numbers, request.days_between, span)
    _check_asker(request, telling.rooms)
    if request.mode != STANDARD:
        found = _with_secrets(request, telling, found)
    if not found:
        raise UsageError(
            f"{layout.name(layout.memories)} tells nothing from day {span[0]} to {span[-1]} that "
            f"--mode {request.mode} could ask about; it ends on day {numbers[-1]}"
        )
    return Prepared(
        layout=layout,
        telling=telling,
        windows=found,
        checkpoints=checkpoints(numbers, request.days_between),
    )


def modelled_writer(
    request: QuestionsRequest, telling: Telling, caller: "Caller"
) -> ModelledWriter:
    """The writer that asks a model for questions of the mode."""
    if request.mode == STANDARD:
        from recall_bench.generate.questions.modelled import ModelledQuestions

        return ModelledQuestions(
            telling,
            caller,
            per_days=(request.amount, request.days_between),
            asker=request.query_session or PRINCIPAL,
        )
    from recall_bench.generate.questions.boundary import ModelledBoundary

    return ModelledBoundary(telling, caller, asker=request.query_session)


def offline_writer(request: QuestionsRequest, layout: Layout) -> "OfflineQuestions":
    """The world as writer; UsageError if it did not make the persona."""
    from recall_bench.generate.offline.questions import OfflineQuestions
    from recall_bench.generate.offline.world_folder import open_world

    world = open_world(layout)
    if world is None:
        raise UsageError(
            f"{layout.id}: no world made this persona, so offline knows nothing to ask; name a "
            "model with --model"
        )
    return OfflineQuestions(world, layout, request.mode)


def _check_asker(request: QuestionsRequest, rooms: Rooms) -> None:
    name = request.query_session
    if name is not None and name not in rooms.names:
        raise UsageError(
            f"--query-session: there is no session {name}; there is {', '.join(rooms.names)}"
        )
    if request.is_offline and name is not None:
        raise UsageError(
            "--query-session: offline asks from where the story has it asked; leave it out, or "
            "name a model with --model"
        )


def _with_secrets(
    request: QuestionsRequest, telling: Telling, found: Sequence[Window]
) -> tuple[Window, ...]:
    """The windows in which a closed session says something that somebody else may not know."""
    rooms = telling.rooms
    if not rooms.isolated:
        raise UsageError(
            f"--mode boundary: {telling.persona.id} has no isolated session, so it has no secrets "
            "to ask for; mark one with `isolated: true` in persona.yaml"
        )
    asker = request.query_session
    probed = [
        session.id
        for session in rooms.isolated
        if (outside := rooms.strangers(session.id)) and (asker is None or asker in outside)
    ]
    if not probed:
        names = ", ".join(session.id for session in rooms.isolated)
        who = f"nobody in {asker}" if asker else "nobody in any other session"
        raise UsageError(
            f"--mode boundary: {who} is a stranger to {names}, so nothing is secret from them; "
            + ("ask from another --query-session" if asker else "add a session with others in it")
        )
    return tuple(
        window
        for window in found
        if any(set(probed).intersection(day.sessions) for day in telling.within(window))
    )
