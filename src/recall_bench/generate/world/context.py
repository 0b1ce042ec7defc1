"""What every scene of one world shares: the cast, the words, the calendar, the deck."""

from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b

from recall_bench.core.errors import Malformed
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.core.sentences import split_sentences
from recall_bench.generate.world import fact_values
from recall_bench.generate.world.cast import Cast
from recall_bench.generate.world.fact_values import Dates, FactValue
from recall_bench.generate.world.ledger import PlantedCanary, Thread
from recall_bench.generate.world.random_stream import RandomStream, ShuffleBag
from recall_bench.generate.world.templates import (
    AlternativePicker,
    Placeholder,
    PlaceholderValue,
    TextTemplate,
    parse_template,
)

_BITS = 1 << 23
_PROBES = 3
_SHORT = 6
"""Sentences of fewer words repeat in anybody's log."""

Trace = list[tuple[int, int]]
"""The bits of one sentence: byte and mask."""


class SentenceFilter:
    """The sentences told so far."""

    def __init__(self) -> None:
        self._seen = bytearray(_BITS // 8)

    def compute_traces(self, text: str) -> list[Trace]:
        """What the longer sentences of a text leave in memory."""
        long = (sentence for sentence in split_sentences(text) if sentence.count(" ") >= _SHORT - 1)
        return [_compute_trace(sentence) for sentence in long]

    def is_new(self, traces: list[Trace]) -> bool:
        """Whether none of these sentences was told before."""
        seen = self._seen
        return not any(all(seen[byte] & bit for byte, bit in trace) for trace in traces)

    def add(self, traces: list[Trace]) -> None:
        """These have been told."""
        for trace in traces:
            for byte, bit in trace:
                self._seen[byte] |= bit


def _compute_trace(sentence: str) -> Trace:
    digest = blake2b(sentence.encode(), digest_size=4 * _PROBES).digest()
    found = []
    for start in range(0, len(digest), 4):
        place = int.from_bytes(digest[start : start + 4], "big") % _BITS
        found.append((place >> 3, 1 << (place & 7)))
    return found


@cache
def get_template(source: str) -> TextTemplate:
    """The parsed template, parsed once."""
    return parse_template(source)


@dataclass(slots=True)
class WorldContext:
    """The things all threads of a world draw from."""

    seed: int
    """What all chance of this world comes from."""
    is_authored: bool
    """Whether names and values are those the authors wrote."""
    cast: Cast
    words: dict[str, list[str]]
    dates: Dates
    deck: AlternativePicker
    where: str
    """What messages call the sources."""
    week: tuple[str, ...] = ("normal",) * 7
    """The usual level of each weekday."""
    said: SentenceFilter = field(default_factory=SentenceFilter)
    _bags: dict[str, ShuffleBag] = field(default_factory=dict)
    _incidental: RandomStream = field(init=False)
    _canaries: RandomStream = field(init=False)

    def __post_init__(self) -> None:
        self._incidental = RandomStream(self.seed, "incidental")
        self._canaries = RandomStream(self.seed, "canary")

    def draw_incidental(self, name: str) -> str:
        """Something that is no fact: a word of a list, somebody of a group, a number, a time."""
        if name.startswith("@"):
            return self._draw_from_list(name[1:])
        kind, _, bounds = name.partition(":")
        low, _, high = bounds.partition("-")
        if kind == "n":
            return str(self._incidental.draw_between(int(low), int(high)))
        return fact_values.draw_time([low, high, 5], self._incidental).text

    def find_workday(self, day: int, way: int = 1) -> int:
        """The day, or the next one that way that is no weekend to this persona."""
        while (weekday := self.dates.get_weekday(day)) >= _SATURDAY and self.week[weekday] in _REST:
            day += way
        return day

    def make_canary(self) -> str:
        """A string found nowhere else."""
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

    stage: WorldContext
    day: int
    thread: Thread | None = None
    session: str = PRINCIPAL
    met: set[str] = field(default_factory=set)
    """People already named in full in this block."""
    passing: set[str] = field(default_factory=set)
    """People of a group who passed through this block."""
    extra: dict[str, str] = field(default_factory=dict)
    """Further words, for questions: `it`, `month`, `date`."""

    def fill(self, hole: Placeholder) -> PlaceholderValue:
        """What goes into the hole; Malformed where nothing of that name is known."""
        name = hole.name
        if name in self.extra:
            return PlaceholderValue(self.extra[name])
        if self.thread is not None and name in self.thread.held:
            return self._fill_value(hole, self.thread.held[name])
        if name.startswith(("@", "n:", "t:")):
            return PlaceholderValue(self._draw_incidental(name))
        plain = self._fill_plain(name)
        if plain is None:
            whose = f" of {self.thread.source}" if self.thread else ""
            raise Malformed(
                self.stage.where,
                f"a template{whose} holds {{{name}}}, which nothing defines; correct it",
            )
        return PlaceholderValue(plain)

    def _draw_incidental(self, name: str) -> str:
        """Something incidental; nobody is drawn twice into one block."""
        drawn = self.stage.draw_incidental(name)
        if self.stage.cast.is_group(name[1:]):
            for _ in range(_REDRAWS):
                if drawn not in self.passing:
                    break
                drawn = self.stage.draw_incidental(name)
            self.passing.add(drawn)
        return drawn

    def _fill_plain(self, name: str) -> str | None:
        dates = self.stage.dates
        if name == "today":
            return dates.format_heading(self.day)
        if name.startswith("date:"):
            return dates.format_day(int(name[5:]))
        return None if self.thread is None else self._fill_from_thread(name, self.thread)

    def _fill_from_thread(self, name: str, thread: Thread) -> str | None:
        if name == "name":
            return thread.name
        if name == "began":
            return self.stage.dates.format_day(thread.began if thread.happenings else self.day)
        if name == "canary":
            found = self.stage.make_canary()
            thread.canaries.append(PlantedCanary(found, self.session, self.day))
            return found
        return None

    def _fill_value(self, hole: Placeholder, held: list[FactValue]) -> PlaceholderValue:
        if hole.form == "was":
            return PlaceholderValue(held[-2].text if len(held) > 1 else held[-1].text)
        value = held[-1]
        if value.kind != "person":
            return PlaceholderValue(value.text, states=hole.name)
        return self._fill_person(value.text, hole)

    def _fill_person(self, name: str, hole: Placeholder) -> PlaceholderValue:
        person = self.stage.cast.people.get(name)
        if person is None:
            return PlaceholderValue(name, states=hole.name)
        if hole.form.lower() in {"they", "them", "their", "theirs"}:
            return PlaceholderValue(person.inflect_pronoun(hole.form))
        is_short = hole.form == "short" or (not hole.form and name in self.met)
        self.met.add(name)
        return PlaceholderValue(person.short if is_short else person.name, states=hole.name)
