"""The days a story must have: all but those on which nobody writes."""

import re
from collections.abc import Collection, Iterator
from datetime import date

from recall_bench.core.history import compute_story_date
from recall_bench.datasets.days import find_runs, name_day_file
from recall_bench.datasets.fields import describe_value, is_whole
from recall_bench.datasets.layout import Layout
from recall_bench.datasets.story import read_story
from recall_bench.errors import Malformed
from recall_bench.proof.finding import VerificationCode, VerificationFinding
from recall_bench.yaml12 import Document, read_document

_LENGTH = re.compile(r"arcs-(\d+)d\.ya?ml")


def find_missing_days(
    layout: Layout, epoch: date, told: Collection[int]
) -> Iterator[VerificationFinding]:
    """Days without a file that are neither away nor off, and a story dated otherwise."""
    story = read_story(layout.folder, layout.arcs)
    if story.epoch != epoch:
        yield VerificationFinding(
            VerificationCode.EPOCH,
            layout.name(layout.arcs_file),
            f"the story begins on {story.epoch} but the lexicon has it begin on {epoch}",
        )
    arcs = read_document(layout.arcs_file, name=layout.name(layout.arcs_file))
    persona = read_document(layout.persona_file, name=layout.name(layout.persona_file))
    away, off = _read_away(arcs), _read_days_off(persona)
    missing = [
        day
        for day in range(1, find_last_day(layout, told) + 1)
        if day not in told
        and day not in away
        and compute_story_date(epoch, day).weekday() not in off
    ]
    for first, last in find_runs(missing):
        span = (
            name_day_file(first)
            if first == last
            else f"{name_day_file(first)} to {name_day_file(last)}"
        )
        yield VerificationFinding(
            VerificationCode.DAY,
            layout.name(layout.memories),
            f"{span} missing, and nobody is away or off; restore what is missing",
        )


def find_last_day(layout: Layout, told: Collection[int]) -> int:
    """The last day of the story: the number in its name, else the last there is."""
    length = _LENGTH.fullmatch(layout.arcs)
    return max([int(length[1]) if length else 0, *told])


def _read_away(arcs: Document) -> set[int]:
    """The days nobody writes, as `away` lists them."""
    stretches = _get_key(arcs, "away")
    if not isinstance(stretches, list):
        raise Malformed(
            arcs.describe_place("away"),
            f"away is {describe_value(stretches)}; write a list of spans",
        )
    days: set[int] = set()
    for index, stretch in enumerate(stretches):
        match stretch:
            case [int(first), int(last)] if is_whole(first) and is_whole(last):
                days.update(range(first, last + 1))
            case _:
                raise Malformed(
                    arcs.describe_place("away", index),
                    "away holds no pair of days; write [first, last]",
                )
    return days


def _read_days_off(persona: Document) -> set[int]:
    """The weekdays nobody writes, Monday being 0."""
    week = _get_key(persona, "week")
    if week == []:
        return set()
    if not isinstance(week, list) or len(week) != 7:
        raise Malformed(
            persona.describe_place("week"),
            f"week is {describe_value(week)}; name seven days, Monday first",
        )
    return {weekday for weekday, density in enumerate(week) if density == "off"}


def _get_key(document: Document, key: str) -> object:
    content = document.content
    found = content.get(key) if isinstance(content, dict) else None
    return [] if found is None else found
