"""The contract every system keeps, whatever it is made of, and the checks that hold it to it.

The checks need no language model. They tell a memory facts whose values are made-up words, ask
about them in plain language, and look for the words in whatever comes back, an answer or passages.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

import anyio

from recall_bench.core.memory import MemorySystem, shards_stood
from recall_bench.errors import SystemFault, SystemGone, UsageError
from recall_bench.testing.bench import Bench, Broken, DoesNotApply, Sight
from recall_bench.testing.checks.copies import snapshots
from recall_bench.testing.checks.dates import dates
from recall_bench.testing.checks.holdings import holdings
from recall_bench.testing.checks.recall import large_day, order, round_trip, scripts
from recall_bench.testing.checks.resilience import errors
from recall_bench.testing.checks.separation import empty_memory, isolation, reset, sessions
from recall_bench.testing.checks.steadiness import asking, concurrency, count, finalize, readiness
from recall_bench.testing.report import CheckResult, ContractReport, Outcome

SEED = 42
TIMEOUT_S = 120.0
"""What one call of the system may take unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class Check:
    """One clause of the contract."""

    name: str
    look: Callable[[Bench], Awaitable[str]]
    """Says what was seen, or raises Broken or DoesNotApply."""
    rests_on_recall: bool = True
    """Whether it can say nothing about a system that finds nothing at all."""


ROUND_TRIP = Check("round-trip", round_trip, rests_on_recall=False)

CHECKS = (
    ROUND_TRIP,
    Check("order", order),
    Check("empty-memory", empty_memory, rests_on_recall=False),
    Check("isolation", isolation),
    Check("reset", reset),
    Check("readiness", readiness),
    Check("finalize", finalize),
    Check("asking", asking),
    Check("count", count, rests_on_recall=False),
    Check("holdings", holdings, rests_on_recall=False),
    Check("concurrency", concurrency),
    Check("dates", dates),
    Check("sessions", sessions),
    Check("unicode", scripts),
    Check("large-day", large_day, rests_on_recall=False),
    Check("errors", errors),
    Check("snapshots", snapshots),
)
"""Every clause, in the order in which they are put."""


async def check_system(
    system: MemorySystem,
    *,
    only: Collection[str] = (),
    seed: int = SEED,
    timeout_s: float = TIMEOUT_S,
    telling: Callable[[str], None] = lambda _: None,
) -> ContractReport:
    """Put every clause to the system, or only those named, and say how each went.

    A check has failed if one of its calls takes longer than `timeout_s`. The system stays open.
    SystemGone is raised if it opens no memory at all, UsageError if there is no such check.
    """
    _refuse_unknown(only)
    sight = Sight()
    results = []
    for check in CHECKS:
        is_wanted = not only or check.name in only
        if not is_wanted and check is not ROUND_TRIP:
            continue
        telling(check.name)
        bench = Bench(system, name=check.name, seed=seed, timeout_s=timeout_s, sight=sight)
        outcome, message = await _outcome(check, bench)
        if is_wanted:
            results.append(CheckResult(name=check.name, outcome=outcome, message=message))
    return ContractReport(
        system=system.card,
        seed=seed,
        checks=tuple(results),
        seen=sight.seen(system),
        max_shards=shards_stood(system),
    )


def _refuse_unknown(only: Collection[str]) -> None:
    known = [check.name for check in CHECKS]
    for name in only:
        if name not in known:
            raise UsageError(f"there is no check {name!r}; there are {', '.join(known)}")


async def _outcome(check: Check, bench: Bench) -> tuple[Outcome, str]:
    if check.rests_on_recall and bench.sight.recall == 0:
        return (
            Outcome.NOT_APPLICABLE,
            "it finds nothing of what it is told, so this would prove nothing",
        )
    try:
        message = await _looked(check, bench)
    except DoesNotApply as reason:
        return Outcome.NOT_APPLICABLE, str(reason)
    except Broken as broken:
        return Outcome.FAILED, str(broken)
    except (SystemFault, SystemGone) as fault:
        if check is ROUND_TRIP and isinstance(fault, SystemGone) and bench.is_untouched:
            raise
        return Outcome.FAILED, (
            f"expected {bench.step} to succeed, but it raised {type(fault).__name__}: {fault}; "
            "see the system's own log"
        )
    return Outcome.PASSED, message


async def _looked(check: Check, bench: Bench) -> str:
    """What the check says, after closing whatever it opened."""
    try:
        message = await check.look(bench)
    except BaseException:
        await bench.abandon()
        raise
    await bench.close()
    return message


async def assert_contract_async(
    system: MemorySystem,
    *,
    only: Collection[str] = (),
    seed: int = SEED,
    timeout_s: float = TIMEOUT_S,
) -> ContractReport:
    """Check a system, close it, and raise AssertionError saying which clauses it breaks."""
    try:
        report = await check_system(system, only=only, seed=seed, timeout_s=timeout_s)
    finally:
        await system.close()
    if not report.is_kept:
        broken = "\n".join(f"{check.name}: {check.message}" for check in report.failures)
        raise AssertionError(f"{report.system.name} breaks the contract\n{broken}")
    return report


def assert_contract(
    system: MemorySystem,
    *,
    only: Collection[str] = (),
    seed: int = SEED,
    timeout_s: float = TIMEOUT_S,
) -> ContractReport:
    """The same for a caller without an event loop."""

    async def checked() -> ContractReport:
        return await assert_contract_async(system, only=only, seed=seed, timeout_s=timeout_s)

    return anyio.run(checked)
