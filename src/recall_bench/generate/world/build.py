"""From sources to a persona folder in the public format."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import IO

import msgspec

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.yaml_writer import dump_yaml, format_scalar
from recall_bench.generate.world.cast import build_renaming, rename_texts
from recall_bench.generate.world.ledger import Thread
from recall_bench.generate.world.public_format import (
    LexiconWriter,
    build_arcs_file,
    build_ledger_entries,
    build_persona_file,
    build_question_entry,
)
from recall_bench.generate.world.question_draft import (
    LedgerQuestion,
    QuestionContext,
    choose_wording,
)
from recall_bench.generate.world.question_generator import LedgerQuestionGenerator
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.world.simulation import Simulation
from recall_bench.generate.world.sources import (
    AuthoredStory,
    Routine,
    Voice,
    WorldOptions,
    WorldPersona,
    WorldSources,
)


def build_folder(
    sources: WorldSources,
    knobs: WorldOptions,
    out: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> Path:
    """Play the persona and write its folder under `out`; nothing is left behind on failure."""
    folder = out / sources.persona.id
    if folder.exists():
        raise UsageError(f"{folder} exists already; remove it, or name another place with --out")
    out.mkdir(parents=True, exist_ok=True)
    with _write_whole_folder(folder) as partial:
        write_world(prepare_sources(sources, knobs.seed), knobs, partial, progress)
    return folder


def prepare_sources(sources: WorldSources, seed: int) -> WorldSources:
    """The sources under the names and the epoch of a seed; seed 0 is as authored."""
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
    # Whole years and a little: a story of tax seasons and flu winters keeps its seasons.
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
    """The date of story day 1; Malformed if it is none."""
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
    knobs: WorldOptions,
    folder: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Play sources whose names are final, and write everything there is about them."""
    play = Simulation(sources, knobs, parse_epoch(sources))
    suffix = f"{knobs.days}d"
    memories, qa = folder / f"memories-{suffix}", folder / f"qa-{suffix}"
    memories.mkdir(parents=True)
    qa.mkdir()
    _write_text(folder / "persona.yaml", dump_yaml(build_persona_file(sources)))
    _write_text(
        folder / f"arcs-{suffix}.yaml", dump_yaml(build_arcs_file(sources, play, knobs.days))
    )
    lexicon = LexiconWriter(play, sources)
    examiner = LedgerQuestionGenerator(
        build_question_context(play, sources, knobs), play.player.processes, play.seed
    )
    clerk = QuestionEntryWriter(sources.persona.id, knobs.distance, play.seed)
    with _open_text(qa / "questions.yaml") as asked, _open_text(qa / "ledger.jsonl") as facts:
        going_on: dict[str, Thread] = {}
        for played in play.simulate_days():
            page = played.page
            _write_text(memories / f"day-{page.day:04}.md", page.text)
            for thread in played.begun:
                lexicon.add(thread.key, thread.source, thread.name)
                going_on[thread.key] = thread
            for thread in played.ended:
                facts.writelines(format_ledger_lines(going_on.pop(thread.key, thread)))
            asked.writelines(map(clerk.format_entry, examiner.observe_day(played)))
            progress(page.day)
        asked.writelines(map(clerk.format_entry, examiner.finish()))
        for thread in going_on.values():
            facts.writelines(format_ledger_lines(thread))
    _write_text(qa / "lexicon.json", lexicon.render())


def build_question_context(
    play: Simulation, sources: WorldSources, knobs: WorldOptions
) -> QuestionContext:
    """What the questions on a play are written from."""
    return QuestionContext(
        stage=play.stage,
        cast=play.cast,
        sessions=play.sessions,
        links={**sources.routine.links, **sources.story.links},
        distance=knobs.distance,
        chance=RandomStream(play.seed, "questions"),
    )


def _open_text(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="\n")


def format_ledger_lines(thread: Thread) -> Iterator[str]:
    """The facts of a thread as ledger.jsonl has them."""
    for entry in build_ledger_entries(thread):
        yield f"{format_scalar(entry)}\n"


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


class QuestionEntryWriter:
    """Numbers the questions and words them."""

    def __init__(self, persona: str, distance: float, seed: int) -> None:
        self._persona = persona
        self._distance = distance
        self._chance = RandomStream(seed, "wording")
        self._count = 0

    def build_record(self, draft: LedgerQuestion) -> Mapping[str, object]:
        """The question with everything the file has about it."""
        self._count += 1
        text = choose_wording(draft, self._distance, self._chance)
        is_named = any(name.lower() in text.lower() for name in draft.about)
        kind = f"{draft.kind}/named" if is_named else draft.kind
        return build_question_entry(f"{self._persona}-q{self._count:03}", text, kind, draft)

    def format_entry(self, draft: LedgerQuestion) -> str:
        """The question's entry in the file."""
        return dump_yaml([self.build_record(draft)])


@contextmanager
def _write_whole_folder(folder: Path) -> Iterator[Path]:
    """A folder that appears only when everything in it is written."""
    partial = folder.with_name(f".{folder.name}.partial-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        yield partial
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
