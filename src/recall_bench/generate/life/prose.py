"""Text whose values are slots, in wordings that were not used before."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from recall_bench.core.sentences import split_sentences
from recall_bench.datasets.dataset_statistics import mask_sentence
from recall_bench.generate.life.names import get_life_template
from recall_bench.generate.world.cast import Cast
from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.world.random_stream import RandomStream, ShuffleBag
from recall_bench.generate.world.templates import (
    AlternativePicker,
    FilledText,
    PlaceholderResolver,
    PlaceholderValue,
    capitalise,
)
from recall_bench.generate.written.slots import FactState, parse_state

_DRAWS = 14
_LONG = 6
"""Shorter sentences may repeat."""
_LEAD = "and "
"""Stands before a text that is to be rendered as the middle of a sentence."""
MENTION = "?"
"""Marks the plain mention of an entity, which may become a slot."""


class SlotMark(msgspec.Struct, frozen=True):
    """A value in a text: its state, or the plain mention of an entity."""

    state: FactState | None
    start: int
    end: int


class LifeText(msgspec.Struct, frozen=True):
    """A piece of text with the places of its values."""

    text: str
    marks: tuple[SlotMark, ...] = ()

    def list_states(self) -> list[FactState]:
        """The states that it tells."""
        return [mark.state for mark in self.marks if mark.state is not None]

    def write_source(self, values: "dict[FactState, str]") -> str:
        """The text with slots; a value that starts a sentence keeps its capital."""
        pieces: list[str] = []
        reached = 0
        for mark in self.marks:
            if mark.state is None:
                continue
            shown = self.text[mark.start : mark.end]
            form = find_form(values[mark.state], shown)
            if form is None:
                continue
            pieces += [self.text[reached : mark.start], f"{{{mark.state}{form}}}"]
            reached = mark.end
        return tidy_spaces("".join([*pieces, self.text[reached:]]))


_YEAR = re.compile(r"\b\d{4}\b")


def find_form(value: str, shown: str) -> str | None:
    """The form of a slot that renders a value as shown; None if no form does."""
    if value == shown:
        return ""
    if value.startswith("@"):
        return ":year" if _YEAR.search(shown) else ""
    return ":cap" if value[:1].upper() + value[1:] == shown else None


def join_texts(texts: Iterable[LifeText]) -> LifeText:
    """Several texts as one."""
    joined = ""
    marks: list[SlotMark] = []
    for text in texts:
        if not text.text.strip():
            continue
        if joined:
            joined += " "
        at = len(joined)
        marks += [SlotMark(mark.state, at + mark.start, at + mark.end) for mark in text.marks]
        joined += text.text
    return LifeText(joined, tuple(marks))


@dataclass(slots=True)
class TopicNames:
    """The people named so far in one topic: full name first, then the first name."""

    cast: Cast
    met: set[str] = field(default_factory=set)
    """Names, and the states of facts that one stated."""

    def fill_person(self, name: str, form: str, state: FactState | None) -> PlaceholderValue:
        """The person's name or pronoun; the full name where it states a fact."""
        person = self.cast.people.get(name)
        if person is None:
            return PlaceholderValue(name, states=str(state) if state else None)
        if form.lower() in {"they", "them", "their", "theirs"}:
            return PlaceholderValue(person.inflect_pronoun(form))
        is_met = name in self.met
        self.met.add(name)
        if form in {"first", "short"} or (is_met and form != "full" and state is None):
            return PlaceholderValue(person.short)
        return PlaceholderValue(person.name, states=str(state) if state else None)


class LifeScope(PlaceholderResolver):
    """Fills placeholders of one text; subclasses know the names."""

    names: TopicNames


