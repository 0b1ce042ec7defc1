"""What of a persona is there already, and whether it may be built upon.

`.generation/persona.json` says from which description persona.yaml was made. It is written before
the file itself, with the file's digest, so that a run that was killed in between is no riddle.
"""

from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.record import Record
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.datasets.persona_files import Layout
from recall_bench.datasets.persona_story import EPOCH, Persona, Story, read_persona, read_story
from recall_bench.generate.call_log import FOLDER, CallLog
from recall_bench.generate.pass_request import CreateRequest


class PersonaOrigin(Record, frozen=True, kw_only=True):
    """Where a persona.yaml came from."""

    prompt: str
    """The digest of the description."""
    persona: str
    """The digest of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingFiles:
    """The files that are there and stay."""

    persona: Persona | None
    """None if it has to be written."""
    story: Story | None


def find_existing(request: CreateRequest, log: CallLog | None = None) -> ExistingFiles:
    """What is there and stays; UsageError or DataError where nothing may be made.

    Without a log this is what anybody can see in the folder. With the log of a round of
    overwriting, what that round has written stays too.
    """
    layout = request.story
    if request.overwrite:
        return _find_round_files(request, log)
    if not layout.persona_file.exists():
        _refuse_loose_arcs(layout)
        return ExistingFiles(persona=None, story=None)
    if not request.arcs_only:
        _refuse_others(request)
    persona = read_persona(request.persona)
    story = _read_kept_story(request, persona) if layout.arcs_file.exists() else None
    return ExistingFiles(persona=persona, story=story)


def check_request(request: CreateRequest) -> ExistingFiles:
    """What is there and stays, as far as can be told before any call; else why not to begin."""
    request.check_folder()
    request.check_model()
    if request.arcs_only:
        _check_persona(request.story)
    elif not request.prompt.strip():
        raise UsageError(
            "--prompt is missing; describe whom the persona serves and in which trade, or say "
            "--arcs-only for a persona that is there"
        )
    there = find_existing(request)
    find_first_day(request, there.persona)
    return there


def record_origin(request: CreateRequest, text: bytes) -> None:
    """Put on record that this persona.yaml is made from this description."""
    origin = PersonaOrigin(prompt=_digest(request.prompt.strip().encode()), persona=_digest(text))
    replace_file(_locate_origin(request.persona), msgspec.json.encode(origin) + b"\n")


def name_persona_unit(request: CreateRequest) -> str:
    """What the log calls the persona: the same file made otherwise is another unit."""
    return f"persona.yaml {_digest(f'{request.prompt.strip()} {request.epoch}'.encode())[:12]}"


def name_story_unit(request: CreateRequest) -> str:
    """What the log calls the story of the persona that is on disk."""
    persona = request.story.persona_file.read_bytes()
    made_from = _digest(f"{request.prompt.strip()} {request.epoch} ".encode() + persona)
    return f"{request.story.arcs} {made_from[:12]}"


def find_first_day(request: CreateRequest, persona: Persona | None) -> date:
    """The calendar date of day 1; UsageError if the story would leave the calendar."""
    epoch = request.epoch or (persona.epoch if persona else None) or EPOCH
    if (date.max - epoch).days < request.days:
        raise UsageError(
            f"{request.story.name(request.story.persona_file)}: {request.days} days from {epoch} "
            "on leave the calendar; say another first day with --epoch"
        )
    return epoch


def _find_round_files(request: CreateRequest, log: CallLog | None) -> ExistingFiles:
    """What stays when everything is written anew: what this round has written."""
    persona, story = None, None
    if request.arcs_only or (
        log is not None and log.is_written_anew(name_persona_unit(request)) and _is_ours(request)
    ):
        persona = read_persona(request.persona)
        if log is not None and log.is_written_anew(name_story_unit(request)):
            story = read_story(request.persona, request.story.arcs)
    return ExistingFiles(persona=persona, story=story)


def _check_persona(layout: Layout) -> None:
    if not layout.persona_file.is_file():
        raise UsageError(
            f"--arcs-only: {layout.name(layout.persona_file)} does not exist; leave the flag out "
            "to make it"
        )
    if PRINCIPAL not in {session.id for session in read_persona(layout.folder).sessions}:
        raise UsageError(
            f"--arcs-only: {layout.name(layout.persona_file)} has no session {PRINCIPAL}; add the "
            "sessions in which the agent talks, that one among them"
        )


def _refuse_loose_arcs(layout: Layout) -> None:
    if layout.arcs_file.exists():
        raise UsageError(
            f"{layout.name(layout.arcs_file)} is there and its persona.yaml is not; --overwrite "
            "writes both anew"
        )


def _refuse_others(request: CreateRequest) -> None:
    if not _is_ours(request):
        name = request.story.name(request.story.persona_file)
        raise UsageError(
            f"{name} is there and was not made from this description, or was changed since; "
            "--arcs-only writes arcs for it as it is, --overwrite replaces it"
        )


def _is_ours(request: CreateRequest) -> bool:
    path = _locate_origin(request.persona)
    try:
        origin = msgspec.json.decode(path.read_bytes(), type=PersonaOrigin)
        written = request.story.persona_file.read_bytes()
    except FileNotFoundError:
        return False
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove it") from error
    prompt = _digest(request.prompt.strip().encode())
    return origin == PersonaOrigin(prompt=prompt, persona=_digest(written))


def _read_kept_story(request: CreateRequest, persona: Persona) -> Story:
    name = request.story.name(request.story.arcs_file)
    story = read_story(request.persona, request.story.arcs)
    if request.epoch is not None and story.epoch != request.epoch:
        raise UsageError(
            f"--epoch: {name} is there and begins on {story.epoch}; --overwrite writes it anew"
        )
    rooms = {session.id for session in persona.sessions}
    for arc in story.arcs:
        if arc.primary_session is not None and arc.primary_session not in rooms:
            raise UsageError(
                f"{name} is there and tells of session {arc.primary_session}, which persona.yaml "
                "does not have; --overwrite writes it anew"
            )
    return story


def _locate_origin(folder: Path) -> Path:
    return folder / FOLDER / "persona.json"


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
