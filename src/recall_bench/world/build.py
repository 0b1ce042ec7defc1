"""From sources to a persona folder in the public format."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import IO

import msgspec

from recall_bench.errors import Malformed, UsageError
from recall_bench.world.casting import renamed, renaming
from recall_bench.world.chance import Chance
from recall_bench.world.knobs import Knobs
from recall_bench.world.ledger import Thread
from recall_bench.world.lexicon import Lexicon
from recall_bench.world.plain_yaml import dumped, scalar
from recall_bench.world.play import Play
from recall_bench.world.public import arcs_file, ledger_entries, persona_file, question_entry
from recall_bench.world.questions.draft import Desk, Draft
from recall_bench.world.questions.examiner import Examiner
from recall_bench.world.questions.phrasing import worded
from recall_bench.world.sources import Persona, Routine, Sources, Story, Voice


def build(
    sources: Sources,
    knobs: Knobs,
    out: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> Path:
    """Play the persona and write its folder under `out`; nothing is left behind on failure."""
    folder = out / sources.persona.id
    if folder.exists():
        raise UsageError(f"{folder} exists already; remove it, or name another place with --out")
    out.mkdir(parents=True, exist_ok=True)
    with _whole(folder) as partial:
        write_world(revised(sources, knobs.seed), knobs, partial, progress)
    return folder


def revised(sources: Sources, seed: int) -> Sources:
    """The sources under the names and the epoch of a seed; seed 0 is as authored."""
    authored = epoch_of(sources)
    if seed == 0:
        return sources
    principal = sources.persona_file.get("principal") or {}
    text = "\n".join(
        repr(part) for part in (sources.persona_file["cast"], sources.story_file, *_own(sources))
    )
    rename = renaming(sources.persona, [principal["name"]] if principal else [], text, seed)
    chance = Chance(seed, "epoch", sources.persona.id)
    # Whole years and a little: a story of tax seasons and flu winters keeps its seasons.
    weeks = 52 * chance.between(1, 9) + chance.between(-2, 2)
    epoch = (authored + timedelta(weeks=weeks)).isoformat()
    raw_persona = renamed(sources.persona_file, rename) | {"epoch": epoch}
    raw_story = renamed(sources.story_file, rename) | {"epoch": epoch}
    return msgspec.structs.replace(
        sources,
        persona=msgspec.convert(raw_persona, Persona),
        story=msgspec.convert(raw_story, Story),
        routine=msgspec.convert(renamed(_own(sources)[0], rename), Routine),
        voice=msgspec.convert(renamed(_own(sources)[1], rename), Voice),
        persona_file=raw_persona,
        story_file=raw_story,
    )


def _own(sources: Sources) -> tuple[object, object]:
    """Routine and voice as plain documents."""
    return msgspec.to_builtins(sources.routine), msgspec.to_builtins(sources.voice)


def epoch_of(sources: Sources) -> date:
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
    sources: Sources, knobs: Knobs, folder: Path, progress: Callable[[int], None] = lambda _: None
) -> None:
    """Play sources whose names are final, and write everything there is about them."""
    play = Play(sources, knobs, epoch_of(sources))
    suffix = f"{knobs.days}d"
    memories, qa = folder / f"memories-{suffix}", folder / f"qa-{suffix}"
    memories.mkdir(parents=True)
    qa.mkdir()
    _put(folder / "persona.yaml", dumped(persona_file(sources)))
    _put(folder / f"arcs-{suffix}.yaml", dumped(arcs_file(sources, play, knobs.days)))
    lexicon = Lexicon(play, sources)
    examiner = Examiner(desk_of(play, sources, knobs), play.player.processes, play.seed)
    clerk = Clerk(sources.persona.id, knobs.distance, play.seed)
    with _text(qa / "questions.yaml") as asked, _text(qa / "ledger.jsonl") as facts:
        going_on: dict[str, Thread] = {}
        for played in play.days():
            page = played.page
            _put(memories / f"day-{page.day:04}.md", page.text)
            for thread in played.begun:
                lexicon.add(thread.key, thread.source, thread.name)
                going_on[thread.key] = thread
            for thread in played.ended:
                facts.writelines(ledger_lines(going_on.pop(thread.key, thread)))
            asked.writelines(map(clerk.entry, examiner.watch(played)))
            progress(page.day)
        asked.writelines(map(clerk.entry, examiner.finish()))
        for thread in going_on.values():
            facts.writelines(ledger_lines(thread))
    _put(qa / "lexicon.json", lexicon.dumped())


def desk_of(play: Play, sources: Sources, knobs: Knobs) -> Desk:
    """What the questions on a play are written from."""
    return Desk(
        stage=play.stage,
        cast=play.cast,
        sessions=play.sessions,
        links={**sources.routine.links, **sources.story.links},
        distance=knobs.distance,
        chance=Chance(play.seed, "questions"),
    )


def _text(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="\n")


def ledger_lines(thread: Thread) -> Iterator[str]:
    """The facts of a thread as ledger.jsonl has them."""
    for entry in ledger_entries(thread):
        yield f"{scalar(entry)}\n"


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


class Clerk:
    """Numbers the questions and words them."""

    def __init__(self, persona: str, distance: float, seed: int) -> None:
        self._persona = persona
        self._distance = distance
        self._chance = Chance(seed, "wording")
        self._count = 0

    def record(self, draft: Draft) -> Mapping[str, object]:
        """The question with everything the file has about it."""
        self._count += 1
        text = worded(draft, self._distance, self._chance)
        is_named = any(name.lower() in text.lower() for name in draft.about)
        kind = f"{draft.kind}/named" if is_named else draft.kind
        return question_entry(f"{self._persona}-q{self._count:03}", text, kind, draft)

    def entry(self, draft: Draft) -> str:
        """The question's entry in the file."""
        return dumped([self.record(draft)])


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """A folder that appears only when everything in it is written."""
    partial = folder.with_name(f".{folder.name}.partial-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        yield partial
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
