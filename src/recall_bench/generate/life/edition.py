"""A life edition under one seed, as the sources of a written edition held in memory."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import IO, Any

import msgspec

from recall_bench.generate.life.matters import Matters
from recall_bench.generate.life.present_tense import StateEnds
from recall_bench.generate.life.question_evidence import EvidenceLinks
from recall_bench.generate.life.question_wordings import read_wordings, reword_questions
from recall_bench.generate.life.sentence_citations import SentenceCitations
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.sources import (
    LifeEntities,
    LifeProcess,
    LifeSources,
    LifeStory,
    LifeTalk,
)
from recall_bench.generate.life.threads import LifeThread
from recall_bench.generate.world.cast import build_renaming, rename_texts
from recall_bench.generate.world.context import FillContext
from recall_bench.generate.world.day_text import render_variant
from recall_bench.generate.world.public_format import PUBLIC_ARC_KEYS
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.world.sources import AuthoredStory, WorldPersona
from recall_bench.generate.written.renderer import RenderedEdition, render_edition
from recall_bench.generate.written.sources import (
    SourcePlace,
    WrittenQuestion,
    WrittenSources,
    WrittenStory,
)

LEDGER = "life.jsonl"
"""The file that tells what happened: the calendar, states of entities, steps of threads."""


@dataclass(frozen=True)
class LifeEdition:
    """A story that was played."""

    play: LifeSimulation
    rendered: RenderedEdition

    @property
    def written(self) -> WrittenSources:
        """What it is rendered from."""
        return self.rendered.sources


def rename_life(sources: LifeSources, seed: int) -> LifeSources:
    """The sources with the names and the epoch of a seed; seed 0 is as authored."""
    if seed == 0:
        return sources
    story = sources.story
    persona = msgspec.structs.replace(
        sources.persona,
        cast=[*sources.persona.cast, *story.cast],
        alternatives={**sources.persona.alternatives, **story.alternatives},
    )
    contents = {name: each.content for name, each in sources.documents.items()}
    principal = sources.persona_file.get("principal") or {}
    extra = [principal["name"]] if principal else []
    rename = build_renaming(persona, extra, repr(contents), seed)
    renamed: dict[str, Any] = {name: rename_texts(each, rename) for name, each in contents.items()}
    weeks = 52 * RandomStream(seed, "epoch", persona.id).draw_between(1, 9)
    epoch = (date.fromisoformat(story.epoch) + timedelta(weeks=weeks)).isoformat()
    arcs_file = rename_texts(dict(sources.arcs_file), rename) | {"epoch": epoch}
    return replace(
        sources,
        persona=msgspec.convert(renamed["persona.yaml"], WorldPersona),
        story=msgspec.convert(renamed["story.yaml"] | {"epoch": epoch}, LifeStory),
        entities=msgspec.convert(renamed["entities.yaml"], LifeEntities),
        processes=tuple(
            process
            for name in sorted(name for name in renamed if name.startswith("threads/"))
            for process in msgspec.convert(renamed[name], list[LifeProcess])
        ),
        talk=msgspec.convert(renamed["talk.yaml"], LifeTalk),
        arcs=msgspec.convert(arcs_file, AuthoredStory),
        persona_file=renamed["persona.yaml"],
        arcs_file=arcs_file,
    )


def play_life(sources: LifeSources, seed: int = 0, *, in_own_words: bool = True) -> LifeEdition:
    """Play the story of a seed, and ask about it.

    The story as authored is asked in the words of its writers; `in_own_words` turned off, in those
    of the templates.
    """
    from recall_bench.generate.life.questions import write_questions

    renamed = rename_life(sources, seed)
    play = LifeSimulation(renamed, seed)
    days = play.play()
    story = WrittenStory(
        epoch=renamed.story.epoch,
        days=renamed.story.days,
        arcs=[*_list_arcs(play)],
        off=renamed.story.off,
        dates=renamed.story.dates,
        cast=renamed.story.cast,
        sessions=list(renamed.arcs_file.get("sessions") or ()),
        facts=dict(play.lives.book.list_planned()),
    )
    questions = write_questions(play, days)
    if seed == 0 and in_own_words:
        questions = reword_questions(questions, read_wordings(sources.folder))
    questions = StateEnds(play).limit(questions)
    matters = Matters(play)
    written = WrittenSources(
        persona=renamed.persona,
        persona_file=renamed.persona_file,
        story=story,
        days=days,
        questions=tuple(_place_questions(EvidenceLinks(play, days, matters).complete(questions))),
    )
    rendered = render_edition(written)
    citations = SentenceCitations(rendered, matters)
    completed = citations.complete(question for _, question in written.questions)
    # No question is part of a day: the days stay as they are.
    asked = replace(written, questions=tuple(_place_questions(completed)))
    return LifeEdition(play, replace(rendered, sources=asked))


def _place_questions(
    questions: list[WrittenQuestion],
) -> Iterator[tuple[SourcePlace, WrittenQuestion]]:
    for number, question in enumerate(questions, start=1):
        yield SourcePlace("questions", number), question


def _list_arcs(play: LifeSimulation) -> Iterator[dict[str, Any]]:
    """The authored arcs in the public format."""
    by_id = {arc.active.arc.id: arc.active for arc in play.arcs.arcs}
    for raw in play.sources.arcs_file["arcs"]:
        found = {key: raw[key] for key in PUBLIC_ARC_KEYS if key in raw}
        thread = by_id[raw["id"]].thread
        for key in ("wrongBelief", "correctedBelief", "description"):
            if key in found:
                context = FillContext(play.arcs.world, raw["endDay"], thread)
                found[key] = render_variant(context, found[key]).text
        found["directives"] = [
            {"day": each["day"], "event": each["event"]} for each in raw["directives"]
        ]
        yield found


def write_ledger(play: LifeSimulation, lines: IO[str]) -> None:
    """Write what happened, one record a line."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for record in iterate_ledger(play):
        lines.write(encode(record) + "\n")


def iterate_ledger(play: LifeSimulation) -> Iterator[Mapping[str, object]]:
    """The calendar, then every state of an entity, then every step of a thread."""
    story, calendar = play.sources.story, play.calendar
    yield {
        "record": "calendar",
        "epoch": story.epoch,
        "days": story.days,
        "off": story.off,
        "holidays": story.holidays,
        "absences": [list(each) for each in story.absences],
        "quiet": sorted(calendar.quiet),
        "authored": sorted({each.day for arc in play.sources.arcs.arcs for each in arc.directives}),
    }
    for entry in play.lives.log:
        definition = entry.entity.kind.attributes[entry.attribute]
        yield {
            "record": "state",
            "fact": entry.mention.state.key,
            "state": entry.mention.state.number,
            "entity": entry.entity.name,
            "kind": entry.entity.kind_name,
            "attribute": entry.attribute,
            "day": entry.mention.day,
            "told": entry.mention.manner,
            "moves": definition.moves,
            "distinct": definition.distinct,
            "due": entry.mention.value.day,
            "thread": entry.thread,
        }
    for thread in play.threads.threads:
        yield from _list_steps(thread)


def _list_steps(thread: LifeThread) -> Iterator[Mapping[str, object]]:
    for step in thread.steps.values():
        yield {
            "record": "step",
            "thread": thread.key,
            "process": thread.process.id,
            "step": step.step.id,
            "fact": step.mark.key,
            "day": step.day,
            "entities": [each.name for each in thread.entities.values()],
            "cause": thread.cause.key if thread.cause else None,
            "ended": thread.ended,
            "due": [value.day for value in thread.facts.values() if value.day is not None],
        }
