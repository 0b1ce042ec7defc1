"""What the system under test gets to live through."""

from datetime import date, datetime, time, timedelta
from enum import StrEnum
from functools import cache
from hashlib import sha256
from itertools import pairwise
from typing import Annotated

from msgspec import Meta

from recall_bench.core.record import Record

StoryTime = Annotated[datetime, Meta(tz=False)]
"""When something happens to the people in the dataset. Never compared with WallTime."""

WallTime = Annotated[datetime, Meta(tz=True)]
"""When something happens to us, in UTC."""


def compute_story_date(epoch: date, day: int) -> datetime:
    """The calendar day of story day `day`, day 1 being the epoch. Pure date arithmetic."""
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
    """What a system is given, verbatim."""
    turns: tuple[Turn, ...] = ()
    """The same, utterance by utterance, where the dataset knows."""
    arcs: tuple[str, ...] = ()
    """Ids of the story arcs active that day; the public protocol hands them over."""


CATEGORIES = (
    "factual-recall",
    "temporal-reasoning",
    "decision-tracking",
    "contradiction-resolution",
    "cross-reference",
    "recency-bias-resistance",
    "synthesis",
    "negative-recall",
    "group-session-attribution",
    "information-boundary",
)
"""The ten kinds of recall a persona is asked for, in the order every table prints them."""

BOUNDARY = "information-boundary"
"""The category whose questions say how much may be disclosed."""

GROUP_CATEGORIES = frozenset({"group-session-attribution", BOUNDARY})
"""Asked only where groups are enabled: the system must be able to tell sessions apart."""

DIFFICULTIES = ("easy", "medium", "hard")

PRINCIPAL = "principal"
"""The session of the person an agent serves, and where a question comes from unless it says."""


class Expects(StrEnum):
    """What a well-behaved system does with the question."""

    ANSWER = "answer"
    ABSTAIN = "abstain"
    """Say that there is no such thing."""
    WITHHOLD = "withhold"
    """Know, and not tell."""


class Disclosure(StrEnum):
    """How much of a secret the asker may be told."""

    REFUSE = "refuse"
    PARTIAL = "partial"
    ANSWER = "answer"


class Evidence(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Where the answer can be found."""

    day: int
    turn: int | None = None
    """Index into the episode's turns; None for the whole episode."""
    session: str | None = None
    """The session that tells it, where the dataset says."""
    speaker: str | None = None
    """Who says it, where a dataset's own protocol minds."""
    start: int | None = None
    end: int | None = None
    """The first character of the telling sentence in the episode's text, and the one after it."""


class Truth(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What only judges and metrics may see."""

    reference: str
    category: str
    difficulty: str | None = None
    expects: Expects = Expects.ANSWER
    evidence: tuple[Evidence, ...] = ()
    aliases: tuple[str, ...] = ()
    """Other wordings of the reference that are just as right."""
    atoms: tuple[str, ...] = ()
    """What every right answer contains."""
    stale: tuple[str, ...] = ()
    """Values that held once and must not be given as current."""
    distractors: tuple[str, ...] = ()
    """Values that are plausible and wrong."""
    canaries: tuple[str, ...] = ()
    """Strings of the closed session; an answer that holds one has leaked, judge or no judge."""
    withheld: tuple[str, ...] = ()
    """The values the asker must not be told; in an answer they are a leak too."""
    facts: tuple[tuple[str, ...], ...] = ()
    """What a complete answer holds, fact by fact, each in any of its wordings."""
    choice: str | None = None
    """The letter of the right option, where the question offers some."""
    source: str | None = None
    """The dataset's own id of the question, which may give its answer away."""
    cited: tuple[str, ...] = ()
    """The evidence as the dataset spells it, faults and all: its own protocol may go by that."""
    requires_synthesis: bool = False
    forbidden_sessions: tuple[str, ...] = ()
    disclosure: Disclosure | None = None


class Question(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the system under test is shown."""

    id: str
    """Opaque. Dataset ids leak: LongMemEval marks its abstention items `_abs`."""
    text: str
    asked_at: StoryTime
    scenario: str
    session: str = PRINCIPAL
    choices: tuple[str, ...] = ()
    """What may be answered, each option after its letter: `(A) the red one`."""
    top_k: int | None = None
    """How many passages of the reply are looked at; the rest is cut off. None is no limit."""


class Item(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A question with its truth, as the dataset holds it."""

    id: str
    text: str
    truth: Truth
    known_from: int
    """The story day from which the history supports the reference."""
    known_until: int | None = None
    """The last story day on which it does; None if it is never overtaken."""
    session: str | None = None
    """Where it is asked from, if the dataset says; None means the principal's session."""
    asked_at: StoryTime | None = None
    """When it is asked, if the dataset says; None means with the checkpoint."""
    choices: tuple[str, ...] = ()
    """The options, each after its letter: `(A) the red one`."""

    def is_open(self, days: int) -> bool:
        """Whether the history up to story day `days` supports the reference answer."""
        return self.known_from <= days and (self.known_until is None or days <= self.known_until)

    def ask(self, scenario: str, at: StoryTime, top_k: int | None = None) -> Question:
        """The only way to a question, and the door the truth does not pass."""
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
    """A question's public name: stable, and silent about the dataset's own id."""
    return sha256(f"{scenario}\0{item}".encode()).hexdigest()[:12]


class Scenario(Record, frozen=True, kw_only=True):
    """One isolated history and everything asked about it."""

    id: str
    epoch: date
    """The calendar date of story day 1."""
    episodes: tuple[Episode, ...]
    """What happened: all that is true and all that evidence points into."""
    items: tuple[Item, ...]
    retold: tuple[Episode, ...] | None = None
    """The same days in another form, where a system is given that; None gives it the episodes."""

    def __post_init__(self) -> None:
        for told in (self.episodes, self.retold or ()):
            for earlier, later in pairwise(told):
                if later.day <= earlier.day or later.at < earlier.at:
                    raise ValueError(f"{self.id}: {later.id} does not come after {earlier.id}")
        days = {episode.day for episode in self.episodes}
        seen: set[str] = set()
        for item in self.items:
            if item.id in seen:
                raise ValueError(f"{self.id}: two items are called {item.id}")
            seen.add(item.id)
            for cited in item.truth.evidence:
                if cited.day not in days:
                    raise ValueError(f"{self.id}/{item.id}: evidence day {cited.day} is missing")

    @property
    def fed_episodes(self) -> tuple[Episode, ...]:
        """What a system is given."""
        return self.episodes if self.retold is None else self.retold

    @property
    def last_day(self) -> int:
        """The number of the last day there is, 0 where there is none."""
        return self.episodes[-1].day if self.episodes else 0

    def compute_date(self, day: int) -> StoryTime:
        """When story day `day` is, counted on from the last episode there was by then."""
        for episode in reversed(self.episodes):
            if episode.day <= day:
                return episode.at + timedelta(days=day - episode.day)
        return compute_story_date(self.epoch, day)
