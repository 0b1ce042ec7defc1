"""Build a persona folder in the public format from its sources."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import IO

import msgspec

from recall_bench.core.atomic_file import name_beside, sweep_folder
from recall_bench.core.errors import DISK_FULL, JournalLost, Malformed, UsageError
from recall_bench.core.folders import join_id
from recall_bench.core.random_stream import RandomStream
from recall_bench.core.yaml_writer import dump_yaml, format_scalar
from recall_bench.features.personas.world.cast import build_renaming, rename_texts
from recall_bench.features.personas.world.day_text import LogPage
from recall_bench.features.personas.world.ledger import Thread
from recall_bench.features.personas.world.public_format import (
    build_arcs_file,
    build_ledger_entries,
    build_persona_file,
    build_question_entry,
)
from recall_bench.features.personas.world.question_draft import (
    LedgerQuestion,
    QuestionContext,
    choose_wording,
)
from recall_bench.features.personas.world.question_generator import LedgerQuestionGenerator
from recall_bench.features.personas.world.simulation import SimulatedDay, Simulation
from recall_bench.features.personas.world.sources import (
    AuthoredStory,
    Routine,
    Voice,
    WorldOptions,
    WorldPersona,
    WorldSources,
)
from recall_bench.stories.persona_files import LEDGER_FILE


def build_folder(
    sources: WorldSources,
    options: WorldOptions,
    out: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> Path:
    """Simulate the persona and write its folder under `out`; a failure leaves nothing behind."""
    folder = choose_new_folder(out, sources.persona.id)
    out.mkdir(parents=True, exist_ok=True)
    with write_whole_folder(folder) as partial:
        write_world(prepare_sources(sources, options.seed), options, partial, progress)
    return folder


def prepare_sources(sources: WorldSources, seed: int) -> WorldSources:
    """The sources with the names and the epoch of a seed; seed 0 is as authored."""
    authored = parse_epoch(sources)
    if seed == 0:
        return sources
    principal = sources.persona_file.get("principal") or {}
    text = "\n".join(
        repr(part)
        for part in (sources.persona_file["cast"], sources.story_file, *_convert_own(sources))
    )
    rename = build_renaming(sources.persona, [principal["name"]] if principal else [], text, seed)
    chance = RandomStream(seed, "epoch", sources.persona.id)
    # About whole years: a story of tax seasons and flu winters keeps its seasons.
    weeks = 52 * chance.draw_between(1, 9) + chance.draw_between(-2, 2)
    epoch = (authored + timedelta(weeks=weeks)).isoformat()
    raw_persona = rename_texts(sources.persona_file, rename) | {"epoch": epoch}
    raw_story = rename_texts(sources.story_file, rename) | {"epoch": epoch}
    return msgspec.structs.replace(
        sources,
        persona=msgspec.convert(raw_persona, WorldPersona),
        story=msgspec.convert(raw_story, AuthoredStory),
        routine=msgspec.convert(rename_texts(_convert_own(sources)[0], rename), Routine),
        voice=msgspec.convert(rename_texts(_convert_own(sources)[1], rename), Voice),
        persona_file=raw_persona,
        story_file=raw_story,
    )


def _convert_own(sources: WorldSources) -> tuple[object, object]:
    """Routine and voice as plain documents."""
    return msgspec.to_builtins(sources.routine), msgspec.to_builtins(sources.voice)


def parse_epoch(sources: WorldSources) -> date:
    """The date of story day 1; Malformed if it is not a date."""
    written = sources.story.epoch or sources.persona.epoch
    try:
        return date.fromisoformat(written)
    except ValueError:
        name = sources.arcs_name if sources.story.epoch else "persona.yaml"
        raise Malformed(
            f"{sources.persona.id}/{name}",
            f"the epoch {written!r} is not a date; write year-month-day",
        ) from None


def write_world(
    sources: WorldSources,
    options: WorldOptions,
    folder: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Simulate sources whose names are final, and write all files."""
    simulation = Simulation(sources, options, parse_epoch(sources))
    suffix = f"{options.days}d"
    memories, qa = folder / f"memories-{suffix}", folder / f"qa-{suffix}"
    memories.mkdir(parents=True)
    qa.mkdir()
    write_outline(sources, simulation, options.days, folder)
    writer = QuestionEntryWriter(sources.persona.id, options.distance, simulation.seed)
    with _open_text(qa / "questions.yaml") as questions, _open_text(qa / LEDGER_FILE) as facts:
        for step in follow_world(simulation, simulation.simulate_days(), sources, options):
            if step.page is not None:
                write_text(memories / f"day-{step.page.day:04}.md", step.page.text)
            facts.writelines(step.ledger_lines)
            questions.writelines(map(writer.format_entry, step.drafts))
            if step.page is not None:
                progress(step.page.day)


