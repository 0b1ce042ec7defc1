"""The evidence of a question tells what its words mean, not only the value that is asked.

"It becomes a finding" answers a question about a backup only beside the earlier line that asks for
the backup. Each question gets the passages of the same thread, arc or attribute that say what the
passages of its answer leave out, and for every matter that it names a sentence with the name: a
question cites sentences, so a name in the heading or the sentence before is not enough.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from recall_bench.core.sentences import locate_sentences
from recall_bench.core.text_values import collect_stems, collect_topics
from recall_bench.generate.life.facts import StateMention
from recall_bench.generate.life.matters import Matter, Matters, Name
from recall_bench.generate.life.simulation import LifeSimulation
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
_NOTHING = frozenset[str]()


def fill_slots(play: LifeSimulation, text: str) -> str:
    """A text with the values of its slots, which are part of what a day tells."""
    return "".join(part for part, _ in _list_parts(play, text))


def _list_parts(play: LifeSimulation, text: str) -> Iterator[tuple[str, FactState | None]]:
    """The parts of a text in order: what stands between slots, and values with their states."""
    at = 0
    for slot in _SLOT.finditer(text):
        yield text[at : slot.start()], None
        at = slot.end()
        state = parse_state(slot[1])
        value = play.lives.book.values.get(state, "") if state is not None else ""
        shown = play.calendar.dates.format_day(int(value[1:])) if value.startswith("@") else value
        yield shown, state
    yield text[at:], None


class StatePassage(NamedTuple):
    """Where a state is stated first."""

    paragraph: frozenset[str]
    """The words of the paragraph with its heading and month."""
    sentence: frozenset[str]
    """The words of the sentence, which is what a question cites."""
    states: tuple[FactState, ...]
    """Every state of the sentence."""


class EvidenceLinks:
    """Finds the passages that connect the words of a question with its answer."""

    def __init__(self, play: LifeSimulation, days: Iterable[WrittenDay], matters: Matters) -> None:
        self._play = play
        self._facts = play.lives.book.facts
        self._lasting = {
            fact.key for entity in play.lives.entities for fact in entity.facts.values()
        }
        """The facts that are in force until they change."""
        self._passages: dict[FactState, StatePassage] = {}
        for day in days:
            for state, passage in self._read_passages(day):
                self._passages.setdefault(state, passage)
        self._matters = matters

    def _read_passages(self, day: WrittenDay) -> Iterator[tuple[FactState, StatePassage]]:
        month = collect_stems(format_month(self._play.calendar.dates.get_month(day.day)))
        heading = ""
        for line in day.text.splitlines():
            if line.startswith("#"):
                heading = line
            if "{" not in line:
                continue
            words: frozenset[str] | None = None
            for sentence, states in self._split_line(line):
                first = [each for each in states if self._is_first(each, day)]
                if not first:
                    continue
                if words is None:
                    words = collect_stems(fill_slots(self._play, f"{heading} {line}")) | month
                said = collect_stems(sentence)
                yield from ((each, StatePassage(words, said, states)) for each in first)

    def _split_line(self, line: str) -> Iterator[tuple[str, tuple[FactState, ...]]]:
        """The sentences of a line, each with its states."""
        text, found = "", list[tuple[int, FactState]]()
        for part, state in _list_parts(self._play, line):
            if state is not None:
                found.append((len(text), state))
            text += part
        for start, end in locate_sentences(text):
            yield text[start:end], tuple(state for at, state in found if start <= at < end)

    def _is_first(self, state: FactState, day: WrittenDay) -> bool:
        fact = self._facts.get(state.key)
        return fact is not None and fact.states[state.number - 1].day == day.day

    def complete(self, questions: Iterable[WrittenQuestion]) -> list[WrittenQuestion]:
        """The questions, each with what explains its words and names its matters."""
        return [self._name_matters(self._explain(each)) for each in questions]

    def _explain(self, question: WrittenQuestion) -> WrittenQuestion:
        derivation = parse_derivation(question.derive)
        if derivation.form not in _OF_FEW or question.expects != "answer" or _is_path(question):
            return question
        rests = [*self._list_states(derivation), *_list_needed(question)]
        is_dated = derivation.form == "as-of"
        words = collect_topics(question.ask) if is_dated else collect_stems(question.ask)
        missing = words.difference(*(self._get_paragraph(each) for each in rests))
        return _cite(question, self._choose(question, rests, missing))

    def _list_states(self, derivation: Derivation) -> list[FactState]:
        """The states that the answer rests on."""
        if derivation.form == "history":
            states = self._facts[derivation.states[0].key].states
            last = derivation.as_of or self._play.calendar.days
            return [each.state for each in states if each.day <= last]
        if derivation.form == "same":
            return self._list_same(derivation)
        if derivation.form == "as-of":
            mention = self._facts[derivation.states[0].key].find_at(derivation.as_of or 0)
            return [mention.state] if mention is not None else []
        return list(derivation.states)

    def _list_same(self, derivation: Derivation) -> list[FactState]:
        """The states of the same attribute that have the value of the first one on a day."""
        sample = self._facts[derivation.states[0].key]
        value = sample.states[derivation.states[0].number - 1].value.text
        found = [
            each.find_at(derivation.as_of or 0)
            for each in self._facts.values()
            if each.what == sample.what
        ]
        return [each.state for each in found if each is not None and each.value.text == value]

    def _choose(
        self, question: WrittenQuestion, rests: Sequence[FactState], missing: frozenset[str]
    ) -> Iterator[StateMention]:
        """The earliest of the passages that say most of what is missing, one after the other."""
        known = {
            each.state: each
            for state in rests
            for each in self._list_related(state)
            if self._may_cite(question, each)
        }
        for _ in range(_MOST_ADDED * len(rests)):
            ranked = [
                (len(self._get_paragraph(state) & missing), -each.day, each)
                for state, each in known.items()
            ]
            said, _, best = max(ranked, key=lambda entry: entry[:2], default=(0, 0, None))
            if not said or best is None:
                return
            missing -= self._get_paragraph(best.state)
            yield best

    def _list_related(self, state: FactState) -> Iterator[StateMention]:
        """What else was stated of the same thread, arc or attribute."""
        for matter in self._matters.find(state):
            if not matter.is_entity:
                yield from matter.own
                continue
            # A value stated in passing ("came back to its $80,000") does not say what it is.
            fact = self._facts[state.key]
            if state.number > 1 and fact.states[state.number - 1].manner == "passing":
                yield fact.states[0]

    def _get_paragraph(self, state: FactState) -> frozenset[str]:
        return self._passages[state].paragraph if state in self._passages else _NOTHING

    def _get_sentence(self, state: FactState) -> frozenset[str]:
        return self._passages[state].sentence if state in self._passages else _NOTHING

    def _may_cite(self, question: WrittenQuestion, mention: StateMention) -> bool:
        is_open = mention.session not in self._play.sources.isolated
        is_heard = is_open or mention.session == question.session
        return is_heard and mention.day <= (question.from_ or 0)

    def _name_matters(self, question: WrittenQuestion) -> WrittenQuestion:
        """The question with a sentence for each name that none of its sentences tells."""
        if question.expects != "answer":
            return question
        derivation = parse_derivation(question.derive)
        rests = self._list_states(derivation)
        # A list names its members in the answer alone.
        is_list = derivation.form == "same"
        asked = collect_stems(f"{question.ask} {question.answer}" if is_list else question.ask)
        for state in dict.fromkeys((*rests, *_list_needed(question))):
            for matter in self._matters.find(state):
                for name in matter.names:
                    found = self._find_name(question, rests, state, matter, name & asked)
                    question = _cite(question, found)
                question = _cite(question, self._list_parts(question, matter, asked))
        return question

    def _list_parts(
        self, question: WrittenQuestion, matter: Matter, asked: frozenset[str]
    ) -> list[StateMention]:
        """What says the part of each person whom the question names, and what came in its month."""
        cited = {*self._list_states(parse_derivation(question.derive)), *_list_needed(question)}
        telling = [mention for name, mention in matter.people if name <= asked]
        if matter.dated is not None and matter.dated[0] in question.ask:
            telling.append(matter.dated[1])
        return [
            mention
            for mention in telling
            if mention.state not in cited
            and self._may_cite(question, mention)
            and self._holds(question, mention)
        ]

    def _find_name(
        self,
        question: WrittenQuestion,
        rests: Sequence[FactState],
        state: FactState,
        matter: Matter,
        name: Name,
    ) -> Iterator[StateMention]:
        """A sentence with a name: of the same paragraph, else an earlier one, else a later one."""
        statements = {each.state: each for each in (*matter.own, *matter.others)}
        cited = [each for each in (*rests, *_list_needed(question)) if each in statements]
        if not name or any(self._get_sentence(each) & name for each in cited):
            return
        day = statements[state].day
        telling = [
            each
            for each in statements.values()
            if self._get_sentence(each.state) & name
            and self._may_cite(question, each)
            and self._holds(question, each)
        ]
        here = self._get_paragraph(state)

        def rank(mention: StateMention) -> tuple[object, ...]:
            is_before = mention.day <= day
            return (
                self._get_paragraph(mention.state) is here,
                mention in matter.own,
                is_before,
                # "Takes over from Rahul" is explained by what Rahul had.
                mention.state.key == state.key,
                len(self._get_sentence(mention.state) & name),
                mention.day if is_before else -mention.day,
            )

        yield from sorted(telling, key=rank)[-1:]

    def _holds(self, question: WrittenQuestion, mention: StateMention) -> bool:
        """Whether a sentence may be part of a path, of which each record is in force."""
        if not _is_path(question):
            return True
        lasting = [
            state for state in self._passages[mention.state].states if state.key in self._lasting
        ]
        return all(self._is_in_force(question, each) for each in lasting)

    def _is_in_force(self, question: WrittenQuestion, state: FactState) -> bool:
        fact = self._facts[state.key]
        days = (question.from_ or 0, question.until or self._play.calendar.days)
        found = [fact.find_at(day) for day in days]
        return all(each is not None and each.state == state for each in found)


def _is_path(question: WrittenQuestion) -> bool:
    """Whether a question leads over several records, which are in force while it is asked."""
    return question.kind in HOPS and not question.derive.startswith("as-of")


def _list_needed(question: WrittenQuestion) -> list[FactState]:
    return [state for each in question.needs if (state := parse_state(each)) is not None]


def _cite(question: WrittenQuestion, added: Iterable[StateMention]) -> WrittenQuestion:
    needs = [*question.needs, *(str(each.state) for each in added)]
    return msgspec.structs.replace(question, needs=needs)
