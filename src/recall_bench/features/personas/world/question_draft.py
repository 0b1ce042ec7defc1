"""A candidate question, the context it is drafted in, and the choice of its wording."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recall_bench.core.random_stream import RandomStream
from recall_bench.core.scenario import Disclosure
from recall_bench.features.personas.world import fact_values
from recall_bench.features.personas.world.cast import Cast
from recall_bench.features.personas.world.context import FillContext, WorldContext, get_template
from recall_bench.features.personas.world.fact_values import FactValue
from recall_bench.features.personas.world.ledger import TextSpan, Thread
from recall_bench.features.personas.world.sources import WorldSession
from recall_bench.features.personas.world.templates import capitalise

Query = dict[str, object]
"""How the answer follows from the text, for the verifier."""


@dataclass(slots=True)
class LedgerQuestion:
    """A candidate question with its truth; one of its wordings is used."""

    category: str
    kind: str
    """The kind of query within its category; it determines the difficulty."""
    wordings: list[str]
    reference: str
    evidence: list[TextSpan]
    known_from: int
    query: Query
    atoms: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    distractors: list[str] = field(default_factory=list)
    canaries: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    known_until: int | None = None
    session: str | None = None
    forbidden: list[str] = field(default_factory=list)
    disclosure: Disclosure | None = None
    is_synthesis: bool = False
    is_authored: bool = False
    about: list[str] = field(default_factory=list)
    """The names of its threads, as the text writes them."""
    secret: str | None = None
    """The secret it is about; questions about one secret are kept or dropped together."""

    def list_unspoilt(self) -> list[str]:
        """The wordings that do not contain the answer."""
        if self.query["op"] == "order":
            return self.wordings
        answers = [atom for atom in self.atoms if atom not in {"Yes", "No"}]
        return [way for way in self.wordings if not any(_holds(way, atom) for atom in answers)]


@dataclass(slots=True)
class QuestionContext:
    """What questions are drafted from: cast, sessions, links, wording distance."""

    world: WorldContext
    cast: Cast
    sessions: Mapping[str, WorldSession]
    links: Mapping[str, list[str]]
    distance: float
    chance: RandomStream

    def render_wordings(self, thread: Thread, asks: Sequence[str], **extra: str) -> list[str]:
        """Every wording of a question, all with the thread's own name or all with its paraphrases.

        The larger the wanted distance from the text, the rarer the name.
        """
        is_named = self.chance.is_hit(1 - self.distance)
        names = [thread.name] if is_named else list(thread.called)
        ways = []
        for number, ask in enumerate(asks):
            it = names[number % len(names)]
            ways.append(self._fill_template(thread, ask, {"it": it, **extra}))
        return ways

    def render_phrase(self, thread: Thread, source: str) -> str:
        """A phrase for the thread that does not give away its start date."""
        began = self.world.dates.format_day(thread.began)
        timeless = [way for way in thread.called if began not in way]
        it = timeless[0] if timeless else thread.name
        return self._fill_template(thread, source, {"it": it}, is_sentence=False)

    def render_answer(self, thread: Thread, slot: str, value: FactValue) -> str:
        """The reference answer for a slot's value."""
        source = thread.slots[slot].answer
        if source is None:
            return format_sentence(value.text)
        return format_sentence(
            self._fill_template(thread, source, {slot: value.text, "it": thread.called[0]})
        )

    def list_aliases(self, value: FactValue, told_on: int | None = None) -> list[str]:
        """Other correct ways to write the value that was stated on this day."""
        if value.kind == "person" and value.text in self.cast.people:
            return [way for way in self.cast.surfaces[value.text] if way != value.text]
        return list(fact_values.list_spellings(value, self.world.dates, told_on))

    def list_distractors(self, value: FactValue) -> list[str]:
        """Plausible but wrong values."""
        return list(fact_values.list_near_values(value, self.world.dates, self.chance))

    def is_isolated(self, session: str) -> bool:
        """Whether the session is isolated from all others."""
        results = self.sessions.get(session)
        return results is not None and results.isolated

    def list_outsiders(self, session: str, day: int) -> list[str]:
        """Open sessions with a participant who is not in this one."""
        insiders = set(self.sessions[session].participants)
        return [
            other.id
            for other in self.sessions.values()
            if other.id != session
            and not other.isolated
            and set(other.participants) - insiders
            and other.first_day <= day
            and (other.last_day is None or day <= other.last_day)
        ]

    def _fill_template(
        self, thread: Thread, source: str, extra: dict[str, str], *, is_sentence: bool = True
    ) -> str:
        context = FillContext(self.world, thread.last_named, thread, extra=extra)
        text = self.world.picker.render(get_template(source), context).text
        return text[:1].upper() + text[1:] if is_sentence else text


def _holds(text: str, atom: str) -> bool:
    """Whether a text holds an atom as a whole, in capitals or not."""
    # Few do, and to compile a pattern takes long.
    if text.isascii() and atom.isascii() and atom.lower() not in text.lower():
        return False
    return _match_whole(atom).search(text) is not None


def _match_whole(atom: str) -> re.Pattern[str]:
    """Match the atom as a whole: the 2 of `2 days`, not that of `2024`."""
    return re.compile(
        rf"(?<![\w-])(?<!\d[.,:]){re.escape(atom)}(?![\w-])(?![.,:]\d)", re.IGNORECASE
    )


def format_sentence(text: str) -> str:
    """Text with a full stop, and capitalised unless it starts with an identifier."""
    capital = capitalise(text)
    return capital if capital.endswith((".", "!", "?")) else f"{capital}."


def is_traceable(thread: Thread, step: str) -> bool:
    """Whether the text shows the step by a cue."""
    when = thread.timings.get(step)
    return when is not None and bool(when.cue)


def is_askable(thread: Thread, slot: str) -> bool:
    """Whether the slot is asked about and public."""
    spec = thread.slots[slot]
    return bool(spec.ask) and not spec.secret and slot not in thread.forgotten


_WORD = re.compile(r"[a-z0-9][a-z0-9'-]+")
_COMMON = frozenset(
    "a an and any are as at be been by did do does for from had has have how in into is it its of "
    "on or our say said than that the their there they this to under up was we were what when "
    "which who whom whose why will with would".split()
)
_SPREAD = 0.5
"""Width of the random variation around the wanted distance."""


def measure_overlap(question: str, text: str) -> float:
    """The share of a question's content words that the text contains."""
    words = _extract_words(question)
    return len(words & _extract_words(text)) / len(words) if words else 0.0


def choose_wording(draft: LedgerQuestion, distance: float, chance: RandomStream) -> str:
    """A wording at about the wanted distance from the evidence."""
    text = " ".join(span.text for span in draft.evidence)
    ways = sorted(
        dict.fromkeys(draft.list_unspoilt()), key=lambda way: (-measure_overlap(way, text), way)
    )
    drift = (chance.draw_below(1000) / 1000 - 0.5) * _SPREAD
    place = min(max(distance + drift, 0.0), 0.999)
    return ways[int(place * len(ways))]


def _extract_words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if word not in _COMMON}
