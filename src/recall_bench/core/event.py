"""What happened, in order. Every number we publish is a fold over these."""

from dataclasses import dataclass

import msgspec

from recall_bench.core.diagnosis import Diagnosis
from recall_bench.core.memory import Answer, Delivery
from recall_bench.core.plan import Plan, Shard, Trial
from recall_bench.core.record import Record
from recall_bench.core.scenario import Item, WallTime
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict


class _JournalEvent(Record, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    at: WallTime


class RunStarted(_JournalEvent, frozen=True, kw_only=True, tag="run_started"):
    """The first line of every journal."""

    plan: Plan
    code: str
    """Version and digest of the harness that ran."""
    diagnosis: Diagnosis | None = None
    """What `doctor` last said of this very system; None if it was never asked."""
    part: Shard | None = None
    """The part of the plan that this journal is about; None if all of it."""
    executor: str | None = None
    """Who does the work, from here on; None is the process that writes this."""
    workers: int | None = None
    """How many were asked for, where that was said."""


class RunResumed(_JournalEvent, frozen=True, kw_only=True, tag="run_resumed"):
    """The run went on in another process."""

    code: str
    executor: str | None = None
    """As in `run_started`."""
    workers: int | None = None


class Declared(_JournalEvent, frozen=True, kw_only=True, tag="declared"):
    """The questions of one scenario, so that a journal explains itself without its dataset."""

    scenario: str
    items: tuple[Item, ...]
    days: tuple[int, ...] = ()
    """The numbers of the days there are to feed."""
    asked: dict[str, tuple[str, ...]] | None = None
    """By checkpoint, the ids of the questions that were put, in their order, where a run was
    imported; None where the plan says what is put."""


class Ingested(_JournalEvent, frozen=True, kw_only=True, tag="ingested"):
    """The system took in one day."""

    scenario: str
    day: int
    checkpoint: str
    """The checkpoint it was fed for."""
    seconds: float


class Settled(_JournalEvent, frozen=True, kw_only=True, tag="settled"):
    """Everything fed for a checkpoint can be asked about."""

    scenario: str
    checkpoint: str
    seconds: float


class Inspected(_JournalEvent, frozen=True, kw_only=True, tag="inspected"):
    """The memory was looked into before it was asked at a checkpoint. The last word counts."""

    scenario: str
    checkpoint: str
    lost: tuple[int, ...] | None = None
    """Days it was fed and holds nothing of, ascending; None if it does not say what it holds."""
    bytes: int | None = None
    """How large it is, as it says; None if it does not."""
    fault: str | None = None
    """Why it could not be looked into, which costs it no trial."""


class FeedFailed(_JournalEvent, frozen=True, kw_only=True, tag="feed_failed"):
    """A memory could not be opened, fed or settled; what it owed from here on stays open."""

    scenario: str
    checkpoint: str
    stage: str
    """`open`, `attest`, `ingest`, `settle` or `snapshot`; or `close`, which costs no trial."""
    fault: str
    message: str
    day: int | None = None


INGEST, QUERY = "ingest", "query"
"""The stages at which a system can spend something."""


class Metered(_JournalEvent, frozen=True, kw_only=True, tag="metered"):
    """What the system spent on language models at our endpoint since the last such event."""

    scenario: str
    checkpoint: str
    stage: str
    """`ingest` for feeding and settling, `query` for asking."""
    usage: Usage


class Answered(_JournalEvent, frozen=True, kw_only=True, tag="answered"):
    """The system replied."""

    trial: Trial
    answer: Answer
    """With the passages that were within the budget."""
    seconds: float
    """How long the system took."""
    delivery: Delivery | None = None
    """None if the system returned no passages."""
    reading_s: float | None = None
    """How long the reader took, where one wrote the answer."""
    reading_usage: Usage | None = None
    """What the reader cost; `answer.usage` is what the system says it spent."""


class NotAnswered(_JournalEvent, frozen=True, kw_only=True, tag="not_answered"):
    """The system failed at a question. This counts against it."""

    trial: Trial
    fault: str
    message: str
    seconds: float


class Postponed(_JournalEvent, frozen=True, kw_only=True, tag="postponed"):
    """Somebody was busy; the question, or the answer, is put to them again after a pause."""

    trial: Trial
    fault: str
    message: str


class Judged(_JournalEvent, frozen=True, kw_only=True, tag="judged"):
    """The answer was graded. A pass that is reviewed later is judged a second time."""

    trial: Trial
    verdict: Verdict
    """The final one."""
    primary: Verdict | None = None
    """The first judge's, where an appellate judge reviewed it."""
    review_fault: str | None = None
    """Why a review that was due did not happen; the first verdict stands."""
    usage: Usage | None = None
    """What was paid for this verdict and its review; None where nothing was to pay."""
    review_usage: Usage | None = None
    """The part of it that the review cost."""
    seconds: float | None = None
    """How long the first judge took; None where that is not known."""


class NotJudged(_JournalEvent, frozen=True, kw_only=True, tag="not_judged"):
    """We failed. This counts against the run, not the system."""

    trial: Trial
    fault: str
    message: str
    usage: Usage | None = None
    """What was paid for it in vain."""


class Paid(_JournalEvent, frozen=True, kw_only=True, tag="paid"):
    """Judging cost something and was stopped before it came to anything."""

    trial: Trial
    usage: Usage
    review_usage: Usage | None = None
    """The part of it that a review cost."""


class RunEnded(_JournalEvent, frozen=True, kw_only=True, tag="run_ended"):
    """Everything owed was done. A journal without this line is unfinished."""


Event = (
    RunStarted
    | RunResumed
    | Declared
    | Ingested
    | Settled
    | Inspected
    | FeedFailed
    | Metered
    | Answered
    | NotAnswered
    | Postponed
    | Judged
    | NotJudged
    | Paid
    | RunEnded
)

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_ENCODER = msgspec.json.Encoder()


def decode_event(line: bytes) -> Event:
    """The event a journal line spells; msgspec.ValidationError if it spells none."""
    return _DECODER.decode(line)


def encode_event(event: Event) -> bytes:
    """One journal line, without its end."""
    return _ENCODER.encode(event)


Outcome = Judged | NotJudged | NotAnswered
"""Where a trial ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """All there is to know about one trial. Every trial owed has one, run or not."""

    trial: Trial
    item: Item
    answered: Answered | None = None
    outcome: Outcome | None = None
    """None while the trial is still to do."""
