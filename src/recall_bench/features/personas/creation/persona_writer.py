"""The pass `create-persona`: a persona and its story from a description.

`.generation/persona.json` records the description that persona.yaml was made from. It is written
before persona.yaml, with its digest, so that the state after a kill is clear.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from recall_bench.core.atomic_file import replace_file, sweep_folder
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.record import Record
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.features.personas.call_log import FOLDER, CallLog
from recall_bench.features.personas.creation.persona_reply import (
    parse_persona_reply,
    parse_story_reply,
)
from recall_bench.features.personas.creation.story_rules import (
    LONGEST_QUIET,
    MAX_CONCURRENT_ARCS,
    QUIET_FROM,
    SECRETS_FROM,
    SHORTEST_QUIET,
    compute_arc_bounds,
    count_fewest_arcs,
    count_fewest_with_directives,
    count_most_quiet_periods,
)
from recall_bench.features.personas.model_pass import ModelPass
from recall_bench.features.personas.model_reply import NoUsableReply, RejectedReply
from recall_bench.features.personas.pass_request import CreateRequest
from recall_bench.features.personas.pass_run import MissingUnit, OnProgress, PassResult
from recall_bench.features.personas.prompts import load_prompt
from recall_bench.features.personas.simulator.values import Dates
from recall_bench.stories.persona_files import Layout, choose_story, list_stories
from recall_bench.stories.persona_story import (
    ARC_TYPES,
    EPOCH,
    Persona,
    Story,
    read_persona,
    read_story,
)
from recall_bench.systems.models.json_schema import (
    FLAG,
    TEXT,
    TEXT_OR_NONE,
    TEXTS,
    WHOLE,
    WHOLE_OR_NONE,
    Schema,
    make_choice,
    make_list,
    make_object,
)
from recall_bench.systems.models.model import Prompt, fence_blocks

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model, Prompt


def build_persona_schema() -> Schema:
    """The schema of the reply with a persona."""
    return make_object(
        name=TEXT,
        role=TEXT,
        domain=TEXT,
        company=TEXT_OR_NONE,
        institution=TEXT_OR_NONE,
        team_size=WHOLE,
        profile=TEXT,
        communication_style=TEXT,
        principal=make_object(name=TEXT, role=TEXT, profile=TEXT),
        cast=make_list(make_object(name=TEXT, role=TEXT, kind=make_choice("human", "agent"))),
        sessions=make_list(
            make_object(
                id=TEXT,
                kind=make_choice("1to1", "group"),
                participants=TEXTS,
                isolated=FLAG,
                shared=FLAG,
                sensitive_topics=TEXTS,
            )
        ),
        projects=make_list(make_object(id=TEXT, name=TEXT, description=TEXT)),
        sharedKnowledge=TEXTS,
    )


def build_story_schema() -> Schema:
    """The schema of the reply with a story."""
    return make_object(
        sessions=make_list(make_object(id=TEXT, firstDay=WHOLE_OR_NONE, lastDay=WHOLE_OR_NONE)),
        arcs=make_list(
            make_object(
                id=TEXT,
                type=make_choice(*ARC_TYPES),
                title=TEXT,
                description=TEXT,
                startDay=WHOLE,
                endDay=WHOLE,
                primarySession=TEXT,
                referencedSessions=TEXTS,
                participants=TEXTS,
                wrongDay=WHOLE_OR_NONE,
                correctedDay=WHOLE_OR_NONE,
                wrongBelief=TEXT_OR_NONE,
                correctedBelief=TEXT_OR_NONE,
                directives=make_list(make_object(day=WHOLE, event=TEXT)),
            )
        ),
    )


_PAUSES = (
    f"There are quiet periods, {{few}}: {SHORTEST_QUIET} to {LONGEST_QUIET} days in a row in which "
    "no arc at all is active, such as holidays. No arc lasts through one: let arcs end before and "
    f"start after it. Otherwise fewer than {SHORTEST_QUIET} days in a row are without an arc."
)
_NO_PAUSES = "There are no longer pauses: at most {gap} in a row without any arc."
_INSIDERS = (
    " Where primarySession is isolated, only people who sit in it; the texts may still talk about "
    "others."
)
_SECRETS = (
    "- {few} of the arcs happen in a session that is isolated. Their referencedSessions are empty, "
    "and their participants are people who sit in that session; others may be talked about in the "
    "texts. Their secrets are exact values, and no other arc tells them.\n"
)

_LENGTHS = {
    "project": (60, 200),
    "incident": (3, 14),
    "decision": (10, 40),
    "learning": (20, 120),
    "relationship": (60, 250),
    "correction": (20, 90),
}
"""The usual shortest and longest arc of each type in a story of 1,000 days."""


def build_persona_prompt(description: str) -> Prompt:
    """The prompt for a persona."""
    blocks = fence_blocks({"description": description})
    return Prompt(
        system=load_prompt("persona-system").format(mark=blocks.mark),
        user=load_prompt("persona-task").format(material=blocks.text),
        schema=build_persona_schema(),
    )


def build_story_prompt(
    persona_yaml: str, description: str, days: int, epoch: date, *, has_secrets: bool = True
) -> Prompt:
    """The prompt for the arcs of a persona's story.

    `has_secrets` says whether any of its sessions is isolated.
    """
    wishes = {"description": description} if description else {}
    blocks = fence_blocks({"persona.yaml": persona_yaml, **wishes})
    least, most = compute_arc_bounds(days)
    dates = Dates(epoch, "day-first")
    secrets = _describe_secrets(days) if has_secrets else ""
    return Prompt(
        system=load_prompt("persona-system").format(mark=blocks.mark),
        user=load_prompt("story-task").format(
            material=blocks.text,
            days=days,
            first=dates.format_heading(1),
            last=dates.format_heading(days),
            least=least,
            most=most,
            counts=_describe_counts(days),
            directed=count_fewest_with_directives(most),
            lengths=", ".join(f"{kind} {_describe_length(kind, days)}" for kind in _LENGTHS),
            at_once=MAX_CONCURRENT_ARCS,
            pauses=_describe_pauses(days),
            insiders=_INSIDERS if secrets else "",
            secrets=secrets,
        ),
        schema=build_story_schema(),
    )


def _describe_counts(days: int) -> str:
    counts = [f"{count} of type {kind}" for kind, count in count_fewest_arcs(days).items() if count]
    return f"at least {', '.join(counts)}" if counts else "of any type"


def _describe_length(kind: str, days: int) -> str:
    # The number of arcs grows with the cube root of the length, so their length with its square.
    scale = (days / 1000) ** (2 / 3)
    shortest, longest = (round(length * scale) for length in _LENGTHS[kind])
    least = min(days, max(shortest, 2))
    return f"{least}–{min(days, max(longest, least + 2))}" if least < days else f"{days}"


def _describe_pauses(days: int) -> str:
    if days >= QUIET_FROM:
        most = count_most_quiet_periods(days)
        return _PAUSES.format(few="one or two" if most == 2 else f"one to {most}")
    gap = days // 8
    if gap == 0:
        return "Every day has an arc."
    return _NO_PAUSES.format(gap="1 day" if gap == 1 else f"{gap} days")


def _describe_secrets(days: int) -> str:
    if days < SECRETS_FROM:
        return ""
    return _SECRETS.format(few="One or two" if days < 365 else "Two to four")


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
        _reject_arcs_without_persona(layout)
        return ExistingFiles(persona=None, story=None)
    if not request.arcs_only:
        _reject_other_description(request)
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
        log is not None
        and log.is_done_in_round(name_persona_unit(request))
        and _matches_request(request)
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
            "agent's sessions, including that one"
        )


def _reject_arcs_without_persona(layout: Layout) -> None:
    if layout.arcs_file.exists():
        raise UsageError(
            f"{layout.name(layout.arcs_file)} exists and its persona.yaml does not; --overwrite "
            "writes both again"
        )


def _reject_other_description(request: CreateRequest) -> None:
    if not _matches_request(request):
        name = request.story.name(request.story.persona_file)
        raise UsageError(
            f"{name} exists and was not made from this description, or was changed since; "
            "--arcs-only writes arcs for it as it is, --overwrite replaces it"
        )


def _matches_request(request: CreateRequest) -> bool:
    path = _locate_origin(request.persona)
    try:
        origin = decode_untrusted_json(path.read_bytes(), PersonaOrigin)
        written = request.story.persona_file.read_bytes()
    except FileNotFoundError:
        return False
    except msgspec.DecodeError as error:
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
    session_ids = {session.id for session in persona.sessions}
    for arc in story.arcs:
        if arc.primary_session is not None and arc.primary_session not in session_ids:
            raise UsageError(
                f"{name} exists and uses session {arc.primary_session}, which persona.yaml "
                "does not have; --overwrite writes it again"
            )
    return story


def _locate_origin(folder: Path) -> Path:
    return folder / FOLDER / "persona.json"


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def describe_result(
    request: CreateRequest, persona: Persona | None, story: Story | None
) -> tuple[str, ...]:
    """Sentences about the persona and the story; the last is the next command."""
    lines = []
    if persona is not None:
        lines.append(
            f"{persona.name}, {persona.role}: "
            f"{format_quantity(len(persona.cast), 'person', 'people')} in the cast"
        )
    if story is not None:
        lines += _describe_story(request, story)
        lines.append(f"next: {_build_next_command(request)}")
    return tuple(lines)


def find_leftovers(request: CreateRequest, written: list[str]) -> tuple[str, ...]:
    """Files in the folder that belong to what was just replaced."""
    layout = request.story
    if layout.arcs not in written:
        return ()
    old = _list_story_folders(layout)
    if "persona.yaml" in written:
        for arcs in list_stories(layout.folder):
            if arcs != layout.arcs:
                old += [arcs, *_list_story_folders(Layout(layout.folder, arcs))]
    if not old:
        return ()
    warning = f"{', '.join(old)} belong to what was there before; write them again, or remove them"
    return (warning,)


def _list_story_folders(layout: Layout) -> list[str]:
    """The existing folders of a story."""
    folders = (layout.memories, layout.conversations, layout.tools, layout.questions_file.parent)
    return [folder.name for folder in folders if folder.exists()]


def _describe_story(request: CreateRequest, story: Story) -> Iterator[str]:
    counts = Counter(arc.type for arc in story.arcs)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in ARC_TYPES if counts[kind])
    yield (
        f"{request.story.arcs}: {format_quantity(len(story.arcs), 'arc')} over "
        f"{format_quantity(request.days, 'day')} from {story.epoch}: {kinds}"
    )
    sessions = ", ".join(
        f"{session.id} (isolated)" if session.isolated else session.id for session in story.sessions
    )
    yield f"{format_quantity(len(story.sessions), 'session')}: {sessions}"


def _build_next_command(request: CreateRequest) -> str:
    words = ["recall-bench", "generate", "--persona", str(request.persona)]
    if choose_story(list_stories(request.persona)) != request.story.arcs:
        words += ["--arcs", request.story.arcs]
    return shlex.join([*words, "--model", request.model])


Parsed = TypeVar("Parsed")


MAX_ROUNDS = 5
"""New calls that a run spends on one file; more than usual, because a story has many rules."""

_PERSONA_TOKENS = 1800
_ARC_TOKENS = 280


def create_persona(
    request: CreateRequest, on_progress: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Write persona.yaml and the arcs of a story, unless they exist.

    Each file is written whole as soon as it is valid, and the same request continues an interrupted
    one. A given model replaces that of the request.
    """
    if model is None and request.is_offline:
        from recall_bench.features.personas.creation.offline_persona import create_offline

        return _add_description(request, create_offline(request, on_progress))
    existing = check_request(request)
    frame = ModelPass("create-persona", request, on_progress, model)
    if existing.persona is not None and existing.story is not None:
        return _PersonaPass(frame, request, existing).make_result()
    frame.open_model()
    with frame.open_log(request.persona, "create-persona", "") as log:
        for folder in (request.persona, request.persona / FOLDER):
            sweep_folder(folder)
        frame.begin()
        creation = _PersonaPass(frame, request, find_existing(request, log))
        frame.run(creation.write_files)
        return creation.make_result()


