"""The ledger: every dated fact of a world, the sentence that states it, and who may know it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from recall_bench.features.personas.simulator.sources import AttributeSource, MatterKind
from recall_bench.features.personas.simulator.values import FactValue


# Compared by identity: the same words may stand on two days.
@dataclass(slots=True, eq=False)
class LogSentence:
    """A sentence of the log; its place in the file is known once its page is made."""

    text: str
    day: int
    session: str
    start: int = 0
    """Its first character in the file of its day."""

    @property
    def end(self) -> int:
        """The character after its last one."""
        return self.start + len(self.text)


@dataclass(slots=True, eq=False)
class LedgerFact:
    """One value of one attribute of a matter, from the day on which it is stated."""

    value: FactValue
    sentence: LogSentence
    is_correction: bool = False
    """Whether the value before it was a mistake."""
    until: int | None = None
    """The last day on which it holds; None while nothing supersedes it."""
    echoes: list[LogSentence] = field(default_factory=list)
    """Later sentences that name the value: as the present one, or as one out of date."""

    @property
    def day(self) -> int:
        """The day it is stated."""
        return self.sentence.day


@dataclass(frozen=True, slots=True)
class MatterEvent:
    """Something that happened to a matter, reported by whoever held the role that day."""

    role: str
    reporter: str
    sentence: LogSentence


@dataclass(slots=True)
class SecretAccess:
    """A session's access to a secret, and its end if it was revoked."""

    session: str
    granted: LogSentence
    revoked: LogSentence | None = None


@dataclass(slots=True, eq=False)
class Matter:
    """One thing that the log follows: its facts and its events."""

    key: str
    kind: MatterKind
    name: str
    called: str
    opening: LogSentence
    closing: LogSentence | None = None
    facts: dict[str, list[LedgerFact]] = field(default_factory=dict)
    events: dict[str, MatterEvent] = field(default_factory=dict)
    canary: str | None = None
    """A string that stands in the opening note and nowhere else."""
    revealed: dict[str, LogSentence] = field(default_factory=dict)
    """The sentence in an open session that ended the secrecy of an attribute."""
    forgotten: dict[str, LogSentence] = field(default_factory=dict)
    access: dict[str, SecretAccess] = field(default_factory=dict)
    last_named: int = 0

    @property
    def attributes(self) -> Mapping[str, AttributeSource]:
        """The attributes of its kind."""
        return self.kind.attributes

    def label(self, attribute: str) -> str:
        """What sentences call an attribute."""
        return self.attributes[attribute].label or attribute.replace("_", " ")

    def find_fact(self, attribute: str, day: int) -> LedgerFact | None:
        """The fact that holds at the end of a day."""
        facts = [fact for fact in self.facts.get(attribute, ()) if fact.day <= day]
        return facts[-1] if facts else None

    def list_entries(self) -> Iterator[Mapping[str, object]]:
        """Its facts for ledger.jsonl."""
        for attribute, facts in self.facts.items():
            before = None
            for fact in facts:
                yield {
                    "subject": self.key,
                    "name": self.name,
                    "attribute": self.label(attribute),
                    "value": fact.value.text,
                    "true_from": fact.day,
                    "true_until": fact.until,
                    "learned": fact.day,
                    "session": fact.sentence.session,
                    "start": fact.sentence.start,
                    "end": fact.sentence.end,
                    "supersedes": before,
                    "is_secret": self.attributes[attribute].secret,
                }
                before = fact.value.text


@dataclass(frozen=True, slots=True)
class Note:
    """What is told of one matter in one session on one day."""

    session: str
    heading: str
    sentences: tuple[LogSentence, ...]
    matter: Matter | None = None
    values: tuple[FactValue, ...] = ()
    """The values of the matter that it states."""

    @property
    def text(self) -> str:
        """Its sentences in one paragraph."""
        return " ".join(sentence.text for sentence in self.sentences)


FRONT_MATTER = "---\ntype: daily\n---\n"


@dataclass(frozen=True, slots=True)
class LogPage:
    """The log of a day."""

    day: int
    text: str
    notes: tuple[Note, ...]


def build_page(day: int, notes: list[Note], sessions: tuple[str, ...]) -> LogPage:
    """The file of a day, session by session; its sentences learn their places in it."""
    text = FRONT_MATTER
    ordered = [note for session in sessions for note in notes if note.session == session]
    session = None
    for note in ordered:
        if note.session != session:
            session = note.session
            text += f"\n# session: {session}\n"
        text += f"\n### {note.heading}\n"
        at = len(text)
        for sentence in note.sentences:
            sentence.start = at
            at += len(sentence.text) + 1
        text += f"{note.text}\n"
    return LogPage(day, text, tuple(ordered))
