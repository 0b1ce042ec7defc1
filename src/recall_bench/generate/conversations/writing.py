"""Pass 2: every day that is told, as a dialogue of four to twelve turns."""

from typing import TYPE_CHECKING

from recall_bench.core.history import Turn
from recall_bench.datasets.identity import read_persona
from recall_bench.datasets.story import read_story
from recall_bench.generate.call_log import CallLog, log_path
from recall_bench.generate.caller import Caller
from recall_bench.generate.conversations.asking import asking, read_dialogue
from recall_bench.generate.conversations.offline import dialogue
from recall_bench.generate.conversations.rendering import rendered
from recall_bench.generate.conversations.request import ConversationsRequest
from recall_bench.generate.day_pass import LAST, DayPass, Retold, Told
from recall_bench.generate.estimate import estimate
from recall_bench.generate.opening import open_model
from recall_bench.generate.outcome import Generated
from recall_bench.generate.rounds import accepted
from recall_bench.generate.told_days import ToldDay, read_day, told_days

if TYPE_CHECKING:
    from recall_bench.models.model import Model

_USUAL_TOKENS = 1500
_ENDINGS = {"markdown": ("md", "json"), "json": ("json", "md")}


def generate_conversations(
    request: ConversationsRequest, told: Told = lambda _: None, model: "Model | None" = None
) -> Generated:
    """Write the dialogue of every day that has a log and no dialogue yet.

    Each is on disk, whole, the moment it exists, and the same request goes on where an earlier
    one stopped. A model of one's own may take the place of the one the request names.
    """
    layout = request.layout()
    persona = read_persona(layout.folder)
    story = read_story(layout.folder, layout.arcs)
    days = told_days(layout, request.span(LAST))
    endings = _ENDINGS[request.format]
    if model is None and not request.is_offline:
        model = open_model(request)
    with CallLog(log_path(layout.folder, "conversations", layout.suffix)) as log:
        log.begin(overwrite=request.overwrite)
        work = DayPass(
            what="conversations",
            request=request,
            layout=layout,
            story=story,
            days=days,
            folder=layout.conversations,
            log=log,
            paths=lambda day: [layout.conversations / f"conv-{day:04}.{end}" for end in endings],
            told=told,
        )
        owed = work.owed()
        if model is None:

            async def offline(day: ToldDay) -> Retold:
                return _retold(dialogue(day), request)

            return work.run(owed, offline, None)
        caller = Caller.of(request, model, log)
        if owed:
            sample = asking(persona, read_day(owed[0], story))
            told(estimate(request.model, len(owed), sample, _USUAL_TOKENS))

        async def asked(day: ToldDay) -> Retold:
            turns = await accepted(
                caller,
                f"day {day.number}",
                asking(persona, day),
                lambda text: read_dialogue(text, day),
            )
            return _retold(turns, request)

        return work.run(owed, asked, caller)


def _retold(turns: tuple[Turn, ...], request: ConversationsRequest) -> Retold:
    return Retold(rendered(turns, request.format), "\n\n".join(turn.text for turn in turns))
