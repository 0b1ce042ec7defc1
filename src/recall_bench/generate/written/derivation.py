"""How the answer of a question follows from the facts: the forms of `derive`."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from recall_bench.core.languages import Language, build_word_start, get_language
from recall_bench.core.sentences import split_sentences
from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.written.renderer import RenderedEdition, WrittenStatement
from recall_bench.generate.written.slots import FactState, parse_state
from recall_bench.generate.written.values import ValueProblem, compute_total

_DAY = re.compile(r"@(\d+)")


class UnderivableAnswer(Exception):
    """A `derive` that cannot be followed; the message says why."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """A parsed `derive`."""

    form: str
    states: tuple[FactState, ...] = ()
    words: tuple[str, ...] = ()
    as_of: int | None = None
    is_numbered: bool = False
    """Whether the first key names one of its states, as `crew-limit.1` does."""


@dataclass(slots=True)
class AnswerFromFacts:
    """What follows from the facts."""

    atoms: list[str]
    states: list[FactState]
    """The states it rests on."""
    stale: list[str] = field(default_factory=list)
    until: int | None = None
    """The last day on which it holds, where a later state ends it."""


_WORD_FORMS = ("absent", "unknown")
FORMS = (
    "value latest as-of history list count sum difference days date order most least yes no "
    "same absent unknown secret"
).split()


def parse_derivation(written: str) -> Derivation:
    """Parse a `derive`; UnderivableAnswer if it has none of the forms."""
    form, *rest = written.split()
    if form not in FORMS:
        raise UnderivableAnswer(f"derive: {form} is unknown; use {', '.join(FORMS)}")
    if not rest:
        raise UnderivableAnswer(f"derive: {form} needs keys or words after it")
    if form in _WORD_FORMS:
        return Derivation(form, words=tuple(word.casefold() for word in rest))
    days = [int(found[1]) for part in rest if (found := _DAY.fullmatch(part))]
    keys = [part for part in rest if not _DAY.fullmatch(part)]
    states = tuple(_parse_key(part) for part in keys)
    if form in ("as-of", "same") and len(days) != 1:
        raise UnderivableAnswer(f"derive: write {form} KEY @60")
    return Derivation(
        form, states, as_of=days[0] if days else None, is_numbered="." in "".join(keys[:1])
    )


def _parse_key(written: str) -> FactState:
    state = parse_state(written)
    if state is None:
        raise UnderivableAnswer(f"derive: {written!r} is not a key")
    return state


class AnswerDeriver:
    """Derives answers from the facts of a rendered edition."""

    def __init__(self, edition: RenderedEdition, language: Language | None = None) -> None:
        self._edition = edition
        self.language = language or get_language(edition.sources.story.language)
        """The language of the answers."""
        self.style = edition.values.style
        self._numbers: dict[str, list[int]] = {}
        for state in sorted(edition.statements):
            self._numbers.setdefault(state.key, []).append(state.number)

    def derive(self, derivation: Derivation) -> AnswerFromFacts:
        """The answer; UnderivableAnswer if a state is not stated or has no fitting value."""
        if derivation.form in _WORD_FORMS:
            self._check_absence(derivation)
            return AnswerFromFacts([], [])
        for state in derivation.states:
            self.get_statement(state)
        return _DERIVERS[derivation.form](self, derivation)

    def get_statement(self, state: FactState) -> WrittenStatement:
        """Where a state is stated first."""
        places = self._edition.statements.get(state)
        if not places:
            raise UnderivableAnswer(f"{state} is stated on no day")
        return places[0]

    def get_value(self, state: FactState) -> FactValue:
        """The value of a state."""
        return self._edition.values.get(state)

    def format_value(self, state: FactState) -> str:
        """The value as an answer gives it: a date with its year."""
        return self._edition.values.render(state, "year" if self.get_value(state).day else "")

    def format_day(self, day: int) -> str:
        """A story day as a date with its year."""
        return self._edition.values.dates.format_day(day)

    def list_states(self, key: str, until: int | None = None) -> list[FactState]:
        """The states of a fact that are stated, up to a day."""
        found = [FactState(key, number) for number in self._numbers.get(key, [])]
        return [state for state in found if until is None or self.get_statement(state).day <= until]

    def list_alike(self, key: str) -> list[str]:
        """The planned facts that tell the same of different things, such as all owners."""
        facts = self._edition.sources.story.facts
        if key not in facts:
            raise UnderivableAnswer(f"derive: {key} is not planned, so nothing is like it")
        return self._alike[facts[key].what]

    @cached_property
    def _alike(self) -> Mapping[str, list[str]]:
        """The planned facts by what they tell."""
        found: dict[str, list[str]] = {}
        for key, fact in self._edition.sources.story.facts.items():
            found.setdefault(fact.what, []).append(key)
        return found

    def get_subject(self, state: FactState) -> str:
        """What a planned fact is about."""
        return self._edition.sources.story.facts[state.key].about

    def label(self, state: FactState) -> str:
        """How a fact is named in an answer: what it is about, else its phrase."""
        planned = self._edition.sources.story.facts.get(state.key)
        if planned is not None and self.get_value(state).kind != "phrase":
            return planned.about
        return self.format_value(state)

    def get_moment(self, state: FactState) -> int:
        """The story day of a date fact, else the day on which the state is stated."""
        day = self.get_value(state).day
        return self.get_statement(state).day if day is None else day

    def _check_absence(self, derivation: Derivation) -> None:
        if derivation.words in self._edition.absent:
            return
        told_in = get_language(self._edition.sources.story.language)
        patterns = [re.compile(build_word_start(word, told_in)) for word in derivation.words]
        longest = max(derivation.words, key=len)
        for day, sentence in self._iterate_sentences(longest):
            low = sentence.casefold()
            if all(pattern.search(low) for pattern in patterns):
                raise UnderivableAnswer(
                    f"{' '.join(derivation.words)} is called absent, but day {day} says: "
                    f"“{sentence}”"
                )
        self._edition.absent.add(derivation.words)

    def _iterate_sentences(self, word: str) -> Iterator[tuple[int, str]]:
        """Every sentence of a line that holds a word in lower case, with its day.

        Few lines do, and only those are split.
        """
        for day, text, low in self._texts:
            if word not in low:
                continue
            for line in text.splitlines():
                if word in line.casefold():
                    yield from ((day, sentence) for sentence in split_sentences(line))

    @cached_property
    def _texts(self) -> list[tuple[int, str, str]]:
        """The text of every day, as it is and in lower case."""
        everything = (*self._edition.texts.items(), *self._edition.dialogues.items())
        return [(day, text, text.casefold()) for day, text in everything]


def _derive_value(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    state = derivation.states[0]
    return AnswerFromFacts([deriver.format_value(state)], [state])


def _derive_latest(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    """The named state is the latest one when it is asked; `latest key` means the last of all."""
    state = derivation.states[0]
    states = deriver.list_states(state.key)
    if not derivation.is_numbered:
        state = states[-1]
    place = states.index(state)
    later = states[place + 1 :]
    until = deriver.get_statement(later[0]).day - 1 if later else None
    now = deriver.format_value(state)
    old = [deriver.format_value(each) for each in states[:place]]
    return AnswerFromFacts(
        [now], [state], stale=[each for each in dict.fromkeys(old) if each != now], until=until
    )


def _derive_as_of(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    states = deriver.list_states(derivation.states[0].key, derivation.as_of)
    if not states:
        raise UnderivableAnswer(
            f"{derivation.states[0].key} is not stated by day {derivation.as_of}"
        )
    return AnswerFromFacts([deriver.format_value(states[-1])], [states[-1]])


def _derive_history(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    """All states stated so far, or up to a day: `history KEY @60`."""
    states = deriver.list_states(derivation.states[0].key, derivation.as_of)
    return AnswerFromFacts([deriver.format_value(state) for state in states], states)


def _derive_same(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    """What all facts of one kind are about that have the value of the first on a day."""
    state = derivation.states[0]
    wanted = deriver.get_value(state).text
    found = [
        latest
        for key in deriver.list_alike(state.key)
        if (states := deriver.list_states(key, derivation.as_of))
        and deriver.get_value(latest := states[-1]).text == wanted
    ]
    return AnswerFromFacts([deriver.get_subject(each) for each in found], found)


def _derive_list(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    states = list(derivation.states)
    return AnswerFromFacts([deriver.format_value(state) for state in states], states)


def _derive_count(_deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    return AnswerFromFacts([str(len(derivation.states))], list(derivation.states))


def _derive_sum(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    return _derive_total(deriver, derivation, [1] * len(derivation.states))


def _derive_difference(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    if len(derivation.states) != 2:
        raise UnderivableAnswer("derive: difference needs two keys")
    amounts = [deriver.get_value(state).amount or 0 for state in derivation.states]
    return _derive_total(deriver, derivation, [1, -1] if amounts[0] >= amounts[1] else [-1, 1])


def _derive_total(
    deriver: AnswerDeriver, derivation: Derivation, signs: list[int]
) -> AnswerFromFacts:
    values = [deriver.get_value(state) for state in derivation.states]
    try:
        total = compute_total(zip(signs, values, strict=True), deriver.style)
    except ValueProblem as problem:
        raise UnderivableAnswer(f"derive: {problem}") from None
    return AnswerFromFacts([total.text], list(derivation.states))


def _derive_days(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    if len(derivation.states) != 2:
        raise UnderivableAnswer("derive: days needs two keys")
    first, second = (deriver.get_moment(state) for state in derivation.states)
    days = deriver.language.days.format(n=abs(second - first))
    return AnswerFromFacts([days], list(derivation.states))


def _derive_date(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    state = derivation.states[0]
    return AnswerFromFacts([deriver.format_day(deriver.get_moment(state))], [state])


def _derive_order(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    ordered = sorted(derivation.states, key=deriver.get_moment)
    if len({deriver.get_moment(state) for state in ordered}) < len(ordered):
        raise UnderivableAnswer("derive: two of the states have the same day, so no order follows")
    return AnswerFromFacts([deriver.label(state) for state in ordered], ordered)


def _derive_most(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    return _derive_extreme(deriver, derivation, 1)


def _derive_least(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    return _derive_extreme(deriver, derivation, -1)


def _derive_extreme(deriver: AnswerDeriver, derivation: Derivation, sign: int) -> AnswerFromFacts:
    measured = {state: _measure(deriver.get_value(state)) for state in derivation.states}
    ranked = sorted(derivation.states, key=lambda state: -sign * measured[state])
    if len(ranked) < 2 or measured[ranked[0]] == measured[ranked[1]]:
        raise UnderivableAnswer("derive: no single one is the largest or smallest")
    return AnswerFromFacts([deriver.label(ranked[0])], list(derivation.states))


def _measure(value: FactValue) -> float:
    if value.day is not None:
        return value.day
    if value.kind == "time":
        hours, _, minutes = value.text.partition(":")
        return int(hours) * 60 + int(minutes)
    if value.amount is None:
        raise UnderivableAnswer(f"derive: {value.text} cannot be compared")
    return float(value.amount)


def _derive_yes(deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    return AnswerFromFacts([deriver.language.yes[0]], list(derivation.states))


def _derive_no(_deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    return AnswerFromFacts([], list(derivation.states))


def _derive_secret(_deriver: AnswerDeriver, derivation: Derivation) -> AnswerFromFacts:
    return AnswerFromFacts([], list(derivation.states))


_DERIVERS: Mapping[str, Callable[[AnswerDeriver, Derivation], AnswerFromFacts]] = {
    "value": _derive_value,
    "latest": _derive_latest,
    "as-of": _derive_as_of,
    "history": _derive_history,
    "same": _derive_same,
    "list": _derive_list,
    "count": _derive_count,
    "sum": _derive_sum,
    "difference": _derive_difference,
    "days": _derive_days,
    "date": _derive_date,
    "order": _derive_order,
    "most": _derive_most,
    "least": _derive_least,
    "yes": _derive_yes,
    "no": _derive_no,
    "secret": _derive_secret,
}
