"""The outline of a world in the public format: the arcs that a plan or a reader follows."""

from collections import Counter
from collections.abc import Iterator, Mapping

from recall_bench.core.scenario import DECISION
from recall_bench.features.personas.creation.story_rules import (
    MAX_CONCURRENT_ARCS,
    compute_arc_bounds,
    count_fewest_arcs,
)
from recall_bench.features.personas.simulator.ledger import LedgerFact, Matter
from recall_bench.features.personas.simulator.world import World

_LONG = 60
"""Days from which a matter is a project."""


def build_arcs_file(world: World) -> Mapping[str, object]:
    """The story's file: a selection of its matters, as many of each type as a story should have."""
    days = world.options.days
    most = compute_arc_bounds(days)[1]
    owed = Counter(count_fewest_arcs(days))
    common = _list_common_values(world)
    arcs: list[dict[str, object]] = []
    spans: list[tuple[int, int]] = []
    # First what a story of this length needs, then whatever there is room for.
    for is_needed in (True, False):
        for matter in world.matters:
            arc = _build_arc(world, matter, common)
            kind, first, last = str(arc["type"]), matter.opening.day, _find_last_day(world, matter)
            if len(arcs) >= most or (is_needed and owed[kind] <= 0):
                continue
            if any(arc["id"] == other["id"] for other in arcs) or not _has_room(
                (first, last), spans
            ):
                continue
            owed[kind] -= 1
            arcs.append(arc)
            spans.append((first, last))
    arcs.sort(key=lambda arc: (arc["startDay"], arc["endDay"], arc["id"]))
    if arcs and max(last for _, last in spans) < days:
        # The story lasts as long as its last arc.
        longest = max(range(len(arcs)), key=lambda place: str(arcs[place]["endDay"]).zfill(5))
        arcs[longest]["endDay"] = days
    return {"epoch": world.dates.epoch.isoformat(), "gaps": True, "arcs": arcs}


def _has_room(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    """Whether the limit of concurrent arcs is kept; the maximum is at the start of an arc."""
    spans = [*others, span]
    return all(
        sum(first <= day <= last for first, last in spans) <= MAX_CONCURRENT_ARCS
        for day, _ in spans
    )


def _find_last_day(world: World, matter: Matter) -> int:
    return world.options.days if matter.closing is None else matter.closing.day


def _build_arc(world: World, matter: Matter, common: frozenset[str]) -> dict[str, object]:
    first, last = matter.opening.day, _find_last_day(world, matter)
    mistake = _find_mistake(matter, common)
    people = {
        fact.value.text: None
        for facts in matter.facts.values()
        for fact in facts
        if fact.value.kind == "person" and fact.sentence.session == matter.kind.session
    }
    insiders = set(world.sessions[matter.kind.session].participants)
    arc: dict[str, object] = {
        "id": matter.key,
        "type": _choose_type(matter, last - first, mistake),
        "title": matter.name,
        "description": matter.opening.text,
        "startDay": first,
        "endDay": last,
        "primarySession": matter.kind.session,
        "participants": [name for name in people if name in insiders],
    }
    if mistake is not None:
        wrong, right = mistake
        arc |= {
            "wrongDay": wrong.day,
            "correctedDay": right.day,
            "wrongBelief": wrong.sentence.text,
            "correctedBelief": right.sentence.text,
        }
    arc["directives"] = [
        {"day": day, "event": text} for day, text in sorted(_list_events(matter, mistake))
    ]
    return arc


def _choose_type(matter: Matter, length: int, mistake: tuple[LedgerFact, LedgerFact] | None) -> str:
    if mistake is not None:
        return "correction"
    if any(source.category == DECISION for source in matter.attributes.values()):
        return "decision"
    if length >= _LONG:
        return "project"
    if any(
        len(facts) > 1 and matter.attributes[name].kind == "person"
        for name, facts in matter.facts.items()
    ):
        return "relationship"
    return "incident" if matter.events else "learning"


def _list_common_values(world: World) -> frozenset[str]:
    """Values that several matters have had: a reader could take one for another."""
    counts = Counter(
        text
        for matter in world.matters
        for text in {fact.value.text for facts in matter.facts.values() for fact in facts}
    )
    return frozenset(text for text, count in counts.items() if count > 1)


def _find_mistake(matter: Matter, common: frozenset[str]) -> tuple[LedgerFact, LedgerFact] | None:
    """The first figure that turned out to be wrong, and the one that corrected it."""
    for facts in matter.facts.values():
        is_corrected = len(facts) > 1 and facts[1].is_correction
        is_figure = facts[0].value.amount is not None
        if is_corrected and is_figure and common.isdisjoint(fact.value.text for fact in facts):
            return facts[0], facts[1]
    return None


def _list_events(
    matter: Matter, mistake: tuple[LedgerFact, LedgerFact] | None
) -> Iterator[tuple[int, str]]:
    """What is told on which day in its own session; a belief is no event."""
    sentences = [event.sentence for event in matter.events.values()]
    sentences += [
        fact.sentence
        for facts in matter.facts.values()
        for fact in facts
        if fact not in (mistake or ())
    ]
    sentences += [matter.closing] if matter.closing else []
    for sentence in sentences:
        if sentence.session == matter.kind.session:
            yield sentence.day, sentence.text
