"""The authored arcs in a life edition: their events on their days, with their facts as slots."""

from dataclasses import dataclass, field

from recall_bench.core.sentences import locate_sentences
from recall_bench.generate.life.calendar import LifeCalendar
from recall_bench.generate.life.facts import FactBook, StateMention
from recall_bench.generate.life.prose import LifeText, SlotMark, find_form, show_value
from recall_bench.generate.life.sources import LifeSources
from recall_bench.generate.world.arcs import (
    ActiveArc,
    build_arcs,
    iterate_directives,
    render_directive,
)
from recall_bench.generate.world.context import FillContext, WorldContext
from recall_bench.generate.world.day_text import DayBlock, render_variant
from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.world.random_stream import RandomStream
from recall_bench.generate.world.sources import AuthoredDirective
from recall_bench.generate.world.templates import AlternativePicker
from recall_bench.generate.written.slots import FactState

_MENTION_RATE = 0.8


@dataclass(slots=True)
class ArcProgress:
    """What has been stated of an arc."""

    active: ActiveArc
    events: dict[str, StateMention] = field(default_factory=dict)
    """Each directive, by its step, with the state that stands for it."""
    links: dict[tuple[int, str], FactState] = field(default_factory=dict)
    """Day and session of an event, with the state in the sentence that names the arc."""
    directives: dict[str, AuthoredDirective] = field(default_factory=dict)
    granted: dict[tuple[str, str], int] = field(default_factory=dict)
    """Fact and session, with the day from which the session may know."""
    revoked: dict[tuple[str, str], int] = field(default_factory=dict)
    revealed: dict[str, int] = field(default_factory=dict)
    forgotten: dict[str, int] = field(default_factory=dict)

    def name_fact(self, name: str) -> str:
        """The key of one of its facts."""
        return f"arc-{self.active.arc.id}-{name}".replace("_", "-")


@dataclass(frozen=True, slots=True)
class ArcTopic:
    """A topic about an arc."""

    session: str
    heading: str
    text: LifeText


class ArcWriter:
    """Tells the authored arcs."""

    def __init__(self, sources: LifeSources, calendar: LifeCalendar, seed: int) -> None:
        self._calendar = calendar
        self._chance = RandomStream(seed, "life", "ripples")
        self.world = WorldContext(
            seed=seed,
            is_authored=seed == 0,
            cast=sources.cast,
            words=sources.talk.words,
            dates=calendar.dates,
            picker=AlternativePicker(seed),
            where=f"{sources.persona.id}/arcs",
        )
        self.arcs = [ArcProgress(each) for each in build_arcs(sources.arcs.arcs, self.world)]
        self._due: dict[int, list[tuple[ArcProgress, str, AuthoredDirective]]] = {}
        for arc in self.arcs:
            for day, name, directive in iterate_directives(arc.active):
                self._due.setdefault(day, []).append((arc, name, directive))

    def write_due(self, day: int, book: FactBook) -> list[ArcTopic]:
        """The events that are due today."""
        return [
            self._write_event(arc, name, directive, book)
            for arc, name, directive in self._due.get(day, ())
        ]

    def _write_event(
        self, arc: ArcProgress, name: str, directive: AuthoredDirective, book: FactBook
    ) -> ArcTopic:
        block = render_directive(arc.active, name, directive, self.world)
        text = self._convert(arc, block, directive.day, book)
        own = FactState(arc.name_fact(f"at-{name}"))
        place = self._find_place(text, arc.active.arc.name)
        if place is not None:
            start, end = place
            sentence = next(each for each in locate_sentences(text.text) if each[0] == start)
            if arc.active.arc.name in text.text[slice(*sentence)]:
                arc.links[directive.day, block.session] = own
            marks = sorted((SlotMark(own, start, end), *text.marks), key=lambda each: each.start)
            text = LifeText(text.text, tuple(marks))
            shown = text.text[start:end]
            book.values[own] = shown
            mention = StateMention(
                state=own,
                value=FactValue("phrase", shown),
                day=directive.day,
                session=block.session,
            )
            book.tell(mention, arc.active.arc.title, directive.event)
            arc.events[name] = mention
        elif states := text.list_states():
            fact = book.facts[states[0].key]
            arc.events[name] = fact.states[states[0].number - 1]
        arc.directives[name] = directive
        self._record_access(arc, directive, block.session)
        return ArcTopic(block.session, block.heading, text)

    def _find_place(self, text: LifeText, name: str) -> tuple[int, int] | None:
        """A word that stands for the event: of the first sentence that names the arc, if any does.

        None if it would lie within a value.
        """
        sentences = locate_sentences(text.text)
        starts = [start for start, end in sentences if name in text.text[start:end]]
        for start in [*starts, *(start for start, _ in sentences)]:
            end = text.text.find(" ", start + 2)
            is_free = all(end <= mark.start or mark.end <= start for mark in text.marks)
            if end > 0 and is_free and "\n" not in text.text[start:end]:
                return start, end
        return None

    def _convert(self, arc: ArcProgress, block: DayBlock, day: int, book: FactBook) -> LifeText:
        marks = []
        for mention in block.mentions:
            number = len(mention.thread.slot_values[mention.slot])
            state = FactState(arc.name_fact(mention.slot), number)
            shown = block.text[mention.start : mention.end]
            form = find_form(show_value(mention.value), shown)
            if form is None:
                continue
            if not book.is_told(state):
                self._tell_states(arc, mention.slot, state, (day, block.session), book)
            marks.append(SlotMark(state, mention.start, mention.end))
        return LifeText(block.text, tuple(marks))

    def _tell_states(
        self, arc: ArcProgress, slot: str, state: FactState, where: tuple[int, str], book: FactBook
    ) -> None:
        values = arc.active.thread.slot_values[slot]
        fact = book.facts.get(state.key)
        first = len(fact.states) + 1 if fact else 1
        # A change that is stated without its first value would leave a gap in the numbers.
        for number in range(first, state.number + 1):
            value = values[number - 1]
            each = FactState(state.key, number)
            book.values[each] = show_value(value)
            mention = StateMention(
                state=each,
                value=value,
                day=where[0],
                session=where[1],
                manner="set" if number == 1 else "announced",
            )
            book.tell(mention, arc.active.arc.title, slot)

    def _record_access(self, arc: ArcProgress, directive: AuthoredDirective, session: str) -> None:
        for slot in directive.reveals:
            arc.revealed.setdefault(slot, directive.day)
        for slot in directive.forgets:
            arc.forgotten.setdefault(slot, directive.day)
        for slot, other in directive.grants.items():
            if other == session:
                arc.granted.setdefault((slot, other), directive.day)
        for slot, other in directive.revokes.items():
            arc.revoked.setdefault((slot, other), directive.day)

    def write_mention(self, day: int) -> ArcTopic | None:
        """A sentence about an arc between its events, on some days."""
        for arc in self.arcs:
            active = arc.active
            if not (active.ripples and active.is_active(day) and arc.events):
                continue
            if day in {each.day for each in arc.events.values()}:
                continue
            length = max(1, active.arc.end_day - active.arc.start_day)
            if self._chance.is_hit(_MENTION_RATE * 1.4 * len(active.arc.ripples) / length):
                context = FillContext(self.world, day, active.thread, active.arc.primary_session)
                text = render_variant(context, active.ripples.pop()).text
                return ArcTopic(active.arc.primary_session, "", LifeText(text))
        return None
