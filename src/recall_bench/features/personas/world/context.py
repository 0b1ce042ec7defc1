"""What all text of one world shares, and what a placeholder means in one block."""

from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b

from recall_bench.core.errors import Malformed
from recall_bench.core.random_stream import RandomStream, ShuffleBag
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.features.personas.world import fact_values
from recall_bench.features.personas.world.cast import Cast
from recall_bench.features.personas.world.fact_values import Dates, FactValue
from recall_bench.features.personas.world.ledger import PlantedCanary, Thread
from recall_bench.features.personas.world.templates import (
    AlternativePicker,
    Placeholder,
    PlaceholderValue,
    TextTemplate,
    parse_template,
)
from recall_bench.text.sentences import split_sentences

_BITS = 1 << 23
_PROBES = 3
_SHORT = 6
"""Sentences of fewer words may repeat."""

Trace = list[tuple[int, int]]
"""The filter bits of one sentence: byte and mask."""


class SentenceFilter:
    """The sentences written so far, in a fixed amount of memory.

    A Bloom filter: it never forgets a sentence, and rarely takes a new one for an old one, which
    only costs another draw.
    """

    def __init__(self) -> None:
        self._seen = bytearray(_BITS // 8)

    def compute_traces(self, text: str) -> list[Trace]:
        """The filter bits of the longer sentences of a text."""
        long = (sentence for sentence in split_sentences(text) if sentence.count(" ") >= _SHORT - 1)
        return [_compute_trace(sentence) for sentence in long]

    def is_new(self, traces: list[Trace]) -> bool:
        """Whether none of these sentences was written before."""
        fillings = self._seen
        return not any(all(fillings[byte] & bit for byte, bit in trace) for trace in traces)

    def add(self, traces: list[Trace]) -> None:
        """Mark these sentences as written."""
        for trace in traces:
            for byte, bit in trace:
                self._seen[byte] |= bit


def _compute_trace(sentence: str) -> Trace:
    digest = blake2b(sentence.encode(), digest_size=4 * _PROBES).digest()
    results = []
    for start in range(0, len(digest), 4):
        place = int.from_bytes(digest[start : start + 4], "big") % _BITS
        results.append((place >> 3, 1 << (place & 7)))
    return results


@cache
def get_template(source: str) -> TextTemplate:
    """The parsed template, cached."""
    return parse_template(source)


@dataclass(slots=True)
class WorldContext:
    """What all threads of a world draw from: cast, word lists, calendar, random streams."""

    seed: int
    """The seed of every random stream of this world."""
    is_authored: bool
    """Whether names and values are those the authors wrote (seed 0)."""
    cast: Cast
    words: dict[str, list[str]]
    dates: Dates
    picker: AlternativePicker
    where: str
    """The name of the sources in messages."""
    week: tuple[str, ...] = ("normal",) * 7
    """The usual level of each weekday."""
    seen_sentences: SentenceFilter = field(default_factory=SentenceFilter)
    _bags: dict[str, ShuffleBag] = field(default_factory=dict)
    _incidental: RandomStream = field(init=False)
    _canaries: RandomStream = field(init=False)

    def __post_init__(self) -> None:
        self._incidental = RandomStream(self.seed, "incidental")
        self._canaries = RandomStream(self.seed, "canary")

    def draw_incidental(self, name: str) -> str:
        """A detail that is no fact: a word of a list, a member of a group, a number, a time."""
        if name.startswith("@"):
            return self._draw_from_list(name[1:])
        kind, _, bounds = name.partition(":")
        low, _, high = bounds.partition("-")
        if kind == "n":
            return str(self._incidental.draw_between(int(low), int(high)))
        return fact_values.draw_time([low, high, 5], self._incidental).text

    def find_workday(self, day: int, way: int = 1) -> int:
        """The day, or the nearest working day in the direction `way`."""
        while (weekday := self.dates.get_weekday(day)) >= _SATURDAY and self.week[weekday] in _REST:
            day += way
        return day

    def make_canary(self) -> str:
        """A string that occurs nowhere else."""
        word = self._canaries.choose(_CANARY_WORDS)
        return f"{word}-{fact_values.draw_code('#??#?', self._canaries).text}"

    def _draw_from_list(self, name: str) -> str:
        things = self.words.get(name)
        if things:
            return things[self._get_bag(name, len(things)).draw()]
        people = self.cast.list_group(name)
        if not people:
            raise Malformed(self.where, f"{{@{name}}} is neither a word list nor a group; add it")
        return people[self._get_bag(name, len(people)).draw()].short

    def _get_bag(self, name: str, size: int) -> ShuffleBag:
        bag = self._bags.get(name)
        if bag is None:
            bag = self._bags[name] = ShuffleBag(size, RandomStream(self.seed, "words", name))
        return bag


_REDRAWS = 4
_SATURDAY = 5
_REST = frozenset({"off", "quiet"})

_CANARY_WORDS = (
    "BRASTIN CLOVEX DRUMET FESKAR GLINTO HARVOX JUSKEL KRENOV LUMPET MIRVAN NOXTIL PRAVEL QUINTAR "
    "RUSKET SOLVIN TREMAL VARNOK WEXLIN YUSTEN ZELPAR"
).split()


@dataclass(slots=True)
class FillContext:
    """One thread on one day: what its placeholders mean there."""

    world: WorldContext
    day: int
    thread: Thread | None = None
    session: str = PRINCIPAL
    met: set[str] = field(default_factory=set)
    """People already named in full in this block."""
    drawn_people: set[str] = field(default_factory=set)
    """Members of a group already drawn in this block."""
    extra: dict[str, str] = field(default_factory=dict)
    """Further words for questions: `it`, `month`, `date`."""

    def fill(self, placeholder: Placeholder) -> PlaceholderValue:
        """The text of the placeholder; Malformed if nothing defines its name."""
        name = placeholder.name
        if name in self.extra:
            return PlaceholderValue(self.extra[name])
        if self.thread is not None and name in self.thread.slot_values:
            return self._fill_value(placeholder, self.thread.slot_values[name])
        if name.startswith(("@", "n:", "t:")):
            return PlaceholderValue(self._draw_incidental(name))
        plain = self._fill_plain(name)
        if plain is None:
            whose = f" of {self.thread.source}" if self.thread else ""
            raise Malformed(
                self.world.where,
                f"a template{whose} holds {{{name}}}, which nothing defines; correct it",
            )
        return PlaceholderValue(plain)

    def _draw_incidental(self, name: str) -> str:
        """An incidental detail; no person is drawn twice for one block."""
        incidental = self.world.draw_incidental(name)
        if self.world.cast.is_group(name[1:]):
            for _ in range(_REDRAWS):
                if incidental not in self.drawn_people:
                    break
                incidental = self.world.draw_incidental(name)
            self.drawn_people.add(incidental)
        return incidental

    def _fill_plain(self, name: str) -> str | None:
        dates = self.world.dates
        if name == "today":
            return dates.format_heading(self.day)
        if name.startswith("date:"):
            return dates.format_day(int(name[5:]))
        return None if self.thread is None else self._fill_from_thread(name, self.thread)

    def _fill_from_thread(self, name: str, thread: Thread) -> str | None:
        if name == "name":
            return thread.name
        if name == "began":
            return self.world.dates.format_day(thread.began if thread.events else self.day)
        if name == "canary":
            canary = self.world.make_canary()
            thread.canaries.append(PlantedCanary(canary, self.session, self.day))
            return canary
        return None

    def _fill_value(
        self, placeholder: Placeholder, slot_values: list[FactValue]
    ) -> PlaceholderValue:
        if placeholder.form == "was":
            return PlaceholderValue(
                slot_values[-2].text if len(slot_values) > 1 else slot_values[-1].text
            )
        value = slot_values[-1]
        if value.kind != "person":
            return PlaceholderValue(value.text, states=placeholder.name)
        return self._fill_person(value.text, placeholder)

    def _fill_person(self, name: str, placeholder: Placeholder) -> PlaceholderValue:
        person = self.world.cast.people.get(name)
        if person is None:
            return PlaceholderValue(name, states=placeholder.name)
        if placeholder.form.lower() in {"they", "them", "their", "theirs"}:
            return PlaceholderValue(person.inflect_pronoun(placeholder.form))
        is_short = placeholder.form == "short" or (not placeholder.form and name in self.met)
        self.met.add(name)
        return PlaceholderValue(person.short if is_short else person.name, states=placeholder.name)
