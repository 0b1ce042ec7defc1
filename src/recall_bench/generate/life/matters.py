"""The threads, arcs and entities that questions are about: how each is named, and its lines."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from recall_bench.core.text_values import collect_stems
from recall_bench.generate.life.entities import Entity
from recall_bench.generate.life.facts import StateMention
from recall_bench.generate.life.names import list_placeholders
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.story_arcs import ArcProgress
from recall_bench.generate.life.thread_names import find_named_day
from recall_bench.generate.life.threads import LifeThread
from recall_bench.generate.world.fact_values import format_month
from recall_bench.generate.written.slots import FactState

Name = frozenset[str]
"""The words of a name; each of them alone says who or what is meant."""


@dataclass(frozen=True, slots=True, eq=False)
class Matter:
    """A thread, an arc or an entity."""

    names: tuple[Name, ...]
    own: tuple[StateMention, ...]
    """What was stated of it."""
    others: tuple[StateMention, ...] = ()
    """What was stated of the threads that act on an entity."""
    people: tuple[tuple[Name, StateMention], ...] = ()
    """The people of a thread, each with the statement that says what their part is."""
    dated: tuple[str, StateMention] | None = None
    """The month that a thread is called by, with the statement of what came in it."""
    is_entity: bool = False


class Matters:
    """Finds the matters of a state."""

    def __init__(self, play: LifeSimulation) -> None:
        self._play = play
        self._facts = play.lives.book.facts
        self._shared = Counter(
            stem for each in play.lives.entities for stem in collect_stems(each.name)
        )
        self._of: dict[FactState, list[Matter]] = {}
        for matter in self._list_matters():
            for state in dict.fromkeys(mention.state for mention in matter.own):
                self._of.setdefault(state, []).append(matter)

    def find(self, state: FactState) -> list[Matter]:
        """The matters that a state is about."""
        return self._of.get(state, [])

    def _list_matters(self) -> Iterator[Matter]:
        acting: dict[str, list[StateMention]] = {}
        for thread in self._play.threads.threads:
            mentions = self._list_thread(thread)
            yield Matter(
                tuple(self._name_thread(thread)),
                mentions,
                people=tuple(self._list_people(thread)),
                dated=self._find_dated(thread),
            )
            for entity in thread.entities.values():
                acting.setdefault(entity.key, []).extend(mentions)
        for arc in self._play.arcs.arcs:
            yield Matter((collect_stems(arc.active.arc.name),), self._list_arc(arc))
        reasons: dict[str, list[StateMention]] = {}
        for reason in self._play.lives.reasons:
            reasons.setdefault(reason.entity.key, []).append(reason.mention)
        for entity in self._play.lives.entities:
            states = [each for fact in entity.facts.values() for each in fact.states]
            yield Matter(
                (self._name_entity(entity),),
                (*states, *reasons.get(entity.key, ())),
                tuple(acting.get(entity.key, ())),
                is_entity=True,
            )

    def _list_thread(self, thread: LifeThread) -> tuple[StateMention, ...]:
        marks = [step.mark for step in thread.steps.values()]
        steps = [self._facts[mark.key].states[mark.number - 1] for mark in marks]
        return (*thread.mentions.values(), *thread.later_mentions.values(), *steps)

    def _list_arc(self, arc: ArcProgress) -> tuple[StateMention, ...]:
        facts = [self._facts.get(arc.name_fact(each)) for each in arc.active.arc.facts]
        states = [state for fact in facts if fact is not None for state in fact.states]
        return (*arc.events.values(), *states)

    def _name_thread(self, thread: LifeThread) -> Iterator[Name]:
        """What the names of a thread are made of beside people: entities and facts."""
        named = {each.name for way in thread.process.called for each in list_placeholders(way)}
        for name in sorted(named):
            if name in thread.entities:
                yield self._name_entity(thread.entities[name])
            elif name in thread.facts and thread.facts[name].day is None:
                yield collect_stems(thread.facts[name].text)

    def _list_people(self, thread: LifeThread) -> Iterator[tuple[Name, StateMention]]:
        for role, person in thread.people.items():
            if role in thread.mentions:
                yield collect_stems(person), thread.mentions[role]

    def _find_dated(self, thread: LifeThread) -> tuple[str, StateMention] | None:
        held, day = thread.process.held, find_named_day(thread)
        if not thread.steps or day is None:
            return None
        month = format_month(self._play.calendar.dates.get_month(day))
        if held in thread.facts:
            mention = thread.mentions.get(held or "")
        else:
            mark = (thread.steps[held] if held else next(iter(thread.steps.values()))).mark
            mention = self._facts[mark.key].states[mark.number - 1]
        return None if mention is None else (month, mention)

    def _name_entity(self, entity: Entity) -> Name:
        """The words that no other entity is called by; all of them if there is none."""
        words = collect_stems(entity.name)
        return frozenset(each for each in words if self._shared[each] == 1) or words
