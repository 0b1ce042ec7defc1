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
from recall_bench.generate.questions.rooms import SessionMembers
from recall_bench.generate.questions.showing import StoryView
from recall_bench.generate.questions.windows import count_checkpoints, list_windows
from recall_bench.generate.questions.writer import QuestionWindow, QuestionWriter
from recall_bench.generate.told_days import list_day_files, read_day_log

if TYPE_CHECKING:
    from recall_bench.generate.caller import ModelCaller
    from recall_bench.generate.offline.questions import OfflineQuestionWriter
    from recall_bench.models.model import Prompt

_UNREACHABLE_DAY = 10**6
"""A day that no story reaches: the days that are told decide where questions end."""


class PromptingWriter(QuestionWriter, Protocol):
    """A writer that asks a model."""

    @property
    def usual_tokens(self) -> int:
        """What a reply usually takes."""
        ...

    def build_prompts(self, window: QuestionWindow, amount: int) -> "Sequence[Prompt]":
        """What it will ask about a window."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPlan:
    """A story read, and the windows in which something can be asked."""

    layout: Layout
    telling: StoryView
    windows: tuple[QuestionWindow, ...]
    checkpoints: int
    """How many there are in the whole story so far."""


def prepare_questions(request: QuestionsRequest) -> QuestionPlan:
    """Read the story; UsageError or DataError if questions of this mode cannot be asked of it."""
    layout = request.find_layout()
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    files = list_day_files(layout, range(1, _UNREACHABLE_DAY))
    days = {file.day: read_day_log(file, story) for file in files}
    telling = StoryView(persona, story, days, SessionMembers(persona, story))
    numbers = list(days)
    span = request.select_days(numbers[-1])
    found = list_windows(numbers, request.days_between, span)
    _check_asker(request, telling.rooms)
    if request.mode != STANDARD:
        found = _select_secret_windows(request, telling, found)
    if not found:
        raise UsageError(
            f"{layout.name(layout.memories)} tells nothing from day {span[0]} to {span[-1]} that "
            f"--mode {request.mode} could ask about; it ends on day {numbers[-1]}"
        )
    return QuestionPlan(
        layout=layout,
        telling=telling,
        windows=found,
        checkpoints=count_checkpoints(numbers, request.days_between),
    )


def make_model_writer(
    request: QuestionsRequest, telling: StoryView, caller: "ModelCaller"
) -> PromptingWriter:
    """The writer that asks a model for questions of the mode."""
    if request.mode == STANDARD:
        from recall_bench.generate.questions.modelled import ModelQuestionWriter

        return ModelQuestionWriter(
            telling,
            caller,
            per_days=(request.amount, request.days_between),
            asker=request.query_session or PRINCIPAL,
        )
    from recall_bench.generate.questions.boundary import BoundaryQuestionWriter

    return BoundaryQuestionWriter(telling, caller, asker=request.query_session)


def make_offline_writer(request: QuestionsRequest, layout: Layout) -> "OfflineQuestionWriter":
    """The world as writer; UsageError if it did not make the persona."""
    from recall_bench.generate.offline.questions import OfflineQuestionWriter
    from recall_bench.generate.offline.world_folder import open_world

    world = open_world(layout)
    if world is None:
        raise UsageError(
            f"{layout.id}: no world made this persona, so offline knows nothing to ask; name a "
            "model with --model"
        )
    return OfflineQuestionWriter(world, layout, request.mode)


def _check_asker(request: QuestionsRequest, rooms: SessionMembers) -> None:
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


def _select_secret_windows(
    request: QuestionsRequest, telling: StoryView, found: Sequence[QuestionWindow]
) -> tuple[QuestionWindow, ...]:
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
        if (outside := rooms.find_outside_sessions(session.id))
        and (asker is None or asker in outside)
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
        if any(set(probed).intersection(day.sessions) for day in telling.list_days(window))
    )