@dataclass(frozen=True, slots=True)
class WorldStep:
    """A simulated day with the questions and the ledger lines that it completes."""

    page: LogPage | None
    """None after the last day."""
    drafts: tuple[LedgerQuestion, ...]
    ledger_lines: tuple[str, ...]


def follow_world(
    simulation: Simulation,
    days: Iterable[SimulatedDay],
    sources: WorldSources,
    options: WorldOptions,
) -> Iterator[WorldStep]:
    """Yield every simulated day with what it completes, and at last what stayed open."""
    generator = LedgerQuestionGenerator(
        build_question_context(simulation, sources, options),
        simulation.routine.processes,
        simulation.seed,
    )
    active: dict[str, Thread] = {}
    for simulated in days:
        active.update((thread.key, thread) for thread in simulated.started)
        ended = [active.pop(thread.key, thread) for thread in simulated.ended]
        lines = tuple(line for thread in ended for line in format_ledger_lines(thread))
        yield WorldStep(simulated.page, tuple(generator.observe_day(simulated)), lines)
    drafts = tuple(generator.finish())
    lines = tuple(line for thread in active.values() for line in format_ledger_lines(thread))
    yield WorldStep(None, drafts, lines)


def write_outline(sources: WorldSources, simulation: Simulation, days: int, folder: Path) -> None:
    """Write the files of the persona and of its arcs, which do not depend on simulated days."""
    write_text(folder / "persona.yaml", dump_yaml(build_persona_file(sources)))
    arcs = build_arcs_file(sources, simulation, days)
    write_text(folder / f"arcs-{days}d.yaml", dump_yaml(arcs))


def build_question_context(
    simulation: Simulation, sources: WorldSources, options: WorldOptions
) -> QuestionContext:
    """What the questions about a simulation are drafted from."""
    return QuestionContext(
        world=simulation.world,
        cast=simulation.cast,
        sessions=simulation.sessions,
        links={**sources.routine.links, **sources.story.links},
        distance=options.distance,
        chance=RandomStream(simulation.seed, "questions"),
    )


def _open_text(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="\n")


def format_ledger_lines(thread: Thread) -> Iterator[str]:
    """The lines of ledger.jsonl for a thread."""
    for entry in build_ledger_entries(thread):
        yield f"{format_scalar(entry)}\n"


def write_text(path: Path, text: str) -> None:
    """Write a file with the same line ends on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


class QuestionEntryWriter:
    """Numbers the questions and chooses their wording."""

    def __init__(self, persona: str, distance: float, seed: int) -> None:
        self._persona = persona
        self._distance = distance
        self._chance = RandomStream(seed, "wording")
        self._count = 0

    def build_record(self, draft: LedgerQuestion) -> Mapping[str, object]:
        """The complete record of the question."""
        self._count += 1
        text = choose_wording(draft, self._distance, self._chance)
        is_named = any(name.lower() in text.lower() for name in draft.about)
        kind = f"{draft.kind}/named" if is_named else draft.kind
        return build_question_entry(f"{self._persona}-q{self._count:03}", text, kind, draft)

    def format_entry(self, draft: LedgerQuestion) -> str:
        """The question's entry in the file."""
        return dump_yaml([self.build_record(draft)])


def choose_new_folder(out: Path, persona: str) -> Path:
    """The folder of the persona under `out`; UsageError if it exists, Malformed if it has no name.

    The id may come from a stranger's file, so it must not lead elsewhere.
    """
    folder = join_id(out, persona, "persona.yaml")
    if os.path.lexists(folder):
        raise UsageError(f"{folder} exists already; remove it, or name another place with --into")
    return folder


@contextmanager
def write_whole_folder(folder: Path) -> Iterator[Path]:
    """A folder that appears only when all its files are written."""
    sweep_folder(folder.parent)
    partial = name_beside(folder)
    try:
        yield partial
        partial.rename(folder)
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        raise JournalLost(f"{folder}: {JournalLost.FULL_DISK}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
