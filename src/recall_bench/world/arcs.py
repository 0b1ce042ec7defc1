"""The authored story: arcs whose days, facts and words are written, and only values vary."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from recall_bench.errors import Malformed
from recall_bench.world import values
from recall_bench.world.chance import Chance
from recall_bench.world.ledger import Thread
from recall_bench.world.narration import Acts, Block, chosen, paragraphs, written
from recall_bench.world.sources import Arc, Directive, Slot
from recall_bench.world.stage import Scene, Stage
from recall_bench.world.values import Value

_TRIES = 20

_KINDS = frozenset({"number", "money", "percent", "time", "date", "person", "choice", "code"})
"""The kinds an authored fact may have."""


@dataclass(slots=True)
class Plot:
    """One arc while its story is told."""

    arc: Arc
    thread: Thread
    versions: dict[str, list[Value]]
    """Slot to all the values it will have."""
    ripples: list[str] = field(default_factory=list)

    def is_active(self, day: int) -> bool:
        """Whether it goes on that day."""
        return self.arc.start_day <= day <= self.arc.end_day


def plots(arcs: list[Arc], stage: Stage) -> list[Plot]:
    """Every arc, with the values this seed gives its facts."""
    known: dict[str, list[Value]] = {}
    found = []
    for arc in arcs:
        versions = {}
        for name, slot in arc.facts.items():
            if slot.same is None:
                versions[name] = known[f"{arc.id}.{name}"] = _versions(arc, name, slot, stage)
        found.append((arc, versions))
    for arc, versions in found:
        for name, slot in arc.facts.items():
            if slot.same is not None:
                versions[name] = _lent(arc, name, slot.same, known, stage)
    return [_plot(arc, versions, stage) for arc, versions in found]


def directives(plot: Plot) -> Iterator[tuple[int, str, Directive]]:
    """Each directive with its day and the name of its step."""
    for number, directive in enumerate(plot.arc.directives):
        yield directive.day, f"d{number:02}", directive


def tell(plot: Plot, name: str, directive: Directive, stage: Stage) -> Block:
    """A directive as a block; values it changes are changed first."""
    for slot in directive.changes:
        _change(plot, slot, stage)
    session = directive.session or plot.arc.primary_session
    scene = Scene(stage, directive.day, plot.thread, session)
    thread = plot.thread
    if not thread.first_step:
        thread.first_step = name
    heading = chosen(scene, directive.heading or directive.event).text
    prose = written(scene, paragraphs(directive.text))
    return Block(
        session=session,
        heading=heading,
        text=prose.text,
        tellings=tuple(prose.tellings),
        thread=thread,
        step=name,
        acts=Acts(
            reveals=tuple(directive.reveals),
            forgets=tuple(directive.forgets),
            grants=tuple(directive.grants.items()),
            revokes=tuple(directive.revokes.items()),
        ),
    )


def _change(plot: Plot, slot: str, stage: Stage) -> None:
    versions = plot.versions.get(slot, [])
    reached = len(plot.thread.held.get(slot, []))
    if reached >= len(versions):
        raise Malformed(
            stage.where,
            f"arc {plot.arc.id} changes {slot} more often than it lists values under `is`; "
            "add the next value",
        )
    plot.thread.held[slot].append(versions[reached])


def _plot(arc: Arc, versions: dict[str, list[Value]], stage: Stage) -> Plot:
    called = [arc.called] if isinstance(arc.called, str) else arc.called
    thread = Thread(
        key=arc.id,
        source=arc.id,
        name=arc.name,
        called=tuple(called),
        session=arc.primary_session,
        slots=arc.facts,
        whens={
            f"d{number:02}": directive.when
            for number, directive in enumerate(arc.directives)
            if directive.when is not None
        },
        held={name: list(known[:1]) for name, known in versions.items()},
        is_authored=True,
    )
    ripples = Chance(stage.seed, "ripples", arc.id).shuffled(arc.ripples)
    return Plot(arc, thread, versions, ripples)


def _versions(arc: Arc, name: str, slot: Slot, stage: Stage) -> list[Value]:
    kind = slot.kind_of()
    given = slot.is_ if isinstance(slot.is_, list) else [slot.is_]
    if slot.is_ is None or kind not in _KINDS:
        raise Malformed(
            stage.where, f"fact {name} of arc {arc.id} needs a kind and `is`, its value; add them"
        )
    chance = Chance(stage.seed, "arc", arc.id, name)
    if kind == "date":
        return [values.dated(int(day), stage.dates) for day in given if day is not None]
    written_as = [str(value) for value in given]
    if kind == "choice":
        return _choices(written_as, slot.or_, stage, chance)
    if kind == "person":
        others = tuple(stage.cast.people)
        return [Value("person", text, others=others) for text in written_as]
    return _varied([values.authored(kind, text) for text in written_as], stage, chance)


def _varied(given: list[Value], stage: Stage, chance: Chance) -> list[Value]:
    """The values of a seed: all moved by one factor, so that what fell still falls."""
    if stage.is_authored:
        return given
    for _ in range(_TRIES):
        factor = Decimal(chance.between(72, 138)) / 100
        found = [values.scaled(value, factor, chance) for value in given]
        texts = {value.text for value in found}
        if len(texts) == len(found) and not texts & {value.text for value in given}:
            return found
    return given


def _choices(given: list[str], others: list[str], stage: Stage, chance: Chance) -> list[Value]:
    pool = [*given, *(other for other in others if other not in given)]
    picked = given if stage.is_authored else chance.shuffled(pool)[: len(given)]
    return [Value("choice", text, others=tuple(pool)) for text in picked]


def _lent(
    arc: Arc, name: str, same: str, known: dict[str, list[Value]], stage: Stage
) -> list[Value]:
    if same not in known:
        raise Malformed(
            stage.where,
            f"fact {name} of arc {arc.id} is the same as {same}, which no arc has; correct it",
        )
    return known[same]