class FreshWriter:
    """Renders texts in wordings whose masked form was not used before, as far as there are any."""

    def __init__(self, seed: int, words: dict[str, list[str]]) -> None:
        self._picker = AlternativePicker(seed)
        self._seed = seed
        self._words = words
        self._bags: dict[str, ShuffleBag] = {}
        self._seen: set[str] = set()
        """The sentences so far with names and figures masked."""
        self._told: set[str] = set()
        """The sentences so far, word for word."""
        self._skeletons: dict[str, list[str]] = {}
        """The masked sentences of each text drawn so far: three of four draws repeat a text."""
        self._long_sentences: dict[str, list[str]] = {}
        """Its long sentences as they are."""

    def draw_word(self, name: str) -> PlaceholderValue:
        """A word of a list; all are used before one repeats."""
        words = self._words[name]
        bag = self._bags.get(name)
        if bag is None:
            bag = self._bags[name] = ShuffleBag(
                len(words), RandomStream(self._seed, "life", "words", name)
            )
        return PlaceholderValue(words[bag.draw()])

    def write(
        self, variants: Sequence[str], scope: LifeScope, *, may_skip: bool = False
    ) -> LifeText:
        """One of the variants, filled; empty if there is none.

        What may be skipped is left out rather than said again word for word.
        """
        if not variants:
            return LifeText("")
        met = frozenset(scope.names.met)
        place = "\0".join(variants)
        drawn: list[tuple[int, FilledText, list[str], set[str]]] = []
        for _ in range(_DRAWS):
            scope.names.met = set(met)
            index = self._picker.pick_index(place, -1, len(variants))
            filled = self._picker.render(get_life_template(variants[index]), scope)
            skeletons = self._mask(filled.text)
            repeated = sum(each in self._seen for each in skeletons)
            drawn.append((repeated, filled, skeletons, scope.names.met))
            if not repeated:
                break
        _, filled, skeletons, now_met = min(drawn, key=lambda each: each[0])
        sentences = self._long_sentences[filled.text]
        if may_skip and not self._told.isdisjoint(sentences):
            scope.names.met = set(met)
            return LifeText("")
        scope.names.met = now_met
        self._seen.update(skeletons)
        self._told.update(sentences)
        return _convert(filled)

    def _mask(self, text: str) -> list[str]:
        if text not in self._skeletons:
            found = self._long_sentences[text] = _list_long(text)
            self._skeletons[text] = [mask_sentence(each, frozenset()) for each in found]
        return self._skeletons[text]

    def pick_index(self, name: str, size: int) -> int:
        """The next of several things; all are used before one repeats."""
        return self._picker.pick_index(name, -2, size)

    def fill_inside(self, template: str, scope: LifeScope) -> str:
        """A text that stands inside sentences: a value in front keeps its small letter."""
        return self.fill(_LEAD + template, scope).removeprefix(_LEAD.strip()).lstrip()

    def fill(self, template: str, scope: LifeScope) -> str:
        """A text outside the days, such as a heading or a question."""
        return tidy_spaces(self._picker.render(get_life_template(template), scope).text)


def _convert(filled: FilledText) -> LifeText:
    """The text without what an empty alternative leaves in front, and with a capital."""
    bare = filled.text.lstrip()
    cut = len(filled.text) - len(bare)
    marks = tuple(
        SlotMark(
            None if mark.slot == MENTION else parse_state(mark.slot),
            mark.start - cut,
            mark.end - cut,
        )
        for mark in filled.marks
    )
    return LifeText(capitalise(bare) if bare else "", marks)


def _list_long(text: str) -> list[str]:
    return [each for each in split_sentences(text) if each.count(" ") >= _LONG - 1]


_SPACES = re.compile(r"(?<=\S)  +")
_LOOSE = re.compile(r" +(?=[,.;:?!](?:\s|$))")
_BEFORE_MARK = tuple(f" {mark}" for mark in ",.;:?!")


def tidy_spaces(text: str) -> str:
    """The text without the spaces that an empty alternative leaves."""
    # Most texts have none, which a plain search tells faster than a pattern.
    if any(each in text for each in _BEFORE_MARK):
        text = _LOOSE.sub("", text)
    return (_SPACES.sub(" ", text) if "  " in text else text).strip()


def capitalise_heading(heading: str) -> str:
    """The heading with a capital, unless an identifier such as `ledger-api` starts it."""
    first = heading.partition(" ")[0]
    is_identifier = re.search(r"[\d_]|\w-\w", first) is not None
    return heading if is_identifier else heading[:1].upper() + heading[1:]


def show_value(value: FactValue) -> str:
    """A value as a planned state of a written edition has it."""
    return f"@{value.day}" if value.day is not None else value.text
