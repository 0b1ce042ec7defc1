"""The context of a contract check: its memories and facts, what was observed, and the report."""

import json
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from textwrap import wrap
from typing import TypeVar

import anyio

from recall_bench.core.errors import BenchError
from recall_bench.core.memory import (
    Answer,
    Asker,
    AttestingMemory,
    Clock,
    Holdings,
    Memory,
    MemorySystem,
    MemoryWithHoldings,
    RetrievalReply,
    SystemCard,
)
from recall_bench.core.plain_text import Column, Table, render_text
from recall_bench.core.record import Record
from recall_bench.core.retry import retry
from recall_bench.core.scenario import PRINCIPAL, Episode, Question, hash_question_id
from recall_bench.features.doctor.story import (
    StoryFact,
    compute_date,
    make_change,
    make_episode,
    make_fact,
    write_day,
)


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not-applicable"


_CLAIM_COLUMNS = (
    Column("what it is", 26, is_text=True),
    Column("declared", is_text=True),
    Column("seen", is_text=True),
)
SIGNS = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.NOT_APPLICABLE: "–"}


class CheckResult(Record, frozen=True, kw_only=True):
    """The result of one check of the contract."""

    name: str
    outcome: Outcome
    message: str
    """If it passed, what was observed; if it failed, what was expected, what happened and what to
    do; otherwise why it does not apply."""


class Seen(Record, frozen=True, kw_only=True):
    """The observed properties of a system, whatever its card says; None if unknown."""

    clock: Clock | None = None
    asker: Asker | None = None
    questions_at_once: int | None = None
    """How many questions at once it answered as well as one by one."""
    memories_at_once: bool | None = None
    """Whether two memories could be open at once."""
    snapshots: bool = False
    """Whether it has snapshots."""
    portable: bool = False
    """Whether its snapshots can be packed for another process."""
    streams: bool | None = None
    """Whether it ingests many episodes at once."""
    answers: bool | None = None
    """False if it only returned passages."""
    recall: float | None = None
    """The share of facts, one a day, that it found again."""


class ContractReport(Record, frozen=True, kw_only=True):
    """Everything that was checked of one system."""

    system: SystemCard
    seed: int
    checks: tuple[CheckResult, ...]
    seen: Seen
    max_shards: int | None = None
    """How many workers may have memories open in it at once; None for no limit."""

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The failed checks."""
        return tuple(check for check in self.checks if check.outcome is Outcome.FAILED)

    @property
    def is_kept(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    def get_result(self, name: str) -> CheckResult:
        """Return the result of a check by name; KeyError if it was not run."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def render(self, width: int = 100) -> str:
        """Render the checks, and the declared and observed properties of the system."""
        names = max((len(check.name) for check in self.checks), default=0)
        lines = [f"{self.system.name} {self.system.version}", ""]
        for check in self.checks:
            lead = f"  {SIGNS[check.outcome]} {check.name:{names}}  "
            lines += wrap(
                check.message, width, initial_indent=lead, subsequent_indent=" " * len(lead)
            )
        claims = render_text(Table(_CLAIM_COLUMNS, self._list_claims()))
        lines += ["", *(f"  {line}" for line in claims)]
        if self.system.caveats:
            lines += ["", "  what cannot be guaranteed"]
            lines += [f"  * {caveat}" for caveat in self.system.caveats]
        return "\n".join(lines)

    def _list_claims(self) -> list[tuple[str, str, str]]:
        """List each property as declared and as observed."""
        card, observed = self.system, self.seen
        at_once, together = observed.questions_at_once, observed.memories_at_once
        return [
            ("how it knows the date", card.clock or "not declared", observed.clock or "?"),
            ("use of the asker's session", card.asker, observed.asker or "?"),
            ("questions at once", str(card.max_concurrency), str(at_once or "?")),
            (
                "answers rather than finds",
                _format_claim(card.answers),
                _format_claim(observed.answers),
            ),
            ("workers at a time", str(self.max_shards or "any"), ""),
            ("copies", "", _format_claim(observed.snapshots)),
            ("snapshots another process can open", "", _format_claim(observed.portable)),
            ("two memories at once", "", _format_claim(together)),
            ("facts found again", "", "?" if observed.recall is None else f"{observed.recall:.0%}"),
        ]


