"""`create-persona`: a persona and its story from a description, each written when it is sound."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from recall_bench.core.usage import Usage
from recall_bench.datasets.identity import Persona, read_persona
from recall_bench.datasets.story import Story, read_story
from recall_bench.errors import ModelFault, ModelGone
from recall_bench.generate.call_log import FOLDER, CallLog, log_path
from recall_bench.generate.caller import Caller
from recall_bench.generate.carrying_out import carried_out
from recall_bench.generate.estimate import estimate
from recall_bench.generate.outcome import Generated, Missing
from recall_bench.generate.personas.asking import asking_for_persona, asking_for_story
from recall_bench.generate.personas.counts import bounds
from recall_bench.generate.personas.replies import read_persona_reply, read_story_reply
from recall_bench.generate.personas.request import CreateRequest
from recall_bench.generate.personas.standing import (
    Standing,
    check,
    first_day,
    persona_unit,
    remember,
    standing,
    story_unit,
)
from recall_bench.generate.personas.telling import leftovers, told_of
from recall_bench.generate.rounds import Rejected, Unwritten, accepted
from recall_bench.replacement import replace_file, sweep

if TYPE_CHECKING:
    from recall_bench.generate.outcome import Stopped
    from recall_bench.models.model import Model, Prompt

T = TypeVar("T")

Told = Callable[[str], None]
"""Hears a sentence about each thing that is done."""

ROUNDS = 5
"""How many new calls a run spends on one file: a whole story has much to get right."""

_PERSONA_TOKENS = 1800
_ARC_TOKENS = 280


def create_persona(
    request: CreateRequest, told: Told = lambda _: None, model: "Model | None" = None
) -> Generated:
    """Write persona.yaml and the arcs of a story, unless they are there.

    Each file is on disk, whole, the moment it is sound, and the same request goes on where an
    earlier one stopped. A model of one's own may take the place of the one the request names.
    """
    if model is None and request.is_offline:
        from recall_bench.generate.offline.creating import create_offline

        return _introduced(request, create_offline(request, told))
    there = check(request)
    if there.persona is not None and there.story is not None:
        return _Creation(request, told, there).outcome(None)
    closing = None
    if model is None:
        from recall_bench.generate.opening import open_model

        closing = model = open_model(request)
    with CallLog(log_path(request.persona, "create-persona", "")) as log:
        for folder in (request.persona, request.persona / FOLDER):
            sweep(folder)
        log.begin(overwrite=request.overwrite)
        creation = _Creation(request, told, standing(request, log))
        caller = Caller.of(request, model, log)
        stopped = carried_out(lambda: creation.carry_out(caller, log), closing)
        if stopped is None and not creation.missing:
            log.end()
        return creation.outcome(caller, stopped)


def _introduced(request: CreateRequest, generated: Generated) -> Generated:
    """The same with what was made in words, if all of it is there."""
    if generated.exit_code != 0:
        return generated
    persona = read_persona(request.persona)
    story = read_story(request.persona, request.story.arcs)
    return generated.but(notes=(*generated.notes, *told_of(request, persona, story)))


@dataclass(slots=True)
class _Creation:
    """The making of the two files, under way."""

    request: CreateRequest
    told: Told
    there: Standing
    persona: Persona | None = None
    story: Story | None = None
    written: list[str] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.persona, self.story = self.there.persona, self.there.story

    async def carry_out(self, caller: Caller, log: CallLog) -> None:
        """Write what is not there; a persona that cannot be had leaves its story out as well."""
        if self.persona is None:
            self.told(self._estimate(asking_for_persona(self.request.prompt.strip()), calls=2))
            await self._attempt("persona.yaml", self._write_persona(caller, log))
        elif self.story is None:
            self.told(self._estimate(self._asking_for_story(), calls=1))
        if self.persona is None:
            reason = "there is no persona to tell it of"
            self.missing.append(Missing(unit=self.request.story.arcs, reason=reason))
        elif self.story is None:
            await self._attempt(self.request.story.arcs, self._write_story(caller, log))

    def outcome(self, caller: Caller | None, stopped: "Stopped | None" = None) -> Generated:
        """What became of it."""
        request = self.request
        kept = [each for each in (self.there.persona, self.there.story) if each is not None]
        if request.arcs_only:
            kept = kept[1:]
        return Generated(
            what="files",
            folder=str(request.persona),
            wanted=1 if request.arcs_only else 2,
            written=len(self.written),
            kept=len(kept),
            missing=tuple(self.missing),
            notes=(
                *told_of(request, self.persona, self.story),
                *leftovers(request, self.written),
            ),
            fill=request.again,
            usage=caller.usage if caller else Usage(),
            spent=caller.spent if caller else Usage(),
            stopped=stopped,
        )

    def _estimate(self, sample: "Prompt", *, calls: int) -> str:
        usual = (_PERSONA_TOKENS if calls == 2 else 0) + _ARC_TOKENS * bounds(self.request.days)[1]
        return estimate(self.request.model, calls, sample, usual // calls)

    async def _attempt(self, unit: str, making: Coroutine[None, None, None]) -> None:
        try:
            await making
        except ModelGone:
            raise
        except (Unwritten, ModelFault) as fault:
            self.missing.append(Missing(unit=unit, reason=str(fault)))
            self.told(f"[create-persona] {unit} skipped: {fault!s:.200}")
        else:
            self.written.append(unit)
            self.told(f"Wrote {unit}")

    async def _write_persona(self, caller: Caller, log: CallLog) -> None:
        request, epoch = self.request, first_day(self.request, None)
        made = await accepted(
            caller,
            "persona.yaml",
            asking_for_persona(request.prompt.strip()),
            lambda reply: self._seen("persona.yaml", read_persona_reply(reply, request.id, epoch)),
            attempts=ROUNDS,
        )
        content = made.text.encode()
        remember(request, content)
        replace_file(request.story.persona_file, content)
        log.replaced(persona_unit(request))
        self.persona = made.persona

    async def _write_story(self, caller: Caller, log: CallLog) -> None:
        request, persona = self.request, read_persona(self.request.persona)
        epoch = first_day(request, persona)
        made = await accepted(
            caller,
            request.story.arcs,
            self._asking_for_story(),
            lambda reply: self._seen(
                request.story.arcs, read_story_reply(reply, persona, request.days, epoch)
            ),
            attempts=ROUNDS,
        )
        replace_file(request.story.arcs_file, made.text.encode())
        log.replaced(story_unit(request))
        self.story = made.story

    def _seen(self, unit: str, found: T) -> T:
        """Say of a reply that goes back why it does."""
        if isinstance(found, Rejected):
            more = len(found.problems) - 1
            also = f" (and {more} more)" if more else ""
            self.told(f"[create-persona] {unit} sent back: {found.problems[0]:.200}{also}")
        return found

    def _asking_for_story(self) -> "Prompt":
        """From what is on disk, so that it is the same whoever wrote that and when."""
        request, persona = self.request, read_persona(self.request.persona)
        return asking_for_story(
            request.story.persona_file.read_text(encoding="utf-8-sig"),
            request.prompt.strip(),
            request.days,
            first_day(request, persona),
            has_secrets=any(session.isolated for session in persona.sessions),
        )
