"""What every scene of one world shares: the cast, the words, the calendar, the deck."""

from dataclasses import dataclass, field
from functools import cache

from recall_bench.core.question import PRINCIPAL
from recall_bench.errors import Malformed
from recall_bench.world import values
from recall_bench.world.casting import Cast
from recall_bench.world.chance import Bag, Chance
from recall_bench.world.dates import Dates
from recall_bench.world.ledger import Canary, Thread
from recall_bench.world.novelty import Said
from recall_bench.world.templates import Deck, Filling, Placeholder, Template, parse
from recall_bench.world.values import Value


@cache
def template(source: str) -> Template:
    """The parsed template, parsed once."""
    return parse(source)


@dataclass(slots=True)
class Stage:
    """The things all threads of a world draw from."""

    seed: int
    """What all chance of this world comes from."""
    is_authored: bool
    """Whether names and values are those the authors wrote."""
    cast: Cast
    words: dict[str, list[str]]
    dates: Dates
    deck: Deck
    where: str
    """What messages call the sources."""
    week: tuple[str, ...] = ("normal",) * 7
    """The usual level of each weekday."""
    said: Said = field(default_factory=Said)
    _bags: dict[str, Bag] = field(default_factory=dict)
    _incidental: Chance = field(init=False)
    _canaries: Chance = field(init=False)

    def __post_init__(self) -> None:
        self._incidental = Chance(self.seed, "incidental")
        self._canaries = Chance(self.seed, "canary")

    def incidental(self, name: str) -> str:
        """Something that is no fact: a word of a list, somebody of a group, a number, a time."""
        if name.startswith("@"):
            return self._listed(name[1:])
        kind, _, bounds = name.partition(":")
        low, _, high = bounds.partition("-")
        if kind == "n":
            return str(self._incidental.between(int(low), int(high)))
        return values.clock([low, high, 5], self._incidental).text

    def workday(self, day: int, way: int = 1) -> int:
        """The day, or the next one that way that is no weekend to this persona."""
        while (weekday := self.dates.weekday(day)) >= _SATURDAY and self.week[weekday] in _REST:
            day += way
        return day

    def canary(self) -> str:
        """A string found nowhere else."""
        word = self._canaries.one(_CANARY_WORDS)
        return f"{word}-{values.code('#??#?', self._canaries).text}"

    def _listed(self, name: str) -> str:
        things = self.words.get(name)
        if things:
            return things[self._bag(name, len(things)).draw()]
        people = self.cast.group(name)
        if not people:
            raise Malformed(self.where, f"{{@{name}}} is neither a word list nor a group; add it")
        return people[self._bag(name, len(people)).draw()].short

    def _bag(self, name: str, size: int) -> Bag:
        bag = self._bags.get(name)
        if bag is None:
            bag = self._bags[name] = Bag(size, Chance(self.seed, "words", name))
        return bag


_REDRAWS = 4
_SATURDAY = 5
_REST = frozenset({"off", "quiet"})

_CANARY_WORDS = (
    "BRASTIN CLOVEX DRUMET FESKAR GLINTO HARVOX JUSKEL KRENOV LUMPET MIRVAN NOXTIL PRAVEL QUINTAR "
    "RUSKET SOLVIN TREMAL VARNOK WEXLIN YUSTEN ZELPAR"
).split()


@dataclass(slots=True)
class Scene:
    """One thread on one day: what its placeholders mean there."""

    stage: Stage
    day: int
    thread: Thread | None = None
    session: str = PRINCIPAL
    met: set[str] = field(default_factory=set)
    """People already named in full in this block."""
    passing: set[str] = field(default_factory=set)
    """People of a group who passed through this block."""
    extra: dict[str, str] = field(default_factory=dict)
    """Further words, for questions: `it`, `month`, `date`."""

    def fill(self, hole: Placeholder) -> Filling:
        """What goes into the hole; Malformed where nothing of that name is known."""
        name = hole.name
        if name in self.extra:
            return Filling(self.extra[name])
        if self.thread is not None and name in self.thread.held:
            return self._value(hole, self.thread.held[name])
        if name.startswith(("@", "n:", "t:")):
            return Filling(self._incidental(name))
        plain = self._plain(name)
        if plain is None:
            whose = f" of {self.thread.source}" if self.thread else ""
            raise Malformed(
                self.stage.where,
                f"a template{whose} holds {{{name}}}, which nothing defines; correct it",
            )
        return Filling(plain)

    def _incidental(self, name: str) -> str:
        """Something incidental; nobody is drawn twice into one block."""
        drawn = self.stage.incidental(name)
        if self.stage.cast.has_group(name[1:]):
            for _ in range(_REDRAWS):
                if drawn not in self.passing:
                    break
                drawn = self.stage.incidental(name)
            self.passing.add(drawn)
        return drawn

    def _plain(self, name: str) -> str | None:
        dates = self.stage.dates
        if name == "today":
            return dates.heading(self.day)
        if name.startswith("date:"):
            return dates.shown(int(name[5:]))
        return None if self.thread is None else self._of_thread(name, self.thread)

    def _of_thread(self, name: str, thread: Thread) -> str | None:
        if name == "name":
            return thread.name
        if name == "began":
            return self.stage.dates.shown(thread.began if thread.happenings else self.day)
        if name == "canary":
            found = self.stage.canary()
            thread.canaries.append(Canary(found, self.session, self.day))
            return found
        return None

    def _value(self, hole: Placeholder, held: list[Value]) -> Filling:
        if hole.form == "was":
            return Filling(held[-2].text if len(held) > 1 else held[-1].text)
        value = held[-1]
        if value.kind != "person":
            return Filling(value.text, states=hole.name)
        return self._person(value.text, hole)

    def _person(self, name: str, hole: Placeholder) -> Filling:
        person = self.stage.cast.people.get(name)
        if person is None:
            return Filling(name, states=hole.name)
        if hole.form.lower() in {"they", "them", "their", "theirs"}:
            return Filling(person.form(hole.form))
        is_short = hole.form == "short" or (not hole.form and name in self.met)
        self.met.add(name)
        return Filling(person.short if is_short else person.name, states=hole.name)
