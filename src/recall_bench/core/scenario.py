"""Scenarios: a dated history, and questions whose truth never travels to a system."""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from functools import cache
from hashlib import sha256
from itertools import pairwise
from math import inf
from typing import Annotated

from msgspec import Meta, convert, to_builtins

from recall_bench.core.record import Record

StoryTime = Annotated[datetime, Meta(tz=False)]
"""When something happens to the people in the dataset. Never compared with WallTime."""

WallTime = Annotated[datetime, Meta(tz=True)]
"""When something happens to us, in UTC."""


def compute_story_date(epoch: date, day: int) -> datetime:
    """Compute the calendar day of story day `day`; day 1 is the epoch."""
    return datetime.combine(epoch + timedelta(days=day - 1), time())


class Turn(Record, frozen=True, kw_only=True):
    """One utterance."""

    speaker: str
    text: str


class Episode(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One dated stretch of history: a day's log, a chat session, a document."""

    id: str
    day: int
    """Its place in the story: the day number of a persona's log, the session number of a chat."""
    at: StoryTime
    text: str
    """The text a system receives, verbatim."""
    turns: tuple[Turn, ...] = ()
    """The same text by turns, where the dataset has them."""
    arcs: tuple[str, ...] = ()
    """Ids of the story arcs active that day; part of the public protocol."""
    session: str | None = None
    """The session it belongs to as a whole; None if its text names its sessions, or has none."""


FACTUAL = "factual-recall"
TEMPORAL = "temporal-reasoning"
DECISION = "decision-tracking"
CONTRADICTION = "contradiction-resolution"
CROSS_REFERENCE = "cross-reference"
RECENCY = "recency-bias-resistance"
SYNTHESIS = "synthesis"
NEGATIVE = "negative-recall"
ATTRIBUTION = "group-session-attribution"
"""The category that asks who said or did something: a wrong value there is another person's."""
BOUNDARY = "information-boundary"
"""The category of questions that limit what may be disclosed."""

CATEGORIES = (
    FACTUAL,
    TEMPORAL,
    DECISION,
    CONTRADICTION,
    CROSS_REFERENCE,
    RECENCY,
    SYNTHESIS,
    NEGATIVE,
    ATTRIBUTION,
    BOUNDARY,
)
"""The ten categories of persona questions, in the order of every table."""

GROUP_CATEGORIES = frozenset({ATTRIBUTION, BOUNDARY})
"""Asked only if groups are enabled: the system must distinguish sessions."""

DIFFICULTIES = ("easy", "medium", "hard")

PRINCIPAL = "principal"
"""The session of the person an agent serves, and the default session of a question."""


def order_categories(names: Iterable[str]) -> list[str]:
    """Each once: ours in the order of every table, then any others by name."""
    every = set(names)
    return [*(name for name in CATEGORIES if name in every), *sorted(every.difference(CATEGORIES))]


class Expects(StrEnum):
    """What a correct system does with the question."""

    ANSWER = "answer"
    CORRECT = "correct"
    """Say that what the question supposes was not so; the history says what was."""
    ABSTAIN = "abstain"
    """Say that there is no such thing."""
    WITHHOLD = "withhold"
    """Know the answer and not disclose it."""


class Disclosure(StrEnum):
    """How much may be disclosed to the asker."""

    REFUSE = "refuse"
    PARTIAL = "partial"
    ANSWER = "answer"


class Evidence(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Where the answer can be found."""

    day: int
    turn: int | None = None
    """Index into the episode's turns; None for the whole episode."""
    session: str | None = None
    """The session it is in, where the dataset says."""
    speaker: str | None = None
    """The speaker, where a dataset's protocol needs it."""
    start: int | None = None
    end: int | None = None
    """The range of the sentence in the episode's text; `end` is exclusive."""


class Truth(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What only judges and metrics may see."""

    reference: str
    category: str
    difficulty: str | None = None
    expects: Expects = Expects.ANSWER
    evidence: tuple[Evidence, ...] = ()
    aliases: tuple[str, ...] = ()
    """Other correct wordings of the reference."""
    atoms: tuple[str, ...] = ()
    """What every correct answer contains."""
    stale: tuple[str, ...] = ()
    """Superseded values that must not be given as current."""
    distractors: tuple[str, ...] = ()
    """Plausible wrong values."""
    canaries: tuple[str, ...] = ()
    """Strings of the closed session; an answer that contains one is a leak, whatever the judge
    says."""
    withheld: tuple[str, ...] = ()
    """Values that must not be disclosed to the asker; in an answer they are a leak too."""
    facts: tuple[tuple[str, ...], ...] = ()
    """The facts of a complete answer, each with its alternative wordings."""
    choice: str | None = None
    """The letter of the correct option of a multiple-choice question."""
    grading: str | None = None
    """The dataset's own rule for grading this question, as its protocol names it."""
    source: str | None = None
    """The dataset's own id of the question, which may reveal the answer."""
    cited: tuple[str, ...] = ()
    """The evidence exactly as in the dataset, errors included, for the dataset's own protocol."""
    requires_synthesis: bool = False
    forbidden_sessions: tuple[str, ...] = ()
    disclosure: Disclosure | None = None

    @property
    def is_answerable(self) -> bool:
        """Whether the question has an answer, and is not to be declined."""
        return self.expects in (Expects.ANSWER, Expects.CORRECT)


class Question(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the system under test receives."""

    id: str
    """Opaque. Dataset ids leak: LongMemEval marks its abstention items `_abs`."""
    text: str
    asked_at: StoryTime
    scenario: str
    session: str = PRINCIPAL
    choices: tuple[str, ...] = ()
    """The options, each after its letter: `(A) the red one`."""
    top_k: int | None = None
    """How many passages of the reply are used; None for no limit."""


class Item(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A question with its truth, as the dataset holds it."""

    id: str
    text: str
    truth: Truth
    known_from: int
    """The story day from which the history supports the reference."""
    known_until: int | None = None
    """The last story day on which it does; None if it is never superseded."""
    session: str | None = None
    """The session it is asked from; None for the principal's session."""
    asked_at: StoryTime | None = None
    """When it is asked; None for the time of the checkpoint."""
    choices: tuple[str, ...] = ()
    """The options, each after its letter: `(A) the red one`."""
    template: str | None = None
    """The template it was written from; None if it shares none with another question. Statistics
    count questions of one template as one cluster. It is no part of the questions' digest."""
    kind: str | None = None
    """The kind of memory work it asks for, beside its category: `two-hop`, `current-value`. It is
    no part of the questions' digest."""

    def is_open(self, days: int) -> bool:
        """Whether the history up to story day `days` supports the reference answer."""
        first, last = self.open_days
        return first <= days <= last

    @property
    def open_days(self) -> tuple[int, float]:
        """The first and the last story day on which it is open; the last may be infinite."""
        return self.known_from, inf if self.known_until is None else self.known_until

    def ask(self, scenario: str, at: StoryTime, top_k: int | None = None) -> Question:
        """Make the question a system receives: the only way to one, without the truth."""
        return Question(
            id=hash_question_id(scenario, self.id),
            text=self.text,
            asked_at=self.asked_at or at,
            scenario=scenario,
            session=self.session or PRINCIPAL,
            choices=self.choices,
            top_k=top_k,
        )


@cache
def hash_question_id(scenario: str, item: str) -> str:
    """Hash a question's ids to a stable public id that hides the dataset's own."""
    return sha256(f"{scenario}\0{item}".encode()).hexdigest()[:12]


class Scenario(Record, frozen=True, kw_only=True):
    """One isolated history and everything asked about it."""

    id: str
    epoch: date
    """The calendar date of story day 1."""
    episodes: tuple[Episode, ...]
    """The history: everything that is true and that evidence refers to."""
    items: tuple[Item, ...]
    retold: tuple[Episode, ...] | None = None
    """The same days in another form for the system; None to feed the episodes."""

    def __post_init__(self) -> None:
        # What a loader took from a file may be of another type; ValidationError is a ValueError.
        convert(to_builtins([self.items, self.episodes]), tuple[list[Item], list[Episode]])
        for episodes in (self.episodes, self.retold or ()):
            for earlier, later in pairwise(episodes):
                if later.day <= earlier.day or later.at < earlier.at:
                    raise ValueError(f"{self.id}: {later.id} does not come after {earlier.id}")
        days = {episode.day for episode in self.episodes}
        ids: set[str] = set()
        for item in self.items:
            if item.id in ids:
                raise ValueError(f"{self.id}: two items are called {item.id}")
            ids.add(item.id)
            for cited in item.truth.evidence:
                if cited.day not in days:
                    raise ValueError(f"{self.id}/{item.id}: evidence day {cited.day} is missing")

    @property
    def fed_episodes(self) -> tuple[Episode, ...]:
        """The episodes that a system is fed."""
        return self.episodes if self.retold is None else self.retold

    @property
    def last_day(self) -> int:
        """The number of the last day; 0 without episodes."""
        return self.episodes[-1].day if self.episodes else 0

    def compute_date(self, day: int) -> StoryTime:
        """Compute the date of a story day, counted from the last episode up to then."""
        for episode in reversed(self.episodes):
            if episode.day <= day:
                return episode.at + timedelta(days=day - episode.day)
        return compute_story_date(self.epoch, day)
