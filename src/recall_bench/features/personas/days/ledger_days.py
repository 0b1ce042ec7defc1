"""The days of a simulated story: as the simulator words them, or as a model does.

What a model words (`--from-ledger`) is verified against the simulator's facts, day by day.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from recall_bench.core.atomic_file import replace_file, sweep_folder
from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import compute_story_date
from recall_bench.features.personas.creation.offline_persona import is_file_of
from recall_bench.features.personas.day_log import (
    find_added_values,
    find_exact_values,
    format_date,
    list_known_values,
)
from recall_bench.features.personas.days.diary import render_day
from recall_bench.features.personas.days.entry_check import (
    LONG_SENTENCE_WORDS,
    MAX_COPIED_SHARE,
    extract_entry,
)
from recall_bench.features.personas.model_pass import ModelPass
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.features.personas.pass_request import DaysRequest
from recall_bench.features.personas.pass_run import OnProgress, PassResult, run_units
from recall_bench.features.personas.prompts import build_task_prompt
from recall_bench.features.personas.simulator.ledger import LogPage, Note
from recall_bench.features.personas.simulator.values import Dates, list_spellings
from recall_bench.features.personas.simulator.world import World
from recall_bench.features.personas.simulator.world_files import open_world
from recall_bench.stories.persona_files import Layout, format_days, name_day_file
from recall_bench.stories.persona_story import Persona, Session, Story, read_persona, read_story
from recall_bench.systems.models.model import Prompt, fence_blocks
from recall_bench.text.sentences import split_sentences

if TYPE_CHECKING:
    from recall_bench.systems.models.model import Model


def write_offline_days(request: DaysRequest, on_progress: Callable[[str], None]) -> PassResult:
    """Write the missing days of a simulated persona.

    UsageError if the simulator did not make the persona, or if its story was edited.
    """
    layout = request.find_layout()
    world = open_world(layout)
    if world is None:
        raise UsageError(
            f"{layout.id}: offline can only write stories that the simulator made; name a model "
            "with --model, or create the persona with `recall-bench create-persona --model offline`"
        )
    span = request.select_days(world.options.days)
    pages = [page for page in world.build_pages() if page.day in span]
    frame = ModelPass("generator", request, on_progress)
    kept: list[int] = []
    differing: list[int] = []
    # Only for its lock: one process at a time may write days.
    with frame.open_log(layout.folder, "days", layout.suffix):
        sweep_folder(layout.memories)
        unique = sum(1 for _ in layout.memories.glob("day-*.md"))

        async def write_days() -> None:
            nonlocal unique
            for page in pages:
                await checkpoint()
                path = layout.memories / name_day_file(page.day)
                is_as_told = is_file_of(path, page.text.encode())
                if is_as_told or (path.exists() and not request.overwrite):
                    kept.append(page.day)
                    differing.extend([] if is_as_told else [page.day])
                    continue
                unique += not path.exists()
                replace_file(path, page.text.encode())
                frame.written += 1
                on_progress(f"Generated day {page.day}/{span[-1]} ({unique} unique)")

        frame.run(write_days, ends_round=False)
    notes = []
    if differing:
        notes.append(
            f"not as the simulator tells them: {format_days(differing)}; its answers may not hold "
            "there (--overwrite writes these days again)"
        )
    quiet = sorted(set(span).difference(page.day for page in pages))
    strange = [day for day in quiet if (layout.memories / name_day_file(day)).exists()]
    if strange:
        notes.append(
            f"nothing happens on {format_days(strange)}, but {layout.name(layout.memories)} has "
            "files for it; remove them"
        )
    return frame.make_result(
        "days", layout.memories, wanted=len(pages), kept=len(kept), notes=tuple(notes)
    )


@dataclass(frozen=True)
class DueFact:
    """A value to be stated, with its subject and its spellings."""

    about: str
    value: str
    spellings: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        """Whether a text holds the value in any spelling."""
        low = text.casefold()
        return any(way.casefold() in low for way in (self.value, *self.spellings))


@dataclass(frozen=True)
class SessionNotes:
    """The simulator's text for one session on one day, and the facts in it."""

    day: int
    session: str
    parts: tuple[Note, ...]
    facts: tuple[DueFact, ...]

    @cached_property
    def text(self) -> str:
        """The text as the simulator writes it."""
        return "\n\n".join(f"### {note.heading}\n{note.text}" for note in self.parts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the subjects that occur in the text."""
        matters = (note.matter.name for note in self.parts if note.matter is not None)
        return tuple(dict.fromkeys(name for name in matters if name in self.text))

    @cached_property
    def values(self) -> frozenset[str]:
        """The cores of all values in the text."""
        return list_known_values(self.text)


def collect_notes(page: LogPage, dates: Dates) -> tuple[SessionNotes, ...]:
    """The notes of every session with content, in the order of the sessions."""
    by_session: dict[str, list[Note]] = defaultdict(list)
    for note in page.notes:
        by_session[note.session].append(note)
    return tuple(
        SessionNotes(
            page.day,
            session,
            tuple(notes),
            tuple(
                DueFact(note.matter.name, value.text, list_spellings(value, dates, page.day))
                for note in notes
                if note.matter is not None
                for value in note.values
            ),
        )
        for session, notes in by_session.items()
    )


_MAX_EARLIER = 3
"""Earlier steps that are shown of one thread."""


class EarlierSteps:
    """What the simulator stated of each matter, by session and day."""

    def __init__(self) -> None:
        self._texts: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)

    def add_page(self, page: LogPage) -> None:
        """Add a day; days come in order."""
        for note in page.notes:
            if note.matter is not None:
                self._texts[note.session, note.matter.name].append((page.day, note.text))

    def find_before(self, notes: SessionNotes) -> list[tuple[int, str]]:
        """The last days and texts in which the session had the matters of its notes."""
        names = {note.matter.name for note in notes.parts if note.matter is not None}
        return sorted(
            step
            for name in names
            for step in [s for s in self._texts[notes.session, name] if s[0] < notes.day][
                -_MAX_EARLIER:
            ]
        )


def build_ledger_prompt(
    persona: Persona,
    session: Session | None,
    notes: SessionNotes,
    date: str,
    before: Sequence[str] = (),
) -> Prompt:
    """The prompt for one session of a day; `before` are earlier steps of its threads."""
    who = {
        "name": persona.name,
        "role": persona.role,
        "profile": persona.profile,
        "style": persona.communication_style,
        "principal": None if persona.principal is None else persona.principal.name,
    }
    where = {
        "session": notes.session,
        "with": () if session is None else session.participants,
    }
    statements = dict.fromkeys(
        (*notes.names, *(f"{fact.value} ({fact.about})" for fact in notes.facts))
    )
    facts = "\n".join(f"- {item}" for item in statements) or "- (nothing in particular)"
    blocks = fence_blocks(
        {
            "agent": json.dumps(who, ensure_ascii=False, indent=1),
            "place": json.dumps(where, ensure_ascii=False),
            **({"before": "\n".join(before)} if before else {}),
            "notes": notes.text,
            "must come up": facts,
        }
    )
    return build_task_prompt("ledger", blocks, date=date)


def check_ledger_entry(
    reply: str, notes: SessionNotes, date: str, elsewhere: Mapping[str, str]
) -> str | RejectedReply:
    """The entry in a reply, or what is wrong with it.

    Every fact must be in it, no other value, and no canary of another session (`elsewhere`).
    """
    text = extract_entry(reply, notes.session)
    if isinstance(text, RejectedReply):
        return text
    existing = notes.values | {atom.core for atom in find_exact_values(date)}
    problems = (
        *_find_missing_facts(text, notes),
        *(f"{value} is not in the notes" for value in find_added_values(text, existing)),
        *(f"{secret} belongs to another session" for secret in elsewhere if secret in text),
        *_find_copies(text, notes),
    )
    return RejectedReply(problems) if problems else text


_TOPIC = re.compile(r"^(?=### )", re.MULTILINE)


def _find_missing_facts(text: str, notes: SessionNotes) -> Iterator[str]:
    low = text.casefold()
    for name in notes.names:
        if name.casefold() not in low:
            yield f"{name} is not named"
    topics = _TOPIC.split(text)
    for fact in dict.fromkeys(notes.facts):
        own = [topic for topic in topics if fact.about.casefold() in topic.casefold()]
        if not fact.is_in(text):
            yield f"{fact.value}, of {fact.about}, is missing"
        elif own and not any(fact.is_in(topic) for topic in own):
            yield f"{fact.value} belongs to {fact.about} and is told under another topic"


def _find_copies(text: str, notes: SessionNotes) -> Iterator[str]:
    own = _find_long_sentences(notes.text)
    copied = own & _find_long_sentences(text)
    if len(own) > 1 and len(copied) > MAX_COPIED_SHARE * len(own):
        yield "most of it repeats the notes word for word; say it in other words"


def _find_long_sentences(text: str) -> set[str]:
    long_sentences = (sentence for line in text.splitlines() for sentence in split_sentences(line))
    return {sentence for sentence in long_sentences if len(sentence.split()) >= LONG_SENTENCE_WORDS}


_USUAL_TOKENS = 500


def write_from_ledger(
    request: DaysRequest, on_progress: OnProgress = lambda _: None, model: "Model | None" = None
) -> PassResult:
    """Write the simulated days with a model, and keep only days that hold exactly the facts.

    A day needs all facts of the simulator, no other values, and canaries only in their session. A
    day that fails is skipped and reported; the same request tries it again.
    """
    layout = request.find_layout()
    world = open_world(layout)
    if world is None:
        raise UsageError(
            f"--from-ledger: {layout.id} was not made by the simulator; make a persona with "
            "`recall-bench create-persona --model offline`, or leave --from-ledger out"
        )
    persona, story = read_persona(layout.folder), read_story(layout.folder, layout.arcs)
    frame = ModelPass("generator", request, on_progress, model)
    frame.open_model()
    with frame.open_log(layout.folder, "days", layout.suffix):
        frame.begin()
        return _LedgerDaysPass(frame, layout, persona, story, world).run()


@dataclass(slots=True)
class _LedgerDaysPass:
    """The state of one pass."""

    frame: ModelPass
    layout: Layout
    persona: Persona
    story: Story
    world: World
    unique: int = 0
    """The number of days with a file."""
    planted: dict[str, str] = field(default_factory=dict)
    """Every canary, with the only session that may hold it."""
    steps: EarlierSteps = field(default_factory=EarlierSteps)

    def run(self) -> PassResult:
        """Run the simulator, then write the missing days."""
        frame, memories = self.frame, self.layout.memories
        sweep_folder(memories)
        self.unique = sum(1 for _ in memories.glob("day-*.md"))
        days = frame.request.select_days(self.world.options.days)
        self.planted = {
            matter.canary: matter.kind.session for matter in self.world.matters if matter.canary
        }
        pages = []
        for page in self.world.build_pages():
            self.steps.add_page(page)
            if page.day in days:
                pages.append(page)
        owed = [
            page
            for page in pages
            if not frame.is_done(
                f"day {page.day}", exists=(memories / name_day_file(page.day)).exists()
            )
        ]
        if owed:
            calls = sum(len(self._collect_notes(page)) for page in owed)
            sample = self._build_prompt(self._collect_notes(owed[0])[0])
            frame.report_estimate(calls, sample, _USUAL_TOKENS)
        frame.run(lambda: run_units(owed, self._write_day, concurrency=frame.request.parallelism))
        return frame.make_result("days", memories, wanted=len(pages), kept=len(pages) - len(owed))

    def _collect_notes(self, page: LogPage) -> tuple[SessionNotes, ...]:
        return collect_notes(page, self.world.dates)

    def _format_day(self, day: int) -> str:
        return format_date(compute_story_date(self.story.epoch, day).date())

    def _build_prompt(self, notes: SessionNotes) -> Prompt:
        sessions = {session.id: session for session in self.story.sessions}
        before = [
            f"- {self._format_day(day)}: {text}" for day, text in self.steps.find_before(notes)
        ]
        return build_ledger_prompt(
            self.persona,
            sessions.get(notes.session),
            notes,
            self._format_day(notes.day),
            before,
        )

    async def _write_day(self, page: LogPage) -> None:
        day, frame = page.day, self.frame
        entries = await frame.write_entries(
            day,
            ",".join(self.story.list_active_arcs(day)),
            {
                notes.session: partial(self._write_entry, notes)
                for notes in self._collect_notes(page)
            },
        )
        if entries is None:
            return
        path = self.layout.memories / name_day_file(day)
        self.unique += not path.exists()
        replace_file(path, render_day(entries).encode())
        frame.note_written(f"day {day}")
        frame.on_progress(f"Generated day {day}/{self.world.options.days} ({self.unique} unique)")

    async def _write_entry(self, notes: SessionNotes) -> str:
        date = self._format_day(notes.day)
        elsewhere = {text: home for text, home in self.planted.items() if home != notes.session}
        return await self.frame.ask(
            f"day {notes.day}, {notes.session}",
            self._build_prompt(notes),
            lambda reply: check_ledger_entry(reply, notes, date, elsewhere),
        )
