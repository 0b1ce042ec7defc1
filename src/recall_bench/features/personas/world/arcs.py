"""The authored story: arcs with written days, facts and text; only values vary by seed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from recall_bench.core.errors import Malformed
from recall_bench.core.random_stream import RandomStream
from recall_bench.features.personas.world import fact_values
from recall_bench.features.personas.world.context import FillContext, WorldContext
from recall_bench.features.personas.world.day_text import (
    AccessChanges,
    DayBlock,
    render_parts,
    render_variant,
    split_parts,
)
from recall_bench.features.personas.world.fact_values import FactValue
from recall_bench.features.personas.world.ledger import Thread
from recall_bench.features.personas.world.sources import AuthoredArc, AuthoredDirective, FactSlot

_TRIES = 20

_KINDS = frozenset({"number", "money", "percent", "time", "date", "person", "choice", "code"})
"""The kinds an authored fact may have."""


@dataclass(slots=True)
class ActiveArc:
    """One arc during the simulation."""

    arc: AuthoredArc
    thread: Thread
    versions: dict[str, list[FactValue]]
    """Slot to all values it will have."""
    ripples: list[str] = field(default_factory=list)

    def is_active(self, day: int) -> bool:
        """Whether the arc covers the day."""
        return self.arc.start_day <= day <= self.arc.end_day


def build_arcs(arcs: list[AuthoredArc], world: WorldContext) -> list[ActiveArc]:
    """Every arc, with the values of this seed."""
    existing: dict[str, list[FactValue]] = {}
    results = []
    for arc in arcs:
        versions = {}
        for name, slot in arc.facts.items():
            if slot.same is None:
                versions[name] = existing[f"{arc.id}.{name}"] = _draw_versions(
                    arc, name, slot, world
                )
        results.append((arc, versions))
    for arc, versions in results:
        for name, slot in arc.facts.items():
            if slot.same is not None:
                versions[name] = _share_versions(arc, name, slot.same, existing, world)
    return [_build_arc(arc, versions, world) for arc, versions in results]


def iterate_directives(active: ActiveArc) -> Iterator[tuple[int, str, AuthoredDirective]]:
    """Each directive with its day and step name."""
    for number, directive in enumerate(active.arc.directives):
        yield directive.day, f"d{number:02}", directive


def render_directive(
    active: ActiveArc, name: str, directive: AuthoredDirective, world: WorldContext
) -> DayBlock:
    """Render a directive as a block, after applying its value changes."""
    for slot in directive.changes:
        _apply_change(active, slot, world)
    session = directive.session or active.arc.primary_session
    context = FillContext(world, directive.day, active.thread, session)
    thread = active.thread
    if not thread.first_step:
        thread.first_step = name
    heading = render_variant(context, directive.heading or directive.event).text
    prose = render_parts(context, split_parts(directive.text))
    return DayBlock(
        session=session,
        heading=heading,
        text=prose.text,
        mentions=tuple(prose.mentions),
        thread=thread,
        step=name,
        access_changes=AccessChanges(
            reveals=tuple(directive.reveals),
            forgets=tuple(directive.forgets),
            grants=tuple(directive.grants.items()),
            revokes=tuple(directive.revokes.items()),
        ),
    )


def _apply_change(active: ActiveArc, slot: str, world: WorldContext) -> None:
    versions = active.versions.get(slot, [])
    count = len(active.thread.slot_values.get(slot, []))
    if count >= len(versions):
        raise Malformed(
            world.where,
            f"arc {active.arc.id} changes {slot} more often than it lists values under `is`; "
            "add the next value",
        )
    active.thread.slot_values[slot].append(versions[count])


def _build_arc(
    arc: AuthoredArc, versions: dict[str, list[FactValue]], world: WorldContext
) -> ActiveArc:
    called = [arc.called] if isinstance(arc.called, str) else arc.called
    thread = Thread(
        key=arc.id,
        source=arc.id,
        name=arc.name,
        called=tuple(called),
        session=arc.primary_session,
        slots=arc.facts,
        timings={
            f"d{number:02}": directive.when
            for number, directive in enumerate(arc.directives)
            if directive.when is not None
        },
        slot_values={name: list(version[:1]) for name, version in versions.items()},
        is_authored=True,
    )
    ripples = RandomStream(world.seed, "ripples", arc.id).shuffle(arc.ripples)
    return ActiveArc(arc, thread, versions, ripples)


def _draw_versions(
    arc: AuthoredArc, name: str, slot: FactSlot, world: WorldContext
) -> list[FactValue]:
    kind = slot.get_kind()
    values = slot.is_ if isinstance(slot.is_, list) else [slot.is_]
    if slot.is_ is None or kind not in _KINDS:
        raise Malformed(
            world.where, f"fact {name} of arc {arc.id} needs a kind and `is`, its value; add them"
        )
    chance = RandomStream(world.seed, "arc", arc.id, name)
    if kind == "date":
        return [fact_values.format_date(int(day), world.dates) for day in values if day is not None]
    written_as = [str(value) for value in values]
    if kind == "choice":
        return _draw_choices(written_as, slot.or_, world, chance)
    if kind == "person":
        others = tuple(world.cast.people)
        return [FactValue("person", text, others=others) for text in written_as]
    return _draw_variations(
        [fact_values.parse_value(kind, text) for text in written_as], world, chance
    )


def _draw_variations(
    given: list[FactValue], world: WorldContext, chance: RandomStream
) -> list[FactValue]:
    """The values of a seed: all scaled by one factor, so that a fall stays a fall."""
    if world.is_authored:
        return given
    for _ in range(_TRIES):
        factor = Decimal(chance.draw_between(72, 138)) / 100
        variations = [fact_values.scale_value(value, factor, chance) for value in given]
        texts = {value.text for value in variations}
        if len(texts) == len(variations) and not texts & {value.text for value in given}:
            return variations
    return given


def _draw_choices(
    given: list[str], others: list[str], world: WorldContext, chance: RandomStream
) -> list[FactValue]:
    pool = [*given, *(other for other in others if other not in given)]
    picked = given if world.is_authored else chance.shuffle(pool)[: len(given)]
    return [FactValue("choice", text, others=tuple(pool)) for text in picked]


def _share_versions(
    arc: AuthoredArc, name: str, same: str, known: dict[str, list[FactValue]], world: WorldContext
) -> list[FactValue]:
    if same not in known:
        raise Malformed(
            world.where,
            f"fact {name} of arc {arc.id} is the same as {same}, which no arc has; correct it",
        )
    return known[same]
