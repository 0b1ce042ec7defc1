"""The evidence of a question tells what its words mean, not only the value that is asked.

"It becomes a finding" answers a question about a backup only beside the earlier line that asks for
the backup. Each question gets the passages of the same thread, arc or attribute that say what the
passages of its answer leave out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from recall_bench.core.text_values import collect_stems, collect_topics
from recall_bench.generate.life.facts import StateMention
from recall_bench.generate.life.simulation import LifePlay
from recall_bench.generate.world.fact_values import format_month
from recall_bench.generate.written.derivation import Derivation, parse_derivation
from recall_bench.generate.written.slots import FactState, parse_state
from recall_bench.generate.written.sources import WrittenDay, WrittenQuestion

_SLOT = re.compile(r"\{([^{}:]+)(?::\w+)?\}")
HOPS = ("two-hop", "three-hop")
_MOST_ADDED = 2
"""Passages that a question gets for each value it rests on, beside those of its answer."""
_OF_FEW = frozenset("value latest as-of days date order yes no".split())
"""The forms that rest on values of which each can be explained."""


def fill_slots(play: LifePlay, text: str) -> str:
    """A text with the values of its slots, which are part of what a day tells."""

    def show(slot: re.Match[str]) -> str:
        state = parse_state(slot[1])
        value = play.lives.book.values.get(state, "") if state is not None else ""
        return play.calendar.dates.format_day(int(value[1:])) if value.startswith("@") else value

    return _SLOT.sub(show, text)


class EvidenceLinks:
    """Finds the passages that connect the words of a question with its answer."""

    def __init__(self, play: LifePlay, days: Iterable[WrittenDay]) -> None:
        self._play = play
        self._facts = play.lives.book.facts
        self._passages: dict[FactState, frozenset[str]] = {}
        """What the passage says that tells a state first."""
        for day in days:
            for state, words in self._read_passages(day):
                self._passages.setdefault(state, words)
        self._related: dict[FactState, list[StateMention]] = {}
        """For each state: what else was stated of the same thread, arc or attribute."""
        for mention, states in self._list_related():
            self._related.setdefault(mention.state, []).extend(states)

    def _read_passages(self, day: WrittenDay) -> Iterator[tuple[FactState, frozenset[str]]]:
        month = collect_stems(format_month(self._play.calendar.dates.get_month(day.day)))
        heading = ""
        for line in day.text.splitlines():
            if line.startswith("#"):
                heading = line
            found = [parse_state(slot[1]) for slot in _SLOT.finditer(line)]
            first = [state for state in found if state is not None and self._is_first(state, day)]
            if first:
                words = collect_stems(fill_slots(self._play, f"{heading} {line}")) | month
                yield from ((state, words) for state in first)

    def _is_first(self, state: FactState, day: WrittenDay) -> bool:
        fact = self._facts.get(state.key)
        return fact is not None and fact.states[state.number - 1].day == day.day

    def _list_related(self) -> Iterator[tuple[StateMention, list[StateMention]]]:
        for thread in self._play.threads.threads:
            steps = [self._get(step.mark) for step in thread.steps.values()]
            whole = [*thread.mentions.values(), *thread.later_mentions.values(), *steps]
            yield from ((each, whole) for each in whole)
        for arc in self._play.arcs.arcs:
            facts = [self._facts.get(arc.name_fact(each)) for each in arc.active.arc.facts]
            mentions = [state for fact in facts if fact is not None for state in fact.states]
            whole = [*arc.events.values(), *mentions]
            yield from ((each, whole) for each in whole)
        for entity in self._play.lives.entities:
            for fact in entity.facts.values():
                # A value stated in passing ("came back to its $80,000") does not say what it is.
                passing = [each for each in fact.states[1:] if each.manner == "passing"]
                yield from ((each, fact.states[:1]) for each in passing)

    def _get(self, state: FactState) -> StateMention:
        return self._facts[state.key].states[state.number - 1]

    def complete(self, questions: Iterable[WrittenQuestion]) -> list[WrittenQuestion]:
        """The questions, each with what explains its words."""
        return [self._complete(each) for each in questions]

    def _complete(self, question: WrittenQuestion) -> WrittenQuestion:
        derivation = parse_derivation(question.derive)
        is_path = question.kind in HOPS and derivation.form != "as-of"
        if derivation.form not in _OF_FEW or question.expects != "answer" or is_path:
            # Each record of a path is in force, which what explains it need not be.
            return question
        needed = [state for each in question.needs if (state := parse_state(each)) is not None]
        rests = [*self._list_states(derivation), *needed]
        is_dated = derivation.form == "as-of"
        words = collect_topics(question.ask) if is_dated else collect_stems(question.ask)
        missing = words - self._collect(rests)
        added = [*self._choose(question, rests, missing)]
        return msgspec.structs.replace(
            question, needs=[*question.needs, *(str(each.state) for each in added)]
        )

    def _list_states(self, derivation: Derivation) -> list[FactState]:
        if derivation.form == "as-of":
            mention = self._facts[derivation.states[0].key].find_at(derivation.as_of or 0)
            return [mention.state] if mention is not None else []
        return list(derivation.states)

    def _collect(self, states: Sequence[FactState]) -> frozenset[str]:
        return frozenset().union(*(self._passages.get(each, frozenset()) for each in states))

    def _choose(
        self, question: WrittenQuestion, rests: Sequence[FactState], missing: frozenset[str]
    ) -> Iterator[StateMention]:
        """The earliest of the passages that say most of what is missing, one after the other."""
        known = {
            each.state: each
            for state in rests
            for each in self._related.get(state, ())
            if each.day <= (question.from_ or 0) and self._may_hear(question, each)
        }
        for _ in range(_MOST_ADDED * len(rests)):
            ranked = [
                (len(self._passages.get(state, frozenset()) & missing), -each.day, each)
                for state, each in known.items()
            ]
            said, _, best = max(ranked, key=lambda entry: entry[:2], default=(0, 0, None))
            if not said or best is None:
                return
            missing -= self._passages[best.state]
            yield best

    def _may_hear(self, question: WrittenQuestion, mention: StateMention) -> bool:
        return (
            mention.session == question.session
            or mention.session not in self._play.sources.isolated
        )