def _format_claim(claim: bool | None) -> str:
    return "?" if claim is None else "yes" if claim else "no"


T = TypeVar("T")

CLOSE_TIMEOUT_S = 10.0
"""How long a memory may take to close after its check."""

_INVISIBLE = dict.fromkeys(
    (
        *(code for code in range(32) if chr(code) not in "\t\n\r"),
        *range(0x7F, 0xA0),
        *(0x200E, 0x200F, 0x061C, 0xFE0F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    )
)
"""Control characters, direction marks and emoji variation selectors, which a system may drop."""


class ContractBroken(Exception):
    """The system fails a check; the message is a complete sentence."""


def describe_declaration(name: str, value: object) -> str:
    """How a system declares a property: in its class, or in what its server or program says."""
    encoded = json.dumps(value)
    return (
        f"declare {name} = {value!r} in the class, or a server or program replies to health with "
        f"{{{json.dumps(name)}: {encoded}}}"
    )


class CheckDoesNotApply(Exception):
    """The check does not apply to this system; the message says why."""


@dataclass(frozen=True, slots=True)
class CheckReply:
    """A reply: the answer, then the passages, best first."""

    said: str
    """The answer's text; empty if the system only retrieves."""
    passages: tuple[str, ...]

    @property
    def full_text(self) -> str:
        """Answer and passages, normalised."""
        return "\n".join((normalise_text(self.said), *map(normalise_text, self.passages)))

    def contains(self, words: str) -> bool:
        """Whether the words occur anywhere in it, ignoring case."""
        return normalise_text(words) in self.full_text

    def find_facts(self, facts: Collection[StoryFact]) -> list[StoryFact]:
        """Find the facts whose markers occur in it, in order of occurrence."""
        whole = self.full_text
        places = {one: whole.find(normalise_text(one.marker)) for one in facts}
        return sorted((fact for fact in facts if places[fact] >= 0), key=places.__getitem__)


def normalise_text(text: str) -> str:
    """Normalise what a system may change without changing the content."""
    return unicodedata.normalize("NFC", text).translate(_INVISIBLE).casefold()


@dataclass
class Observations:
    """What was seen so far. Checks add to it."""

    seen: Seen = field(default_factory=Seen)

    def note(self, **observed: object) -> None:
        """Note what was observed."""
        self.seen = self.seen.replace(**observed)


class CheckContext:
    """The system as one check sees it, with facts and memories of the check's own."""

    def __init__(
        self,
        system: MemorySystem,
        *,
        name: str,
        seed: int,
        timeout_s: float,
        observations: Observations,
    ) -> None:
        self.system = system
        self.name = name
        self.seed = seed
        self.observations = observations
        self._timeout_s = timeout_s
        self.step = "beginning"
        """The current step, as a gerund for messages."""
        self._open: list[CheckedMemory] = []
        self._has_opened = False

    @property
    def is_unused(self) -> bool:
        """Whether no memory was opened for this check yet."""
        return not self._has_opened

    def make_fact(self, thing: int) -> StoryFact:
        """Make a fact that no other check uses."""
        return make_fact(self.seed, self.name, thing)

    def make_change(self, thing: int) -> StoryFact:
        """Make a later value of the same fact."""
        return make_change(self.seed, self.name, thing)

    async def open(self, scenario: str = "") -> "CheckedMemory":
        """Open a memory; it is closed with the check at the latest."""
        place = f"check-{self.name}{'-' * bool(scenario)}{scenario}"
        memory = await self.call("opening a memory", partial(self.system.open, place))
        return self.hold_memory(memory, place)

    def hold_memory(self, memory: Memory, scenario: str) -> "CheckedMemory":
        """Add a memory that was opened elsewhere; it is closed with the check at the latest."""
        self._has_opened = True
        subject = CheckedMemory(self, memory, scenario)
        self._open.append(subject)
        return subject

    def release(self, subject: "CheckedMemory") -> None:
        """Forget a closed memory."""
        self._open.remove(subject)

    async def close(self) -> None:
        """Close the open memories; ContractBroken if that takes too long."""
        while self._open:
            with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True) as scope:
                await self._open[-1].close()
            if scope.cancelled_caught:
                raise ContractBroken(
                    f"expected a memory to close, but it had not after {CLOSE_TIMEOUT_S:.0f} s; "
                    "see what close or teardown waits for"
                )

    async def close_quietly(self) -> None:
        """Close the open memories of a failed check, ignoring errors."""
        step = self.step
        while self._open:
            with suppress(ContractBroken, BenchError):
                await self.close()
        self.step = step

    async def call(self, step: str, call: Callable[[], Awaitable[T]]) -> T:
        """Return what the system returns, retried while it is busy, as in a run.

        Our own errors pass. Other exceptions and timeouts break the contract.
        """
        self.step = step
        try:
            with anyio.move_on_after(self._timeout_s):
                return await retry(call)
        except BenchError:
            raise
        except Exception as error:
            raise ContractBroken(
                f"expected {step} to succeed or to raise SystemFault, but it raised "
                f"{type(error).__name__}: {error}; translate what the system raises"
            ) from error
        raise ContractBroken(
            f"expected {step} to be over within {self._timeout_s:g} s, but it was not; see what "
            "it waits for, or allow more time"
        )


