"""The days a story must have: all but those on which nobody writes."""

import re
from collections.abc import Collection, Iterator
from datetime import date

from recall_bench.core.history import story_day
from recall_bench.datasets.days import day_name, runs
from recall_bench.datasets.fields import is_whole, shown
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.story import read_story
from recall_bench.errors import Malformed
from recall_bench.proof.finding import Code, Finding
from recall_bench.yaml12 import Document, read_document

_LENGTH = re.compile(r"arcs-(\d+)d\.ya?ml")


def find_absences(layout: Layout, epoch: date, told: Collection[int]) -> Iterator[Finding]:
    """Days without a file that are neither away nor off, and a story dated otherwise."""
    story = read_story(layout.folder, layout.arcs)
    if story.epoch != epoch:
        yield Finding(
            Code.EPOCH,
            layout.name(layout.arcs_file),
            f"the story begins on {story.epoch} but the lexicon has it begin on {epoch}",
        )
    arcs = read_document(layout.arcs_file, name=layout.name(layout.arcs_file))
    persona = read_document(layout.persona_file, name=layout.name(layout.persona_file))
    away, off = _away(arcs), _off(persona)
    missing = [
        day
        for day in range(1, last_day(layout, told) + 1)
        if day not in told and day not in away and story_day(epoch, day).weekday() not in off
    ]
    for first, last in runs(missing):
        span = day_name(first) if first == last else f"{day_name(first)} to {day_name(last)}"
        yield Finding(
            Code.DAY,
            layout.name(layout.memories),
            f"{span} missing, and nobody is away or off; restore what is missing",
        )


def last_day(layout: Layout, told: Collection[int]) -> int:
    """The last day of the story: the number in its name, else the last there is."""
    length = _LENGTH.fullmatch(layout.arcs)
    return max([int(length[1]) if length else 0, *told])


def _away(arcs: Document) -> set[int]:
    """The days nobody writes, as `away` lists them."""
    stretches = _key(arcs, "away")
    if not isinstance(stretches, list):
        raise Malformed(arcs.where("away"), f"away is {shown(stretches)}; write a list of spans")
    days: set[int] = set()
    for index, stretch in enumerate(stretches):
        match stretch:
            case [int(first), int(last)] if is_whole(first) and is_whole(last):
                days.update(range(first, last + 1))
            case _:
                raise Malformed(
                    arcs.where("away", index), "away holds no pair of days; write [first, last]"
                )
    return days


def _off(persona: Document) -> set[int]:
    """The weekdays nobody writes, Monday being 0."""
    week = _key(persona, "week")
    if week == []:
        return set()
    if not isinstance(week, list) or len(week) != 7:
        raise Malformed(
            persona.where("week"), f"week is {shown(week)}; name seven days, Monday first"
        )
    return {weekday for weekday, density in enumerate(week) if density == "off"}


def _key(document: Document, key: str) -> object:
    content = document.content
    found = content.get(key) if isinstance(content, dict) else None
    return [] if found is None else found
