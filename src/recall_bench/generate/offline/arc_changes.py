"""An authored arc at another time, cut short, or without the arcs it took its values from."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recall_bench.world.templates import parse_template

RawArc = Mapping[str, Any]
"""An arc as its file has it."""

_DAY_KEYS = ("startDay", "endDay", "wrongDay", "correctedDay")
_LENT_KEYS = ("kind", "is", "or")
_QUESTION_KEYS = ("ask", "then", "both", "with", "link", "category")
_VALUE_FORMS = frozenset({"", "full", "short"})
"""The forms of a placeholder that tell its value."""


def move_story(story: Mapping[str, Any], by: int) -> dict[str, Any]:
    """The whole story so many days later: its arcs, the times away and when sessions open."""
    found = {**story, "arcs": [move_arc(arc, by) for arc in story["arcs"]]}
    if story.get("away"):
        found["away"] = [[first + by, last + by] for first, last in story["away"]]
    if story.get("sessions"):
        hours = ("firstDay", "lastDay")
        found["sessions"] = [_move_days(one, hours, by) for one in story["sessions"]]
    return found


def move_arc(arc: RawArc, by: int) -> dict[str, Any]:
    """The arc so many days later, with every day and date it names; earlier if negative."""
    found = _move_days(_move_dates_in(arc, by), _DAY_KEYS, by)
    found["directives"] = [_move_days(part, ("day",), by) for part in found["directives"]]
    if "facts" in found:
        found["facts"] = {name: _move_date(slot, by) for name, slot in found["facts"].items()}
    return found


def cut_arc(arc: RawArc, length: int) -> RawArc:
    """The arc up to its last step within so many days of its first, and two steps at least.

    A correction keeps all steps up to the correction. What is then never told is not asked about.
    """
    last = max(arc["startDay"] + length, arc.get("correctedDay") or 0)
    steps = arc["directives"]
    kept = [step for index, step in enumerate(steps) if index < 2 or step["day"] <= last]
    if len(kept) == len(steps):
        return arc
    told = {
        hole.name
        for step in kept
        for hole in parse_template(step["text"]).list_placeholders()
        if hole.form in _VALUE_FORMS
    }
    facts = {
        name: slot if name in told else _drop_keys(slot, _QUESTION_KEYS)
        for name, slot in arc.get("facts", {}).items()
    }
    return {**arc, "endDay": kept[-1]["day"], "directives": kept, "facts": facts}


def make_standalone(told: Sequence[RawArc], arcs: Iterable[RawArc]) -> list[RawArc]:
    """The arcs told, with the values of their own that they took from arcs left out."""
    authored = {
        f"{arc['id']}.{name}": slot for arc in arcs for name, slot in arc.get("facts", {}).items()
    }
    there = {arc["id"] for arc in told}
    heirs: dict[str, str] = {}
    found = []
    for arc in told:
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
        found.append({**arc, "facts": facts} if facts else arc)
    return found


def _move_days(part: Mapping[str, Any], keys: Iterable[str], by: int) -> dict[str, Any]:
    return {**part, **{key: part[key] + by for key in keys if part.get(key) is not None}}


def _move_date(slot: Mapping[str, Any], by: int) -> Mapping[str, Any]:
    given = slot.get("is")
    if slot.get("kind") != "date" or given is None:
        return slot
    return {**slot, "is": [day + by for day in given] if isinstance(given, list) else given + by}


def _move_dates_in(content: Any, by: int) -> Any:  # noqa: ANN401 - any YAML
    """The same with every `{date:N}` in its texts moved."""
    if isinstance(content, str):
        return re.sub(r"\{date:(\d+)", lambda found: f"{{date:{int(found[1]) + by}", content)
    if isinstance(content, list):
        return [_move_dates_in(part, by) for part in content]
    if isinstance(content, dict):
        return {key: _move_dates_in(part, by) for key, part in content.items()}
    return content


def _drop_keys(slot: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: part for key, part in slot.items() if key not in keys}
