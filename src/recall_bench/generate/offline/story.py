"""A story of any length out of the authored one.

The authored arcs that begin within the length stay where they are. If it is short, they are cut,
so that others have room. Where a type then has fewer arcs than a story of that length needs, later
arcs are brought forward, by whole weeks, because their texts name weekdays. Arcs that cannot be
told are left out. A story longer than the authored one goes on with the routine of the trade.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from recall_bench.datasets.story import ARC_TYPES
from recall_bench.generate.offline.arc_changes import RawArc, cut_arc, make_standalone, move_arc
from recall_bench.generate.personas.counts import count_fewest_arcs
from recall_bench.world.validation import MOST_CONCURRENT

SHORT = 365
"""In a story shorter than this an arc lasts half of it at most, but two weeks if need be."""

_LEAST_SPAN = 14
_LEAST_CUT = 21
"""In a story shorter than this there is no room to be won."""
_WEEK = 7
_SEASON = re.compile(
    r"\b(?:January|February|March|April|June|July|August|September|October|November|December"
    r"|Christmas|spring|summer|autumn|winter)\b"
)


def fit_story(story: Mapping[str, Any], days: int) -> dict[str, Any]:
    """The story as it is told within so many days; it has at least one arc."""
    arcs: Sequence[RawArc] = story["arcs"]
    if _LEAST_CUT <= days < SHORT:
        arcs = [cut_arc(arc, max(_LEAST_SPAN, days // 2)) for arc in arcs]
    told = [arc for arc in arcs if arc["directives"][0]["day"] < days and _is_complete(arc, days)]
    told = told or [arcs[0]]
    for kind in _list_missing_types(told, days):
        brought = next(_move_arcs_forward({**story, "arcs": arcs}, told, kind, days), None)
        told += [brought] if brought else []
    told.sort(key=lambda arc: (arc["startDay"], arc["id"]))
    found = {**story, "arcs": make_standalone(told, story["arcs"])}
    if story.get("sessions"):
        found["sessions"] = [one for one in story["sessions"] if one.get("firstDay", 1) <= days]
    return found


def _list_missing_types(told: Sequence[RawArc], days: int) -> list[str]:
    """Types of which there are too few, as often as one is missing; every type once, then again."""
    rest = {
        kind: count - sum(arc["type"] == kind for arc in told)
        for kind, count in count_fewest_arcs(days).items()
    }
    rounds = range(1, max(rest.values()) + 1)
    is_new = {kind: not any(arc["type"] == kind for arc in told) for kind in rest}
    wanted = [(number, kind) for number in rounds for kind in ARC_TYPES if rest[kind] >= number]
    return [kind for _, kind in sorted(wanted, key=lambda one: (one[0], not is_new[one[1]]))]


def _is_complete(arc: RawArc, days: int) -> bool:
    """Whether a correction is made within the story."""
    return (arc.get("correctedDay") or 0) <= days


def _move_arcs_forward(
    story: Mapping[str, Any], told: Sequence[RawArc], kind: str, days: int
) -> Iterator[RawArc]:
    """Every way to tell another arc of the type: arcs that name no season first, then early ones.

    At least two of its steps are told.
    """
    opens = {session["id"]: session.get("firstDay", 1) for session in story.get("sessions") or ()}
    names = {arc["id"] for arc in told}
    others = [arc for arc in story["arcs"] if arc["type"] == kind and arc["id"] not in names]
    for arc in sorted(others, key=lambda arc: bool(_SEASON.search(repr(arc)))):
        for weeks in range((arc["startDay"] - 1) // _WEEK, 0, -1):
            there = move_arc(arc, -_WEEK * weeks)
            if there["directives"][1]["day"] > days or not _is_complete(there, days):
                break
            is_open = there["startDay"] >= opens.get(arc["primarySession"], 1)
            if (
                is_open
                and _is_room_for(there, told)
                and _is_at_work(there, story.get("away") or ())
            ):
                yield there


def _is_room_for(arc: RawArc, others: Iterable[RawArc]) -> bool:
    """Whether never too many arcs go on at once; the most do on a day when one of them begins."""
    spans = [(other["startDay"], other["endDay"]) for other in (*others, arc)]
    return all(
        sum(first <= day <= last for first, last in spans) <= MOST_CONCURRENT for day, _ in spans
    )


def _is_at_work(arc: RawArc, away: Iterable[Sequence[int]]) -> bool:
    return not any(
        first <= directive["day"] <= last for first, last in away for directive in arc["directives"]
    )