def _add_description(request: CreateRequest, generated: PassResult) -> PassResult:
    """The result with a description of persona and story, if both exist."""
    if generated.exit_code != 0:
        return generated
    persona = read_persona(request.persona)
    story = read_story(request.persona, request.story.arcs)
    return generated.replace(notes=(*generated.notes, *describe_result(request, persona, story)))


class _PersonaPass:
    """The state of one pass."""

    def __init__(self, frame: ModelPass, request: CreateRequest, existing: ExistingFiles) -> None:
        self._frame = frame
        self._request = request
        self._persona, self._story = existing.persona, existing.story
        # The persona of --arcs-only is no file of the request.
        files = (self._story,) if request.arcs_only else (self._persona, self._story)
        self._kept = sum(file is not None for file in files)
        self._written: list[str] = []

    async def write_files(self) -> None:
        """Write the missing files; without a persona there is no story either."""
        request, frame = self._request, self._frame
        usual_tokens = _ARC_TOKENS * compute_arc_bounds(request.days)[1]
        if self._persona is None:
            sample = build_persona_prompt(request.prompt.strip())
            frame.report_estimate(2, sample, (_PERSONA_TOKENS + usual_tokens) // 2)
            await self._write_persona()
        elif self._story is None:
            frame.report_estimate(1, self._build_story_prompt(self._persona), usual_tokens)
        if self._persona is None:
            reason = "there is no persona to tell it of"
            frame.missing.append(MissingUnit(unit=request.story.arcs, reason=reason))
        elif self._story is None:
            await self._write_story()

    def make_result(self) -> PassResult:
        """The result of the pass."""
        request = self._request
        return self._frame.make_result(
            "files",
            request.persona,
            wanted=1 if request.arcs_only else 2,
            kept=self._kept,
            notes=(
                *describe_result(request, self._persona, self._story),
                *find_leftovers(request, self._written),
            ),
        )

    async def _write_persona(self) -> None:
        request, epoch = self._request, find_first_day(self._request, None)
        reply = await self._ask(
            "persona.yaml",
            build_persona_prompt(request.prompt.strip()),
            lambda text: parse_persona_reply(text, request.id, epoch),
        )
        if reply is None:
            return
        content = reply.text.encode()
        record_origin(request, content)
        replace_file(request.story.persona_file, content)
        self._note_written("persona.yaml", name_persona_unit(request))
        self._persona = reply.persona

    async def _write_story(self) -> None:
        request, persona = self._request, read_persona(self._request.persona)
        epoch = find_first_day(request, persona)
        reply = await self._ask(
            request.story.arcs,
            self._build_story_prompt(persona),
            lambda text: parse_story_reply(text, persona, request.days, epoch),
        )
        if reply is None:
            return
        replace_file(request.story.arcs_file, reply.text.encode())
        self._note_written(request.story.arcs, name_story_unit(request))
        self._story = reply.story

    async def _ask(
        self, unit: str, prompt: "Prompt", read: Callable[[str], Parsed | RejectedReply]
    ) -> Parsed | None:
        """The first usable reply, or None; a reply that is sent back is reported."""

        def read_and_report(text: str) -> Parsed | RejectedReply:
            reading = read(text)
            if isinstance(reading, RejectedReply):
                more = len(reading.problems) - 1
                also = f" (and {more} more)" if more else ""
                self._frame.on_progress(
                    f"[create-persona] {unit} sent back: {reading.problems[0]:.200}{also}"
                )
            return reading

        try:
            return await self._frame.ask(unit, prompt, read_and_report, attempts=MAX_ROUNDS)
        except NoUsableReply as fault:
            self._frame.skip(unit, str(fault))
            return None

    def _note_written(self, name: str, unit: str) -> None:
        self._frame.note_written(unit)
        self._written.append(name)
        self._frame.on_progress(f"Wrote {name}")

    def _build_story_prompt(self, persona: Persona) -> "Prompt":
        """The prompt for the story, from the files on disk."""
        request = self._request
        return build_story_prompt(
            request.story.persona_file.read_text(encoding="utf-8-sig"),
            request.prompt.strip(),
            request.days,
            find_first_day(request, persona),
            has_secrets=any(session.isolated for session in persona.sessions),
        )
