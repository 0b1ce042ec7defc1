"""The pass `create-persona`: a persona and its story from a description.

`.generation/persona.json` records the description that persona.yaml was made from. It is written
before persona.yaml, with its digest, so that the state after a kill is clear.
"""

import shlex
from collections import Counter
from collections.abc import Callable
from datetime import date
from hashlib import sha256
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


def create_persona(
    request: CreateRequest, on_progress: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Write persona.yaml and the arcs of a story, unless they exist.

    Each file is written whole as soon as it is valid, and the same request continues an interrupted
    one. A given model replaces that of the request.
    """
    if model is None and request.is_offline:
        from recall_bench.features.personas.creation.offline_persona import create_offline

        generated = create_offline(request, on_progress)
        if generated.exit_code != 0:
            return generated
        persona = read_persona(request.persona)
        story = read_story(request.persona, request.story.arcs)
        notes = (*generated.notes, *describe_result(request, persona, story))
        return generated.replace(notes=notes)
    frame = ModelPass("create-persona", request, on_progress, model)
    creation = _PersonaPass(frame, request)
    creation.check_request()
    if creation.persona is not None and creation.story is not None:
        return creation.make_result()
    frame.open_model()
    with frame.open_log(request.persona, "create-persona", "") as log:
        for folder in (request.persona, request.persona / FOLDER):
            sweep_folder(folder)
        frame.begin()
        creation.find_existing(log)
        frame.run(creation.write_files)
        return creation.make_result()


def find_first_day(request: CreateRequest, persona: Persona | None) -> date:
    """The date of day 1; UsageError if the story would exceed the calendar."""
    epoch = request.epoch or (persona.epoch if persona else None) or EPOCH
    if (date.max - epoch).days < request.days:
        raise UsageError(
            f"{request.story.name(request.story.persona_file)}: {request.days} days from {epoch} "
            "on end after the year 9999; set an earlier first day with --epoch"
        )
    return epoch


def describe_result(
    request: CreateRequest, persona: Persona | None, story: Story | None
) -> tuple[str, ...]:
    """Sentences about the persona and the story; the last is the next command."""
    lines = []
    if persona is not None:
        people = format_quantity(len(persona.cast), "person", "people")
        lines.append(f"{persona.name}, {persona.role}: {people} in the cast")
    if story is not None:
        counts = Counter(arc.type for arc in story.arcs)
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in ARC_TYPES if counts[kind])
        sessions = ", ".join(
            f"{session.id} (isolated)" if session.isolated else session.id
            for session in story.sessions
        )
        words = ["recall-bench", "generate", "--persona", str(request.persona)]
        if choose_story(list_stories(request.persona)) != request.story.arcs:
            words += ["--arcs", request.story.arcs]
        span = f"over {format_quantity(request.days, 'day')} from {story.epoch}"
        lines += [
            f"{request.story.arcs}: {format_quantity(len(story.arcs), 'arc')} {span}: {kinds}",
            f"{format_quantity(len(story.sessions), 'session')}: {sessions}",
            f"next: {shlex.join([*words, '--model', request.model])}",
        ]
    return tuple(lines)


Parsed = TypeVar("Parsed")


MAX_ROUNDS = 5
"""New calls that a run spends on one file; more than usual, because a story has many rules."""

_PERSONA_TOKENS = 1800
_ARC_TOKENS = 280


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


class _PersonaPass:
    """The state of one pass."""

    def __init__(self, frame: ModelPass, request: CreateRequest) -> None:
        self._frame = frame
        self._request = request
        self._layout = request.story
        self._prompt = request.prompt.strip()
        self._written: list[str] = []
        self._kept = 0
        self.persona: Persona | None = None
        """None while it has to be written."""
        self.story: Story | None = None

    def check_request(self) -> None:
        """Check the request before any call, and find the files that are kept."""
        request, layout = self._request, self._layout
        request.check_folder()
        request.check_model()
        name = layout.name(layout.persona_file)
        if request.arcs_only and not layout.persona_file.is_file():
            raise UsageError(f"--arcs-only: {name} does not exist; leave the flag out to make it")
        if request.arcs_only and PRINCIPAL not in {
            session.id for session in read_persona(layout.folder).sessions
        }:
            raise UsageError(
                f"--arcs-only: {name} has no session {PRINCIPAL}; add the agent's sessions, "
                "including that one"
            )
        if not request.arcs_only and not self._prompt:
            raise UsageError(
                "--prompt is missing; describe the person that the agent works for and their job, "
                "or use --arcs-only for an existing persona"
            )
        self.find_existing(None)
        find_first_day(request, self.persona)

    def find_existing(self, log: CallLog | None) -> None:
        """Read the files that are kept; UsageError or DataError if the pass must not run.

        When overwriting, the log tells which files the current round has written; those are kept.
        """
        request, layout = self._request, self._layout
        self.persona = self.story = None
        if request.overwrite:
            is_own = log is not None and log.is_done_in_round(self._name_persona_unit())
            if request.arcs_only or (is_own and self._is_from_prompt()):
                self.persona = read_persona(request.persona)
                if log is not None and log.is_done_in_round(self._name_story_unit()):
                    self.story = read_story(request.persona, layout.arcs)
        elif layout.persona_file.exists():
            if not request.arcs_only and not self._is_from_prompt():
                raise UsageError(
                    f"{layout.name(layout.persona_file)} exists and was not made from this "
                    "description, or was changed since; --arcs-only writes arcs for it as it is, "
                    "--overwrite replaces it"
                )
            self.persona = read_persona(request.persona)
            self.story = self._read_story(self.persona) if layout.arcs_file.exists() else None
        elif layout.arcs_file.exists():
            raise UsageError(
                f"{layout.name(layout.arcs_file)} exists and its persona.yaml does not; "
                "--overwrite writes both again"
            )
        # The persona of --arcs-only is no file of the request.
        files = (self.story,) if request.arcs_only else (self.persona, self.story)
        self._kept = sum(file is not None for file in files)

    def _is_from_prompt(self) -> bool:
        """Whether persona.yaml is as it was made from this description."""
        path = self._request.persona / FOLDER / "persona.json"
        try:
            origin = decode_untrusted_json(path.read_bytes(), PersonaOrigin)
            written = self._layout.persona_file.read_bytes()
        except FileNotFoundError:
            return False
        except msgspec.DecodeError as error:
            raise DataError(f"{path}: cannot be read ({error}); remove it") from error
        prompt = _digest(self._prompt.encode())
        return origin == PersonaOrigin(prompt=prompt, persona=_digest(written))

    def _read_story(self, persona: Persona) -> Story:
        request, layout = self._request, self._layout
        name = layout.name(layout.arcs_file)
        story = read_story(request.persona, layout.arcs)
        if request.epoch is not None and story.epoch != request.epoch:
            raise UsageError(
                f"--epoch: {name} exists and begins on {story.epoch}; --overwrite writes it again"
            )
        session_ids = {None, *(session.id for session in persona.sessions)}
        for arc in story.arcs:
            if arc.primary_session not in session_ids:
                raise UsageError(
                    f"{name} exists and uses session {arc.primary_session}, which persona.yaml "
                    "does not have; --overwrite writes it again"
                )
        return story

    def _name_persona_unit(self) -> str:
        """The name of the persona in the log; it depends on what it is made from."""
        made_from = _digest(f"{self._prompt} {self._request.epoch}".encode())
        return f"persona.yaml {made_from[:12]}"

    def _name_story_unit(self) -> str:
        persona = self._layout.persona_file.read_bytes()
        made_from = _digest(f"{self._prompt} {self._request.epoch} ".encode() + persona)
        return f"{self._layout.arcs} {made_from[:12]}"

    async def write_files(self) -> None:
        """Write the missing files; without a persona there is no story either."""
        request, frame = self._request, self._frame
        usual_tokens = _ARC_TOKENS * compute_arc_bounds(request.days)[1]
        if self.persona is None:
            sample = build_persona_prompt(self._prompt)
            frame.report_estimate(2, sample, (_PERSONA_TOKENS + usual_tokens) // 2)
            await self._write_persona()
        elif self.story is None:
            frame.report_estimate(1, self._build_story_prompt(self.persona), usual_tokens)
        if self.persona is None:
            reason = "there is no persona to tell it of"
            frame.missing.append(MissingUnit(unit=self._layout.arcs, reason=reason))
        elif self.story is None:
            await self._write_story()

    async def _write_persona(self) -> None:
        epoch = find_first_day(self._request, None)
        reply = await self._ask(
            "persona.yaml",
            build_persona_prompt(self._prompt),
            lambda text: parse_persona_reply(text, self._request.id, epoch),
        )
        if reply is None:
            return
        content = reply.text.encode()
        # First what it was made from: after a kill between the two it is written again.
        origin = PersonaOrigin(prompt=_digest(self._prompt.encode()), persona=_digest(content))
        path = self._request.persona / FOLDER / "persona.json"
        replace_file(path, msgspec.json.encode(origin) + b"\n")
        replace_file(self._layout.persona_file, content)
        self._note_written("persona.yaml", self._name_persona_unit())
        self.persona = reply.persona

    async def _write_story(self) -> None:
        persona = read_persona(self._request.persona)
        epoch = find_first_day(self._request, persona)
        reply = await self._ask(
            self._layout.arcs,
            self._build_story_prompt(persona),
            lambda text: parse_story_reply(text, persona, self._request.days, epoch),
        )
        if reply is not None:
            replace_file(self._layout.arcs_file, reply.text.encode())
            self._note_written(self._layout.arcs, self._name_story_unit())
            self.story = reply.story

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
        return build_story_prompt(
            self._layout.persona_file.read_text(encoding="utf-8-sig"),
            self._prompt,
            self._request.days,
            find_first_day(self._request, persona),
            has_secrets=any(session.isolated for session in persona.sessions),
        )

    def make_result(self) -> PassResult:
        """The result of the pass, with what in the folder belongs to what was replaced."""
        request, layout = self._request, self._layout
        old = _list_story_folders(layout) if layout.arcs in self._written else []
        if "persona.yaml" in self._written and layout.arcs in self._written:
            for arcs in list_stories(layout.folder):
                if arcs != layout.arcs:
                    old += [arcs, *_list_story_folders(Layout(layout.folder, arcs))]
        belongs = "belong to what was there before; write them again, or remove them"
        return self._frame.make_result(
            "files",
            request.persona,
            wanted=1 if request.arcs_only else 2,
            kept=self._kept,
            notes=(
                *describe_result(request, self.persona, self.story),
                *([f"{', '.join(old)} {belongs}"] if old else []),
            ),
        )


def _list_story_folders(layout: Layout) -> list[str]:
    """The existing folders of a story."""
    folders = (layout.memories, layout.conversations, layout.tools, layout.questions_file.parent)
    return [folder.name for folder in folders if folder.exists()]
