"""The events of a run. Every published number is computed from them."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import field

from recall_bench.core.append_log import split_link
from recall_bench.core.diagnosis import Diagnosis
from recall_bench.core.environment import EnvironmentCard
from recall_bench.core.memory import Answer, Delivery, Exchange, ReaderCard
from recall_bench.core.plan import Plan, Shard, Trial
from recall_bench.core.record import Record
from recall_bench.core.scenario import Item, WallTime
from recall_bench.core.tool_call import AgentCall, SessionEnd
from recall_bench.core.untrusted_json import decode_untrusted_line
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import SCALES, Verdict

Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e10)]


class _JournalEvent(Record, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    at: WallTime


class RunStarted(_JournalEvent, frozen=True, kw_only=True, tag="run_started"):
    """The first line of every journal."""

    plan: Plan
    code: str
    """The version of the harness."""
    diagnosis: Diagnosis | None = None
    """The last result of `doctor` for this system; None if it was never run."""
    part: Shard | None = None
    """The shard of the plan that this journal holds; None for all of it."""
    executor: str | None = None
    """Where the work is done from here on; None for the process that writes the journal."""
    workers: int | None = None
    """The number of workers, where it was given."""
    environment: EnvironmentCard | None = None
    """What the process was executed with; None in journals of earlier versions."""


class RunResumed(_JournalEvent, frozen=True, kw_only=True, tag="run_resumed"):
    """The run continued in another process."""

    code: str
    executor: str | None = None
    """As in `run_started`."""
    workers: int | None = None
    environment: EnvironmentCard | None = None


class Declared(_JournalEvent, frozen=True, kw_only=True, tag="declared"):
    """The questions of one scenario, so that a journal can be read without its dataset."""

    scenario: str
    items: tuple[Item, ...]
    days: tuple[int, ...] = ()
    """The numbers of the days to feed."""
    asked: dict[str, tuple[str, ...]] | None = None
    """For an imported run, the ids of the questions asked at each checkpoint, in order; None where
    the plan decides."""
    eligible: dict[str, dict[str, int]] | None = None
    """For an imported run, how many questions of each category its files call eligible at each
    checkpoint, asked or not; None where they do not say."""


MarkTriple = tuple[
    Annotated[int, msgspec.Meta(ge=0, le=SCALES["correctness"])],
    Annotated[int, msgspec.Meta(ge=0, le=SCALES["completeness"])],
    Annotated[int, msgspec.Meta(ge=0, le=SCALES["grounded"])],
]
"""Correctness, completeness and groundedness."""


class BoundsComputed(_JournalEvent, frozen=True, kw_only=True, tag="bounds"):
    """The floor and the ceiling of each question: what silence and the evidence itself score."""

    scenario: str
    floor: dict[str, MarkTriple]
    """By question id, the marks of the answer that there is no record."""
    ceiling: dict[str, MarkTriple] | None = None
    """By question id, the marks of the reader's answer from the evidence; None where asking the
    reader would cost something."""
    reader: ReaderCard | None = None
    """The reader of the ceiling."""

    def get_floor(self, item: str) -> int | None:
        """Return the points of silence on a question; None if it was not asked."""
        return None if item not in self.floor else sum(self.floor[item])

    def get_ceiling(self, item: str) -> int | None:
        """Return the points of the evidence on a question; None if there is no ceiling."""
        if self.ceiling is None or item not in self.ceiling:
            return None
        return sum(self.ceiling[item])


class Ingested(_JournalEvent, frozen=True, kw_only=True, tag="ingested"):
    """The system ingested one day."""

    scenario: str
    day: int
    checkpoint: str
    """The checkpoint it was fed for."""
    seconds: Seconds


class Settled(_JournalEvent, frozen=True, kw_only=True, tag="settled"):
    """Everything fed for a checkpoint can be asked about."""

    scenario: str
    checkpoint: str
    seconds: Seconds


class Inspected(_JournalEvent, frozen=True, kw_only=True, tag="inspected"):
    """The memory was inspected before it was asked at a checkpoint. The last event counts."""

    scenario: str
    checkpoint: str
    lost: tuple[int, ...] | None = None
    """Fed days of which it holds nothing, ascending; None if it does not report what it holds."""
    bytes: int | None = None
    """Its size as reported; None if it reports none."""
    fault: str | None = None
    """Why it could not be inspected; this costs no trial."""


class FeedFailed(_JournalEvent, frozen=True, kw_only=True, tag="feed_failed"):
    """A memory could not be opened, fed or settled; its trials from here on stay open."""

    scenario: str
    checkpoint: str
    stage: str
    """`open`, `attest`, `ingest`, `settle` or `snapshot`; or `close`, which costs no trial."""
    fault: str
    message: str
    day: int | None = None


INGEST, QUERY = "ingest", "query"
"""The stages at which a system can call models."""


class Metered(_JournalEvent, frozen=True, kw_only=True, tag="metered"):
    """What the system spent on language models since the last such event.

    Counted at our endpoint, or as an agent reports it.
    """

    scenario: str
    checkpoint: str
    stage: str
    """`ingest` for feeding and settling, `query` for asking."""
    usage: Usage


class Exchanged(_JournalEvent, frozen=True, kw_only=True, tag="exchanged"):
    """An agent was sent a message: a part of a day, or a question. Its answer counts elsewhere."""

    checkpoint: str
    exchange: Exchange


class Answered(_JournalEvent, frozen=True, kw_only=True, tag="answered"):
    """The system replied."""

    trial: Trial
    answer: Answer
    """With the passages within the budget."""
    seconds: Seconds
    """How long the system took."""
    delivery: Delivery | None = None
    """None if the system returned no passages."""
    reading_s: Seconds | None = None
    """How long the reader took, where one wrote the answer."""
    reading_usage: Usage | None = None
    """What the reader cost; `answer.usage` is what the system reports to have spent."""


class ToolCalled(_JournalEvent, frozen=True, kw_only=True, tag="tool_called"):
    """An agent called a tool of the memory that it works with."""

    scenario: str
    checkpoint: str
    """The checkpoint that the memory was fed for, or that the question belongs to."""
    memory: str
    """The memory that was fed; copies of it have the same name."""
    day: int | None = None
    """The day that the agent was reading; None while it answers a question."""
    trial: Trial | None = None
    """The question that it was answering; None while it reads a day."""
    call: AgentCall


class NeededValue(Record, frozen=True, kw_only=True):
    """A value that a note has to hold for a question to be answered from it."""

    value: str
    day: int
    """The first day of the evidence that states it."""


class AgentEnded(_JournalEvent, frozen=True, kw_only=True, tag="agent_ended"):
    """An agent stopped working on a day or a question.

    The last `calls` events `tool_called` about the same day or question are the calls it made.
    """

    scenario: str
    checkpoint: str
    memory: str
    day: int | None = None
    trial: Trial | None = None
    """As in `tool_called`."""
    calls: int
    steps: int
    """Requests to its model."""
    unreadable: int = 0
    """Replies that were neither calls nor an answer."""
    end: SessionEnd
    usage: Usage | None = None
    """What its model cost. This is part of the answer's usage or of a `metered` event too."""
    needs: tuple[NeededValue, ...] = ()
    """The values of the answer that stand in the evidence as it was fed; empty for a day, and where
    none does."""


