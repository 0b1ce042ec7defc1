"""Runs the cases of a target: each is a change to a seed, and what the reader made of it."""

import resource
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

from tests.fuzz.mutator import mutate
from tests.fuzz.target import FuzzTarget, OpenTarget, Reading, Seed

SEED = 20
"""The seed of the cases in the test suite."""

HANG_S = 5.0
"""More processor time than this for one case is a hang."""
ALARM_S = 20
"""So is more wall time than this; a busy machine needs some patience."""

MEMORY_BYTES = 1 << 30
"""How much a case may add to the memory of the process."""

LONGEST_LINE = 4000
"""The longest line of a refusal in characters: nobody reads more."""


class StillReading(BaseException):
    """The alarm went off within a case. No reader may catch it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A case that ended as none may."""

    target: str
    number: int
    problem: str
    content: bytes
    seed: Seed
    trace: str = ""

    def __str__(self) -> str:
        shown = self.content if len(self.content) <= 400 else self.content[:400] + b"..."
        return f"{self.target} #{self.number} {self.seed.name}: {self.problem}\n  {shown!r}"


@dataclass(slots=True)
class Tally:
    """What the cases of one target came to."""

    target: str
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    slowest_s: float = 0.0


def run_cases(target: FuzzTarget, folder: Path, numbers: range, *, seed: int = SEED) -> Tally:
    """Run the cases with these numbers; equal numbers and seeds make equal cases."""
    tally = Tally(target.name)
    opened = target.open(folder)
    clean: dict[Seed, Reading] = {}
    for number in numbers:
        random = Random(f"{seed} {target.name} {number}")
        chosen = random.choice(opened.seeds)
        content = mutate(chosen.content, chosen.format, random)
        if chosen not in clean:
            clean[chosen] = _read_clean(target, opened, chosen)
        before = time.process_time()
        outcome, problem, trace = _run_case(target, opened, chosen, content, clean[chosen])
        spent = time.process_time() - before
        if spent > HANG_S and outcome != "crash":
            outcome, problem = "hang", f"took {spent:.1f} s of processor time"
        tally.slowest_s = max(tally.slowest_s, spent)
        tally.outcomes[outcome] += 1
        if problem:
            tally.findings.append(Finding(target.name, number, problem, content, chosen, trace))
    return tally


def _read_clean(target: FuzzTarget, opened: OpenTarget, seed: Seed) -> Reading:
    try:
        return opened.read(seed, seed.content)
    except target.refusals as error:
        # A fault that a server reports is valid and no answer: anything accepted is another.
        return Reading(None, str(error))


def _run_case(
    target: FuzzTarget, opened: OpenTarget, seed: Seed, content: bytes, clean: Reading
) -> tuple[str, str, str]:
    """The outcome, and what is wrong with it."""
    try:
        with _limit_time(), _limit_memory():
            found = opened.read(seed, content)
    except target.refusals as error:
        return "refused", _check_sentence(error), ""
    except StillReading:
        return "hang", f"still reading after {ALARM_S} s", traceback.format_exc()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
        return "crash", f"{type(error).__name__}: {error!s:.300}", traceback.format_exc()
    if found.records != clean.records and found.identity == clean.identity:
        return "unnoticed", "other records, and nothing that is recorded shows it", ""
    return "accepted", "", ""


def _check_sentence(error: Exception) -> str:
    """What is wrong with the message of a refusal; empty if nothing is."""
    message = str(error)
    if not message.strip():
        return f"{type(error).__name__} says nothing"
    longest = max(map(len, message.splitlines()))
    if longest > LONGEST_LINE:
        return f"{type(error).__name__} says {longest:,} characters in one line: {message:.200}"
    return ""


@contextmanager
def _limit_time() -> Iterator[None]:
    def give_up(_: int, __: FrameType | None) -> None:
        raise StillReading

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(ALARM_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _limit_memory() -> Iterator[None]:
    """Let a case that needs too much memory end in a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
