"""Stories of any length from the authored one.

Authored arcs that start within the length keep their place. In a short story they are cut. Where a
type then has too few arcs, later arcs move forward by whole weeks, because their texts name
weekdays. Arcs that do not fit are left out. A longer story continues with the routine of the trade.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from recall_bench.features.personas.creation.story_rules import count_fewest_arcs
from recall_bench.features.personas.world.templates import parse_template
from recall_bench.features.personas.world.validation import MOST_CONCURRENT
from recall_bench.stories.persona_story import ARC_TYPES

RawArc = Mapping[str, Any]
"""An arc as in its file."""

_DAY_KEYS = ("startDay", "endDay", "wrongDay", "correctedDay")
_LENT_KEYS = ("kind", "is", "or")
_QUESTION_KEYS = ("ask", "then", "both", "with", "link", "category")
_VALUE_FORMS = frozenset({"", "full", "short"})
"""The forms of a placeholder that show its value."""


def move_story(story: Mapping[str, Any], by: int) -> dict[str, Any]:
    """The story moved by a number of days: arcs, absences and sessions."""
    results = {**story, "arcs": [move_arc(arc, by) for arc in story["arcs"]]}
    if story.get("away"):
        results["away"] = [[first + by, last + by] for first, last in story["away"]]
    if story.get("sessions"):
        hours = ("firstDay", "lastDay")
        results["sessions"] = [_move_days(one, hours, by) for one in story["sessions"]]
    return results


def move_arc(arc: RawArc, by: int) -> dict[str, Any]:
    """The arc moved by a number of days, with every day and date in it."""
    results = _move_days(_move_dates_in(arc, by), _DAY_KEYS, by)
    results["directives"] = [_move_days(part, ("day",), by) for part in results["directives"]]
    if "facts" in results:
        results["facts"] = {name: _move_date(slot, by) for name, slot in results["facts"].items()}
    return results


def cut_arc(arc: RawArc, length: int) -> RawArc:
    """The arc cut to its steps within `length` days, but at least two.

    A correction keeps all steps up to the correction. Values that are left out are not asked.
    """
    last = max(arc["startDay"] + length, arc.get("correctedDay") or 0)
    steps = arc["directives"]
    first_steps = [step for index, step in enumerate(steps) if index < 2 or step["day"] <= last]
    if len(first_steps) == len(steps):
        return arc
    names = {
        hole.name
        for step in first_steps
        for hole in parse_template(step["text"]).placeholders
        if hole.form in _VALUE_FORMS
    }
    facts = {
        name: slot if name in names else _drop_keys(slot, _QUESTION_KEYS)
        for name, slot in arc.get("facts", {}).items()
    }
    return {**arc, "endDay": first_steps[-1]["day"], "directives": first_steps, "facts": facts}


def make_standalone(chosen: Sequence[RawArc], arcs: Iterable[RawArc]) -> list[RawArc]:
    """The arcs with own values in place of those they shared with arcs left out."""
    authored = {
        f"{arc['id']}.{name}": slot for arc in arcs for name, slot in arc.get("facts", {}).items()
    }
    there = {arc["id"] for arc in chosen}
    heirs: dict[str, str] = {}
    arcs_alone = []
    for arc in chosen:
        facts = {}
        for name, slot in arc.get("facts", {}).items():
            lender = slot.get("same")
            if lender is None or lender.partition(".")[0] in there:
                facts[name] = slot
            elif lender in heirs:
                facts[name] = {**slot, "same": heirs[lender]}
            else:
                heirs[lender] = f"{arc['id']}.{name}"
                lent = {key: authored[lender][key] for key in _LENT_KEYS if key in authored[lender]}
                facts[name] = _drop_keys(slot, ("same",)) | lent
        arcs_alone.append({**arc, "facts": facts} if facts else arc)
    return arcs_alone


def _move_days(part: Mapping[str, Any], keys: Iterable[str], by: int) -> dict[str, Any]:
    return {**part, **{key: part[key] + by for key in keys if part.get(key) is not None}}


def _move_date(slot: Mapping[str, Any], by: int) -> Mapping[str, Any]:
    date = slot.get("is")
    if slot.get("kind") != "date" or date is None:
        return slot
    return {**slot, "is": [day + by for day in date] if isinstance(date, list) else date + by}


def _move_dates_in(content: Any, by: int) -> Any:  # noqa: ANN401 - any YAML
    """The content with every `{date:N}` moved."""
    if isinstance(content, str):
        if "{date:" not in content:
            return content
        return re.sub(r"\{date:(\d+)", lambda found: f"{{date:{int(found[1]) + by}", content)
    if isinstance(content, list):
        return [_move_dates_in(part, by) for part in content]
    if isinstance(content, dict):
        return {key: _move_dates_in(part, by) for key, part in content.items()}
    return content


def _drop_keys(slot: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: part for key, part in slot.items() if key not in keys}


SHORT = 365
"""In shorter stories an arc lasts at most half the story, but at least two weeks."""

_LEAST_SPAN = 14
_LEAST_CUT = 21
"""In shorter stories arcs are not cut."""
_WEEK = 7
_SEASON = re.compile(
    r"\b(?:January|February|March|April|June|July|August|September|October|November|December"
    r"|Christmas|spring|summer|autumn|winter)\b"
)


def fit_story(story: Mapping[str, Any], days: int) -> dict[str, Any]:
    """The story cut to a length; it has at least one arc."""
    arcs: Sequence[RawArc] = story["arcs"]
    if _LEAST_CUT <= days < SHORT:
        arcs = [cut_arc(arc, max(_LEAST_SPAN, days // 2)) for arc in arcs]
    chosen = [arc for arc in arcs if arc["directives"][0]["day"] < days and _is_complete(arc, days)]
    chosen = chosen or [arcs[0]]
    for kind in _list_missing_types(chosen, days):
        brought = next(_move_arcs_forward({**story, "arcs": arcs}, chosen, kind, days), None)
        chosen += [brought] if brought else []
    chosen.sort(key=lambda arc: (arc["startDay"], arc["id"]))
    results = {**story, "arcs": make_standalone(chosen, story["arcs"])}
    if story.get("sessions"):
        results["sessions"] = [one for one in story["sessions"] if one.get("firstDay", 1) <= days]
    return results


def _list_missing_types(chosen: Sequence[RawArc], days: int) -> list[str]:
    """The types of missing arcs, in rounds of one per type; types without any arc first."""
    rest = {
        kind: count - sum(arc["type"] == kind for arc in chosen)
        for kind, count in count_fewest_arcs(days).items()
    }
    rounds = range(1, max(rest.values()) + 1)
    is_new = {kind: not any(arc["type"] == kind for arc in chosen) for kind in rest}
    missing_types = [
        (number, kind) for number in rounds for kind in ARC_TYPES if rest[kind] >= number
    ]
    return [kind for _, kind in sorted(missing_types, key=lambda one: (one[0], not is_new[one[1]]))]


def _is_complete(arc: RawArc, days: int) -> bool:
    """Whether a correction happens within the story."""
    return (arc.get("correctedDay") or 0) <= days


def _move_arcs_forward(
    story: Mapping[str, Any], chosen: Sequence[RawArc], kind: str, days: int
) -> Iterator[RawArc]:
    """Every way to fit another arc of the type: arcs that name no season first, then early ones.

    At least two of its steps are in the story.
    """
    opens = {session["id"]: session.get("firstDay", 1) for session in story.get("sessions") or ()}
    names = {arc["id"] for arc in chosen}
    others = [arc for arc in story["arcs"] if arc["type"] == kind and arc["id"] not in names]
    for arc in sorted(others, key=lambda arc: bool(_SEASON.search(repr(arc)))):
        for weeks in range((arc["startDay"] - 1) // _WEEK, 0, -1):
            there = move_arc(arc, -_WEEK * weeks)
            if there["directives"][1]["day"] > days or not _is_complete(there, days):
                break
            is_open = there["startDay"] >= opens.get(arc["primarySession"], 1)
            if (
                is_open
                and _is_room_for(there, chosen)
                and _is_at_work(there, story.get("away") or ())
            ):
                yield there


def _is_room_for(arc: RawArc, others: Iterable[RawArc]) -> bool:
    """Whether the arc keeps the limit of concurrent arcs; the maximum is at the start of an arc."""
    spans = [(other["startDay"], other["endDay"]) for other in (*others, arc)]
    return all(
        sum(first <= day <= last for first, last in spans) <= MOST_CONCURRENT for day, _ in spans
    )


def _is_at_work(arc: RawArc, away: Iterable[Sequence[int]]) -> bool:
    return not any(
        first <= directive["day"] <= last for first, last in away for directive in arc["directives"]
    )
