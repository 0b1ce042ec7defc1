"""Render a written edition for a seed: its day files, and where each value stands in them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property

import msgspec

from recall_bench.core.errors import Malformed
from recall_bench.core.languages import get_language
from recall_bench.core.sentences import locate_sentences
from recall_bench.generate.world.cast import build_renaming, rename_texts
from recall_bench.generate.world.day_text import FRONT_MATTER
from recall_bench.generate.world.fact_values import Dates
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.world.sources import WorldPersona
from recall_bench.generate.written.local_forms import LocalDates, NumberStyle
from recall_bench.generate.written.slots import FactState, Slot
from recall_bench.generate.written.sources import (
    WrittenDay,
    WrittenQuestion,
    WrittenSources,
    WrittenStory,
)
from recall_bench.generate.written.values import ValueTable, draw_values, format_written_date


class WrittenStatement(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the rendered text that tells the value of a state."""

    state: FactState
    day: int
    session: str
    start: int
    end: int
    """The range of the value in the day file."""


@dataclass(frozen=True, slots=True)
class RenderedDay:
    """A day file of the dataset."""

    day: int
    text: str
    statements: tuple[WrittenStatement, ...]


@dataclass(frozen=True)
class RenderedEdition:
    """A written edition under one seed."""

    sources: WrittenSources
    """With the names of the seed."""
    values: ValueTable
    days: tuple[RenderedDay, ...]
    dialogues: Mapping[int, str]
    """The dialogue of each day, where the edition has them."""
    sentences: dict[int, list[tuple[int, int]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """Start and end of the sentences of each day that were located so far."""
    absent: set[tuple[str, ...]] = field(default_factory=set, repr=False, compare=False)
    """Words that no sentence holds together, as far as they were looked for."""

    @cached_property
    def statements(self) -> Mapping[FactState, tuple[WrittenStatement, ...]]:
        """Every state with the places that tell it, in the order of the story."""
        found: dict[FactState, list[WrittenStatement]] = {}
        for day in self.days:
            for statement in day.statements:
                found.setdefault(statement.state, []).append(statement)
        return {state: tuple(places) for state, places in found.items()}

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """The text of every day."""
        return {day.day: day.text for day in self.days}

    @cached_property
    def in_english(self) -> "RenderedEdition":
        """The same days, with the values as an English question writes them."""
        return replace(self, values=self.values.translate())

    def locate_sentences(self, day: int) -> list[tuple[int, int]]:
        """Start and end of each sentence of a day."""
        if day not in self.sentences:
            self.sentences[day] = locate_sentences(self.texts.get(day, ""))
        return self.sentences[day]

    def fill(self, text: str) -> str:
        """A text of the questions with its slots rendered."""
        day = WrittenDay(0, "", text)
        return "".join(piece for piece, _ in _render_pieces(day, self.values))


def render_edition(sources: WrittenSources, seed: int = 0) -> RenderedEdition:
    """Render every day with the names, figures and dates of a seed."""
    renamed = rename_sources(sources, seed)
    story = renamed.story
    dates = _build_calendar(story)
    values = draw_values(
        renamed.definitions,
        {key: fact.group for key, fact in story.facts.items() if fact.group},
        frozenset(key for key, fact in story.facts.items() if fact.fixed),
        renamed.people,
        dates,
        seed=seed,
        style=NumberStyle(story.language),
    )
    days = tuple(_render_day(day, values) for day in renamed.days)
    dialogues = {
        dialogue.day: "".join(piece for piece, _ in _render_pieces(_tidy(dialogue), values))
        for dialogue in renamed.dialogues
    }
    return RenderedEdition(renamed, values, days, dialogues)


def _build_calendar(story: WrittenStory) -> Dates:
    epoch = parse_written_epoch(story)
    if story.language == "en":
        return Dates(epoch, story.dates)
    return LocalDates(epoch, get_language(story.language))


def parse_written_epoch(story: WrittenStory) -> date:
    """The date of story day 1; Malformed if it is not a Monday."""
    try:
        epoch = date.fromisoformat(story.epoch)
    except ValueError:
        epoch = None
    if epoch is None or epoch.weekday() != 0:
        raise Malformed("story.yaml", f"the epoch {story.epoch!r} is not the date of a Monday")
    return epoch


def move_epoch(epoch: date, years: int) -> date:
    """The Monday nearest to the same day of a later year: seasons and weekdays stay."""
    same_day = epoch.replace(year=epoch.year + years)
    return same_day - timedelta(days=(same_day.weekday() + 3) % 7 - 3)


def rename_sources(sources: WrittenSources, seed: int) -> WrittenSources:
    """The sources with the names and the epoch of a seed; seed 0 is as authored."""
    if seed == 0:
        return sources
    persona = msgspec.structs.replace(
        sources.persona,
        cast=[*sources.persona.cast, *sources.story.cast],
        alternatives={**sources.persona.alternatives, **sources.story.alternatives},
    )
    principal = sources.persona_file.get("principal") or {}
    texts = [day.text for day in (*sources.days, *sources.dialogues)]
    everything = "\n".join(texts) + repr(sources.persona_file)
    rename = build_renaming(
        persona,
        [principal["name"]] if principal else [],
        everything,
        seed,
        sources.story.language,
    )
    chance = RandomStream(seed, "epoch", sources.persona.id)
    epoch = move_epoch(parse_written_epoch(sources.story), chance.draw_between(1, 8)).isoformat()
    raw_persona = rename_texts(sources.persona_file, rename)
    return WrittenSources(
        persona=msgspec.convert(raw_persona, WorldPersona),
        persona_file=raw_persona,
        story=msgspec.convert(
            rename_texts(msgspec.to_builtins(sources.story), rename) | {"epoch": epoch},
            WrittenStory,
        ),
        days=_rename_days(sources.days, rename),
        dialogues=_rename_days(sources.dialogues, rename),
        questions=tuple(
            (place, _rename_question(question, rename)) for place, question in sources.questions
        ),
    )


def _rename_days(
    days: tuple[WrittenDay, ...], rename: Callable[[str], str]
) -> tuple[WrittenDay, ...]:
    return tuple(WrittenDay(day.day, day.file, rename(day.text)) for day in days)


def _rename_question(question: WrittenQuestion, rename: Callable[[str], str]) -> WrittenQuestion:
    renamed = rename_texts(msgspec.to_builtins(question), rename)
    return msgspec.convert(renamed, WrittenQuestion)


_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


def _tidy(day: WrittenDay) -> WrittenDay:
    text = _TRAILING.sub("", day.text.strip()) + "\n"
    # The slots of a day that is tidy already are known.
    return day if text == day.text else WrittenDay(day.day, day.file, text)


def _render_day(day: WrittenDay, values: ValueTable) -> RenderedDay:
    tidy = _tidy(day)
    written = f"{FRONT_MATTER}\n"
    statements = []
    for piece, slot in _render_pieces(tidy, values):
        if slot is not None and slot.state is not None:
            statements.append(
                WrittenStatement(
                    state=slot.state,
                    day=day.day,
                    session=tidy.find_session(slot.start) or "",
                    start=len(written),
                    end=len(written) + len(piece),
                )
            )
        written += piece
    return RenderedDay(day.day, written, tuple(statements))


def _render_pieces(day: WrittenDay, values: ValueTable) -> Iterator[tuple[str, Slot | None]]:
    """The text in pieces: what is literal, and what stands for each slot."""
    place = 0
    for slot in day.slots:
        yield day.text[place : slot.start], None
        if slot.day is not None:
            yield format_written_date(values.dates, slot.day, slot.form), slot
        elif slot.state is not None:
            yield values.render(slot.state, slot.form), slot
        place = slot.end
    yield day.text[place:], None
