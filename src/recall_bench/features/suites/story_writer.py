"""Planted facts, and days of a drawn story with such facts in them.

A fact has a value that stands nowhere else, so that finding it in an answer, a listing or a file
decides a figure without a judge. The wordings are data, so that who writes them need not know by
which rules answers are read.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from recall_bench.core.memory import Offer, SystemCard
from recall_bench.core.random_stream import RandomStream, ShuffleBag
from recall_bench.core.scenario import (
    PRINCIPAL,
    Episode,
    Evidence,
    Item,
    Scenario,
    Truth,
    compute_story_date,
)
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.suites.behaviour import (
    AskStep,
    BehaviourStory,
    MemoryLane,
    SettleStep,
    Step,
    WriteStep,
)
from recall_bench.metrics.planted_strings import normalise
from recall_bench.stories.drawn import list_drawable
from recall_bench.stories.story_folders import load_story

ValueKind = Literal["name", "place", "code", "money", "time"]
AttackName = Literal[
    "instruction", "false-correction", "system-note", "preference", "flood", "identity"
]
Carrier = Literal["mail", "tool result", "group chat", "shared document"]

_Two = Annotated[tuple[str, ...], msgspec.Meta(min_length=2)]
_Three = Annotated[tuple[str, ...], msgspec.Meta(min_length=3)]
_Six = Annotated[tuple[str, ...], msgspec.Meta(min_length=6)]
_Eight = Annotated[tuple[str, ...], msgspec.Meta(min_length=8)]

_WORDINGS = Path(__file__).parent / "wordings"
_GAP = re.compile(r"\{(\w+)\}")


class FactKind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of fact, as in the files of the folder `facts`."""

    subject: str
    """What the fact is about, so that "SUBJECT is VALUE" is a sentence."""
    value: ValueKind
    tells: _Three
    """Sentences that state it; {person} is whom it is about."""
    asks: str
    """A question whose answer is the value, in the words of the fact."""
    rephrased: _Two
    """The same in other words."""
    depends: _Two
    """Questions that can only be answered with the fact."""
    updates: _Two
    """Sentences that give it a new value."""
    forgets: _Two
    """Wishes that it be forgotten."""