class CheckedMemory:
    """A memory under check."""

    def __init__(self, context: CheckContext, memory: Memory, scenario: str) -> None:
        self.memory = memory
        self.scenario = scenario
        self.last_day = 0
        self._context = context

    async def feed_all(self, *days: Episode) -> None:
        """Ingest the days one by one, and settle."""
        for day in days:
            await self.feed(day)
        await self.settle()

    async def tell_facts(self, facts: Sequence[StoryFact]) -> None:
        """Ingest one more day for each fact, and settle."""
        await self.feed_all(
            *(
                make_episode(day, write_day(day, fact.sentence))
                for day, fact in enumerate(facts, start=self.last_day + 1)
            )
        )

    async def feed(self, day: Episode) -> None:
        """Ingest one day."""
        self.last_day = day.day
        await self._context.call(f"ingesting day {day.day}", partial(self.memory.ingest, day))

    async def settle(self) -> None:
        """Wait until everything can be queried."""
        await self._context.call("settling", self.memory.settle)

    async def ask(self, text: str, session: str = PRINCIPAL) -> CheckReply:
        """Ask a question on the last ingested day."""
        question = Question(
            id=hash_question_id(self.scenario, f"{session}\0{text}"),
            text=text,
            asked_at=compute_date(max(self.last_day, 1)),
            scenario=self.scenario,
            session=session,
        )
        excerpt = text if len(text) <= 60 else f"{text[:57]}…"
        reply = await self._context.call(
            f"answering {excerpt!r}", partial(self.memory.answer, question)
        )
        log = self._context.observations
        log.note(answers=bool(log.seen.answers) or isinstance(reply, Answer))
        if isinstance(reply, Answer):
            return CheckReply(reply.text, tuple(passage.text for passage in reply.passages))
        if not isinstance(reply, RetrievalReply):
            raise ContractBroken(
                f"expected an Answer or a Found, but answering gave a {type(reply).__name__}; "
                "return one of the two"
            )
        return CheckReply("", tuple(passage.text for passage in reply.passages))

    async def find_facts(self, facts: Sequence[StoryFact]) -> list[StoryFact]:
        """Ask about each fact, and return those that were found."""
        return [fact for fact in facts if (await self.ask(fact.question)).contains(fact.marker)]

    async def require_fact(self, known: StoryFact, when: str) -> None:
        """Raise ContractBroken unless the fact is found: the rest of a check depends on it."""
        if not await self.find_facts([known]):
            raise ContractBroken(
                f"expected {known.marker!r} to be found {when}, but it was not, so the rest "
                "cannot be checked; see that a day that is fed is stored and found"
            )

    async def count_days(self) -> int | None:
        """Return how many days it reports to have ingested; None if it does not report it."""
        if not isinstance(self.memory, AttestingMemory):
            return None
        return await self._context.call("counting its days", self.memory.attest)

    async def read_holdings(self) -> Holdings:
        """Return what it reports to hold; empty if it does not report it."""
        if not isinstance(self.memory, MemoryWithHoldings):
            return Holdings()
        return await self._context.call("reporting what it holds", self.memory.holdings)

    async def close(self) -> None:
        """Release the memory."""
        self._context.release(self)
        await self._context.call("closing a memory", self.memory.close)
