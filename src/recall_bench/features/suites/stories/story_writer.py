"""Planted facts, and days of a drawn story with such facts in them.

A fact has a value that stands nowhere else, so that finding it in an answer, a listing or a file
decides a figure without a judge.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache
from hashlib import sha256

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
from recall_bench.features.suites.stories.wordings import (
    FactKind,
    ValueKind,
    fill,
    load_all_text,
    load_fact_kinds,
    load_requests,
)
from recall_bench.metrics.planted_strings import normalise
from recall_bench.stories.drawn import list_drawable
from recall_bench.stories.story_folders import load_story


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


_FIRST_NAMES = (
    *("Ada", "Bruno", "Carmen", "Dario", "Edda", "Farid", "Greta", "Hamid", "Ines", "Jonas"),
    *("Katja", "Leon", "Mira", "Nils", "Olga", "Pavel", "Quirin", "Rosa", "Sami", "Tilda"),
    *("Umar", "Vera", "Wanda", "Xenia", "Yusuf", "Zora", "Anselm", "Britta", "Cem", "Dunja"),
)
_ONSETS = ("Br", "C", "D", "F", "G", "H", "K", "L", "M", "N", "P", "R", "S", "T", "V", "W")
_MIDDLES = ("ad", "al", "av", "el", "em", "er", "il", "in", "ol", "or", "ud", "un", "ys")
_LINKS = ("en", "er", "i", "o", "a")
_ENDS = ("berg", "by", "croft", "dale", "don", "gate", "holt", "ley", "mark", "ric", "vik", "worth")
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

    def change_value(self, new: str) -> str:
        """Return the sentence that gives it a new value."""
        return fill(self.update, value=new)


class FactDrawer:
    """Draws facts that share neither person nor value within one story.

    No value stands in the background or in the wordings.
    """

    def __init__(self, seed: int, story: str, background: str = "") -> None:
        self._background = background
        self._chance = RandomStream(seed, "behaviour", story)
        kinds = load_fact_kinds()
        self._kinds = ShuffleBag(len(kinds), RandomStream(seed, "behaviour", story, "kinds"))
        self._people = ShuffleBag(
            len(_FIRST_NAMES), RandomStream(seed, "behaviour", story, "names")
        )
        self._used: set[str] = set()
        self._count = 0

    def draw_person(self) -> str:
        """Draw a full name that is not yet in the story."""
        return f"{_FIRST_NAMES[self._people.draw()]} {self._draw_new(self._draw_name)}"

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
        return self._draw_new(getattr(self, f"_draw_{kind}"))

    def _draw_new(self, draw: Callable[[], str]) -> str:
        while self._is_taken(results := draw()):
            pass
        self._used.add(results)
        return results

    def _is_taken(self, value: str) -> bool:
        plain = normalise(value)
        return value in self._used or plain in self._background or plain in load_all_text()

    def _draw_name(self) -> str:
        chance = self._chance
        parts = (_ONSETS, _MIDDLES, _LINKS, _ENDS)
        return "".join(chance.choose(part) for part in parts)

    def _draw_place(self) -> str:
        number = self._chance.draw_between(2, 198)
        return f"{number} {self._draw_new(self._draw_name)} {self._chance.choose(_STREETS)}"

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
    """Writes the episodes and questions of one story."""

    def __init__(self, seed: int, name: str, background: Background) -> None:
        self.name = name
        self.opaque = sha256(f"{seed}\0{name}".encode()).hexdigest()[:12]
        """What a system is shown of the name, which says what is tested."""
        self.facts = FactDrawer(seed, name, background.normal_text)
        self.chance = RandomStream(seed, "behaviour", name, "days")
        self._background = background
        order = ShuffleBag(len(background.paragraphs), RandomStream(seed, name, "background"))
        self._order = order
        self._episodes: list[Episode] = []
        self._items: list[Item] = []

    def write_day(
        self, day: int, *paragraphs: str, session: str | None = None, fillers: int | None = None
    ) -> str:
        """Write an episode with these paragraphs among others; return its id."""
        count = _PARAGRAPHS_A_DAY if fillers is None else fillers
        lines = [self._background.paragraphs[self._order.draw()] for _ in range(count)]
        for paragraph in paragraphs:
            lines.insert(self.chance.draw_between(0, len(lines)), paragraph)
        text = "\n\n".join((f"# session: {session or PRINCIPAL}", *lines))
        episode = Episode(
            id=f"{self.opaque}-{day:03}",
            day=day,
            at=compute_story_date(self._background.epoch, day),
            text=f"{text}\n",
            session=session,
        )
        self._episodes.append(episode)
        return episode.id

    def add_item(
        self,
        name: str,
        text: str,
        *,
        kind: str,
        category: str,
        reference: str,
        day: int,
        atoms: tuple[str, ...] = (),
        canaries: tuple[str, ...] = (),
        session: str | None = None,
    ) -> str:
        """Add a question about the episode of a day; return its id."""
        truth = Truth(
            reference=reference,
            category=category,
            evidence=(Evidence(day=day),),
            atoms=atoms,
            canaries=canaries,
        )
        item = Item(id=name, text=text, truth=truth, known_from=1, session=session, kind=kind)
        self._items.append(item)
        return item.id

    def finish(self) -> Scenario:
        """Return the scenario of everything written."""
        return Scenario(
            id=self.name,
            epoch=self._background.epoch,
            episodes=tuple(self._episodes),
            items=tuple(self._items),
        )