class NotAnswered(_JournalEvent, frozen=True, kw_only=True, tag="not_answered"):
    """The system failed at a question. This counts against it."""

    trial: Trial
    fault: str
    message: str
    seconds: Seconds


class Postponed(_JournalEvent, frozen=True, kw_only=True, tag="postponed"):
    """A system or judge was busy; the call is repeated after a pause."""

    trial: Trial
    fault: str
    message: str


class Judged(_JournalEvent, frozen=True, kw_only=True, tag="judged"):
    """The answer was graded. A pass that is reviewed later is judged a second time."""

    trial: Trial
    verdict: Verdict
    """The final one."""
    primary: Verdict | None = None
    """The first verdict, where an appellate judge reviewed it."""
    review_fault: str | None = None
    """Why a due review failed; the first verdict stands."""
    usage: Usage | None = None
    """What this verdict and its review cost; None where nothing was paid."""
    review_usage: Usage | None = None
    """The part of it that the review cost."""
    seconds: Seconds | None = None
    """How long the first judge took; None where that is not known."""
    judge: str | None = None
    """`people` where labels of people decided it; None for the judge of the plan."""


class NotJudged(_JournalEvent, frozen=True, kw_only=True, tag="not_judged"):
    """We failed. This counts against the run, not the system."""

    trial: Trial
    fault: str
    message: str
    usage: Usage | None = None
    """What the failed attempt cost."""


