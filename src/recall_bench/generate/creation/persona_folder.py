"""The existing files of a persona, and whether a pass may build on them.

`.generation/persona.json` records the description that persona.yaml was made from. It is written
before persona.yaml, with its digest, so that the state after a kill is clear.
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
    """The origin of a persona.yaml."""

    prompt: str
    """The digest of the description."""
    persona: str
    """The digest of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingFiles:
    """The existing files that are kept."""

    persona: Persona | None
    """None if it has to be written."""
    story: Story | None


def find_existing(request: CreateRequest, log: CallLog | None = None) -> ExistingFiles:
    """The files that are kept; UsageError or DataError if the pass must not run.

    When overwriting, the log tells which files the current round has written; those are kept.
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
    """Check the request before any call; the existing files that are kept."""
    request.check_folder()
    request.check_model()
    if request.arcs_only:
        _check_persona(request.story)
    elif not request.prompt.strip():
        raise UsageError(
            "--prompt is missing; describe the person that the agent works for and their job, or "
            "use --arcs-only for an existing persona"
        )
    existing = find_existing(request)
    find_first_day(request, existing.persona)
    return existing


def record_origin(request: CreateRequest, text: bytes) -> None:
    """Record that this persona.yaml is made from this description."""
    origin = PersonaOrigin(prompt=_digest(request.prompt.strip().encode()), persona=_digest(text))
    replace_file(_locate_origin(request.persona), msgspec.json.encode(origin) + b"\n")


def name_persona_unit(request: CreateRequest) -> str:
    """The name of the persona in the log; it depends on what it is made from."""
    return f"persona.yaml {_digest(f'{request.prompt.strip()} {request.epoch}'.encode())[:12]}"


def name_story_unit(request: CreateRequest) -> str:
    """The name of the story in the log; it depends on what it is made from."""
    persona = request.story.persona_file.read_bytes()
    made_from = _digest(f"{request.prompt.strip()} {request.epoch} ".encode() + persona)
    return f"{request.story.arcs} {made_from[:12]}"


def find_first_day(request: CreateRequest, persona: Persona | None) -> date:
    """The date of day 1; UsageError if the story would exceed the calendar."""
    epoch = request.epoch or (persona.epoch if persona else None) or EPOCH
    if (date.max - epoch).days < request.days:
        raise UsageError(
            f"{request.story.name(request.story.persona_file)}: {request.days} days from {epoch} "
            "on end after the year 9999; set an earlier first day with --epoch"
        )
    return epoch


def _find_round_files(request: CreateRequest, log: CallLog | None) -> ExistingFiles:
    """When overwriting, the files that the current round has written."""
    persona, story = None, None
    if request.arcs_only or (
        log is not None and log.is_done_in_round(name_persona_unit(request)) and _is_ours(request)
    ):
        persona = read_persona(request.persona)
        if log is not None and log.is_done_in_round(name_story_unit(request)):
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
            f"{layout.name(layout.arcs_file)} exists and its persona.yaml does not; --overwrite "
            "writes both again"
        )


def _refuse_others(request: CreateRequest) -> None:
    if not _is_ours(request):
        name = request.story.name(request.story.persona_file)
        raise UsageError(
            f"{name} exists and was not made from this description, or was changed since; "
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
            f"--epoch: {name} exists and begins on {story.epoch}; --overwrite writes it again"
        )
    rooms = {session.id for session in persona.sessions}
    for arc in story.arcs:
        if arc.primary_session is not None and arc.primary_session not in rooms:
            raise UsageError(
                f"{name} exists and uses session {arc.primary_session}, which persona.yaml "
                "does not have; --overwrite writes it again"
            )
    return story


def _locate_origin(folder: Path) -> Path:
    return folder / FOLDER / "persona.json"


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