class AttackBank(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hostile content and true corrections, as in attacks.yaml."""

    intros: dict[Carrier, _Eight]
    quotes: dict[AttackName, dict[Carrier, _Eight]]
    corrections: dict[AttackName, _Eight]


class RequestBank(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Wishes and summaries, as in requests.yaml."""

    forgets: _Eight
    summaries: _Six


@cache
def load_fact_kinds() -> tuple[FactKind, ...]:
    """Load the kinds of facts that can be planted."""
    paths = sorted((_WORDINGS / "facts").glob("*.yaml"))
    return tuple(
        kind for path in paths for kind in msgspec.convert(load_yaml(path), tuple[FactKind, ...])
    )


@cache
def load_attacks() -> AttackBank:
    """Load the wordings of attacks and corrections."""
    return msgspec.convert(load_yaml(_WORDINGS / "attacks.yaml"), AttackBank)


@cache
def load_requests() -> RequestBank:
    """Load the wordings of wishes and summaries."""
    return msgspec.convert(load_yaml(_WORDINGS / "requests.yaml"), RequestBank)


@cache
def load_all_text() -> str:
    """Everything that may stand in a story beside its values, in the form that is searched."""
    paths = sorted(_WORDINGS.rglob("*.yaml"))
    return normalise("\n".join(path.read_text(encoding="utf-8") for path in paths))


def fill(wording: str, **values: str) -> str:
    """Fill the gaps of a wording.

    >>> fill("{person} has a cat.", person="Ada Brown")
    'Ada Brown has a cat.'
    """
    return _GAP.sub(lambda gap: values[gap[1]], wording)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryRequest:
    """What the stories of a suite are drawn for."""

    seed: int
    each: int
    """How many stories of each kind."""
    system: SystemCard
    offers: frozenset[Offer]
    patience_s: float
    load_s: float = 5.0
    """How long each rate of the load suite lasts."""
    only: tuple[str, ...] = ()
    """The kinds of stories to draw; empty for all."""
    can_act: bool = True
    """Whether something answers in words of its own: the system, or a model that reads."""

    def list_names(self, variant: str) -> list[str]:
        """The names of the stories of one kind; none if it is not wanted."""
        if self.only and variant not in self.only:
            return []
        return [f"{variant}-{number}" for number in range(1, self.each + 1)]

    def list_missing(self, *parts: Offer) -> tuple[str, ...]:
        """The names of those of the parts that the system does not offer."""
        return tuple(part.value for part in parts if part not in self.offers)


_FIRST_NAMES = (
    *("Ada", "Bruno", "Carmen", "Dario", "Edda", "Farid", "Greta", "Hamid", "Ines", "Jonas"),
    *("Katja", "Leon", "Mira", "Nils", "Olga", "Pavel", "Quirin", "Rosa", "Sami", "Tilda"),
    *("Umar", "Vera", "Wanda", "Xenia", "Yusuf", "Zora", "Anselm", "Britta", "Cem", "Dunja"),
)
_SYLLABLES = (
    ("Br", "C", "D", "F", "G", "H", "K", "L", "M", "N", "P", "R", "S", "T", "V", "W"),
    ("ad", "al", "av", "el", "em", "er", "il", "in", "ol", "or", "ud", "un", "ys"),
    ("en", "er", "i", "o", "a"),
    ("berg", "by", "croft", "dale", "don", "gate", "holt", "ley", "mark", "ric", "vik", "worth"),
)
_STREETS = ("Lane", "Quay", "Rise", "Row", "Walk", "Yard")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFact:
    """One fact of one story."""

    id: str
    person: str
    subject: str
    kind: ValueKind
    """The kind of its value."""
    value: str
    sentence: str
    asks: str
    rephrased: str
    depends: str
    forget: str
    """A wish that it be forgotten."""
    update: str
    """A sentence with a gap for a new value."""


class FactDrawer:
    """Draws facts that share neither person nor value within one story.

    No value stands in the background or in the wordings.
    """

    def __init__(self, seed: int, story: str, background: str = "") -> None:
        self._background = background
        self._chance = RandomStream(seed, "behaviour", story)
        kinds, names = len(load_fact_kinds()), len(_FIRST_NAMES)
        self._kinds = ShuffleBag(kinds, RandomStream(seed, "behaviour", story, "kinds"))
        self._people = ShuffleBag(names, RandomStream(seed, "behaviour", story, "names"))
        self._used: set[str] = set()
        self._count = 0

    def draw_person(self) -> str:
        """Draw a full name that is not yet in the story."""
        return f"{_FIRST_NAMES[self._people.draw()]} {self.draw_value('name')}"

    def draw_fact(self, person: str | None = None) -> PlantedFact:
        """Draw a fact about this person, or a new one."""
        kind = load_fact_kinds()[self._kinds.draw()]
        return self.fill_kind(kind, person or self.draw_person())

    def fill_kind(self, kind: FactKind, person: str) -> PlantedFact:
        """Draw a value for a kind of fact about this person."""
        self._count += 1
        value = self.draw_value(kind.value)
        chance = self._chance
        subject = fill(kind.subject, person=person)
        general = fill(chance.choose(load_requests().forgets), subject=subject)
        own = fill(chance.choose(kind.forgets), person=person)
        return PlantedFact(
            id=f"fact-{self._count:02}",
            person=person,
            subject=subject,
            kind=kind.value,
            value=value,
            sentence=fill(chance.choose(kind.tells), person=person, value=value),
            asks=fill(kind.asks, person=person),
            rephrased=fill(chance.choose(kind.rephrased), person=person),
            depends=fill(chance.choose(kind.depends), person=person),
            forget=chance.choose((general, own)),
            update=fill(chance.choose(kind.updates), person=person, value="{value}"),
        )

    def draw_value(self, kind: ValueKind) -> str:
        """Draw a value of this kind that is not yet in the story."""
        draw: Callable[[], str] = getattr(self, f"_draw_{kind}")
        while self._is_taken(value := draw()):
            pass
        self._used.add(value)
        return value

    def _is_taken(self, value: str) -> bool:
        plain = normalise(value)
        return value in self._used or plain in self._background or plain in load_all_text()

    def _draw_name(self) -> str:
        return "".join(map(self._chance.choose, _SYLLABLES))

    def _draw_place(self) -> str:
        number = self._chance.draw_between(2, 198)
        return f"{number} {self.draw_value('name')} {self._chance.choose(_STREETS)}"

    def _draw_code(self) -> str:
        letters = "".join(self._chance.choose("BCDFGHJKLMNPQRSTVWXZ") for _ in range(2))
        return f"{letters}-{self._chance.draw_between(1000, 9999)}"

    def _draw_money(self) -> str:
        return f"£{self._chance.draw_between(11, 98)},{self._chance.draw_between(101, 989):03}"

    def _draw_time(self) -> str:
        hour, minute = self._chance.draw_between(5, 21), self._chance.draw_between(1, 59)
        return f"{hour:02}:{minute:02}"


_SHORTEST, _LONGEST = 60, 420
_PARAGRAPHS_A_DAY = 4
_BACKGROUND_ARCS = "arcs-180d.yaml"
_BACKGROUND_DAYS = (42, 84)


@dataclass(frozen=True, slots=True)
class Background:
    """Paragraphs of a drawn story: what surrounds the planted facts."""

    epoch: date
    paragraphs: tuple[str, ...]
    normal_text: str
    """All of them, in the form in which planted strings are looked for."""

    @staticmethod
    @cache
    def draw(seed: int) -> "Background":
        """Draw the first weeks of some shipped persona, whose days are written by people."""
        chance = RandomStream(seed, "background")
        persona = chance.choose(list_drawable())
        last = chance.draw_between(*_BACKGROUND_DAYS)
        scenario = load_story(persona, _BACKGROUND_ARCS)
        texts = (episode.text for episode in scenario.episodes if episode.day <= last)
        blocks = (paragraph.strip() for text in texts for paragraph in text.split("\n\n"))
        prose = (block for block in blocks if block[:1] not in "#-" and "\n" not in block)
        paragraphs = tuple(block for block in prose if _SHORTEST < len(block) < _LONGEST)
        return Background(scenario.epoch, paragraphs, normalise("\n".join(paragraphs)))


class StoryWriter:
    """Writes the episodes, the questions and the steps of one story.

    `day` and `steps` are those of its memory; a story of several memories has steps of its own.
    """

    def __init__(self, request: StoryRequest, name: str, category: str) -> None:
        seed, background = request.seed, Background.draw(request.seed)
        self.name = name
        self.opaque = sha256(f"{seed}\0{name}".encode()).hexdigest()[:12]
        """What a system is shown of the name, which says what is tested."""
        self.facts = FactDrawer(seed, name, background.normal_text)
        self.chance = RandomStream(seed, "behaviour", name, "days")
        self.day = 0
        self.steps: list[Step] = []
        self._category = category
        self._background = background
        self._order = ShuffleBag(len(background.paragraphs), RandomStream(seed, name, "background"))
        self._episodes: list[Episode] = []
        self._items: list[Item] = []

    def write_day(
        self, *paragraphs: str, session: str | None = None, fillers: int = _PARAGRAPHS_A_DAY
    ) -> str:
        """Write the next day's episode with these paragraphs among others; return its id."""
        self.day += 1
        lines = [self._background.paragraphs[self._order.draw()] for _ in range(fillers)]
        for paragraph in paragraphs:
            lines.insert(self.chance.draw_between(0, len(lines)), paragraph)
        text = "\n\n".join((f"# session: {session or PRINCIPAL}", *lines))
        episode = Episode(
            id=f"{self.opaque}-{self.day:03}",
            day=self.day,
            at=compute_story_date(self._background.epoch, self.day),
            text=f"{text}\n",
            session=session,
        )
        self._episodes.append(episode)
        return episode.id

    def feed_day(self, phase: str, *paragraphs: str, session: str | None = None) -> str:
        """Write the next day and feed it to the memory; return the episode's id."""
        name = self.write_day(*paragraphs, session=session)
        self.steps.append(WriteStep(phase=phase, episode=name))
        return name

    def ask(self, phase: str, items: tuple[str, ...], *before: Step) -> None:
        """Ask questions when these steps are done and everything has settled."""
        self.steps += (*before, SettleStep(phase=phase), AskStep(phase=phase, items=items))

    def add_item(
        self,
        name: str,
        text: str,
        *,
        kind: str,
        reference: str,
        day: int | None = None,
        atoms: tuple[str, ...] = (),
        canaries: tuple[str, ...] = (),
        session: str | None = None,
    ) -> str:
        """Add a question about the episode of a day, or of today; return its id."""
        truth = Truth(
            reference=reference,
            category=self._category,
            evidence=(Evidence(day=self.day if day is None else day),),
            atoms=atoms,
            canaries=canaries,
        )
        item = Item(id=name, text=text, truth=truth, known_from=1, session=session, kind=kind)
        self._items.append(item)
        return item.id

    def finish(
        self, variant: str, phases: tuple[str, ...], *lanes: MemoryLane, name: str | None = None
    ) -> BehaviourStory:
        """The story of everything written, by these memories or the one that `steps` are of."""
        scenario = Scenario(
            id=name or self.name,
            epoch=self._background.epoch,
            episodes=tuple(self._episodes),
            items=tuple(self._items),
        )
        return BehaviourStory(
            scenario=scenario,
            variant=variant,
            phases=phases,
            lanes=lanes
            or (MemoryLane(name="memory", opened_as=self.opaque, steps=tuple(self.steps)),),
        )