class OtherVerdict(_JournalEvent, frozen=True, kw_only=True, tag="other_verdict"):
    """One of the plan's other judges graded the answer, or failed to. The score stays as it is."""

    trial: Trial
    judge: int
    """Its place in `other_judges` of the plan, from 0."""
    verdict: Verdict | None = None
    """None where it failed."""
    fault: str | None = None
    message: str | None = None
    usage: Usage | None = None
    """What the verdict, or the failed attempt, cost."""
    seconds: Seconds | None = None

    def to_outcome(self) -> Judged | NotJudged:
        """Convert it to the outcome of the trial in a run with this judge alone."""
        if self.verdict is not None:
            return Judged(
                at=self.at,
                trial=self.trial,
                verdict=self.verdict,
                usage=self.usage,
                seconds=self.seconds,
            )
        return NotJudged(
            at=self.at,
            trial=self.trial,
            fault=self.fault or "",
            message=self.message or "",
            usage=self.usage,
        )


class Paid(_JournalEvent, frozen=True, kw_only=True, tag="paid"):
    """Judging cost something and was stopped before there was a verdict."""

    trial: Trial
    usage: Usage
    review_usage: Usage | None = None
    """The part of it that a review cost."""
    judge: int | None = None
    """The place in `other_judges` of the judge that was paid; None for the first and for a
    review."""


class ReadingPaid(_JournalEvent, frozen=True, kw_only=True, tag="reading_paid"):
    """The reader or the loop agent cost something in a story that no other event states.

    It was asked whether something is known by now, or the story was cut off.
    """

    scenario: str
    usage: Usage
    by_agent: bool = False
    """Whether the loop agent spent it; otherwise the reader did."""


class StoryStarted(_JournalEvent, frozen=True, kw_only=True, tag="story_started"):
    """A story of a behaviour suite begins; what an earlier attempt at it recorded is void."""

    scenario: str


class Observed(_JournalEvent, frozen=True, kw_only=True, tag="observed"):
    """Something was done to a memory in a behaviour suite other than feeding and asking it."""

    scenario: str
    lane: str
    """The memory, where a story has several."""
    phase: str
    """The part of the story it belongs to."""
    action: str
    """`erase`, `list`, `search`, `poll`, `consolidate`, `restart`, `write` or `load`."""
    item: str | None = None
    """The question it is about."""
    confirmed: bool | None = None
    """Whether the memory says that it was done; None if it does not say."""
    count: int | None = None
    found: tuple[str, ...] = ()
    """The planted strings that were found."""
    seconds: Seconds | None = None
    """How long it took; None if it did not happen in the time allowed."""
    fault: str | None = None
    """Why it failed."""
    values: dict[str, float] = field(default_factory=dict)
    """Further figures, by name."""
    histograms: dict[str, str] = field(default_factory=dict)
    """Times in microseconds, by name, as encoded by HdrHistogram."""


class StoryEnded(_JournalEvent, frozen=True, kw_only=True, tag="story_ended"):
    """All steps of a story of a behaviour suite were done."""

    scenario: str


class RunEnded(_JournalEvent, frozen=True, kw_only=True, tag="run_ended"):
    """Every owed trial has its outcome. A journal without this line is unfinished."""


Event = (
    RunStarted
    | RunResumed
    | Declared
    | BoundsComputed
    | Ingested
    | Settled
    | Inspected
    | FeedFailed
    | Metered
    | Exchanged
    | ToolCalled
    | AgentEnded
    | Answered
    | NotAnswered
    | Postponed
    | Judged
    | NotJudged
    | OtherVerdict
    | Paid
    | ReadingPaid
    | StoryStarted
    | Observed
    | StoryEnded
    | RunEnded
)

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_ENCODER = msgspec.json.Encoder()


def decode_event(line: bytes) -> Event:
    """Decode a journal line; raises msgspec.ValidationError if it is no event."""
    return decode_untrusted_line(_DECODER, split_link(line.removesuffix(b"\n"))[0])


def encode_event(event: Event) -> bytes:
    """Encode one journal line, without its link and its newline."""
    return _ENCODER.encode(event)


Outcome = Judged | NotJudged | NotAnswered
"""The final event of a trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """One trial with its events. Every owed trial has one, run or not."""

    trial: Trial
    item: Item
    answered: Answered | None = None
    outcome: Outcome | None = None
    """None while the trial is still to do."""
    others: tuple[OtherVerdict | None, ...] = ()
    """What each other judge of the plan says, in their order; None for one that was not asked."""
