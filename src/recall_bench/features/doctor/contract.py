"""The contract of memory systems, and its checks.

The checks need no language model. They feed a memory facts whose values are made-up words, ask
about them in plain language, and look for the words in the answer or the passages.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from recall_bench.core.errors import NotOffered, SystemFault, SystemGone, UsageError
from recall_bench.core.memory import (
    EraseScope,
    MemorySystem,
    Offer,
    PortableSnapshots,
    get_worker_limit,
)
from recall_bench.core.runtime import run_to_end
from recall_bench.features.doctor.check_context import (
    CheckContext,
    CheckDoesNotApply,
    CheckResult,
    ContractBroken,
    ContractReport,
    Observations,
    Outcome,
)
from recall_bench.features.doctor.isolation_checks import (
    check_empty_memory,
    check_isolation,
    check_reset,
    check_sessions,
    check_snapshots,
)
from recall_bench.features.doctor.offer_checks import (
    NOT_OFFERED,
    check_consolidation,
    check_erasure,
    check_reopening,
    check_stored,
)
from recall_bench.features.doctor.recall_checks import (
    check_dates,
    check_large_day,
    check_order,
    check_round_trip,
    check_scripts,
)
from recall_bench.features.doctor.stability_checks import (
    check_asking,
    check_concurrency,
    check_count,
    check_errors,
    check_finalize,
    check_holdings,
    check_readiness,
)

T = TypeVar("T")

SEED = 42
TIMEOUT_S = 120.0
"""The default time limit of one call to the system."""


@dataclass(frozen=True, slots=True)
class ContractCheck:
    """One check of the contract."""

    name: str
    run: Callable[[CheckContext], Awaitable[str]]
    """Returns what was observed, or raises ContractBroken or CheckDoesNotApply."""
    rests_on_recall: bool = True
    """Whether it is meaningless for a system that finds nothing at all."""


ROUND_TRIP = ContractCheck("round-trip", check_round_trip, rests_on_recall=False)

CHECKS = (
    ROUND_TRIP,
    ContractCheck("order", check_order),
    ContractCheck("empty-memory", check_empty_memory, rests_on_recall=False),
    ContractCheck("isolation", check_isolation),
    ContractCheck("reset", check_reset),
    ContractCheck("readiness", check_readiness),
    ContractCheck("finalize", check_finalize),
    ContractCheck("asking", check_asking),
    ContractCheck("count", check_count, rests_on_recall=False),
    ContractCheck("holdings", check_holdings, rests_on_recall=False),
    ContractCheck("concurrency", check_concurrency),
    ContractCheck("dates", check_dates),
    ContractCheck("sessions", check_sessions),
    ContractCheck("unicode", check_scripts),
    ContractCheck("large-day", check_large_day, rests_on_recall=False),
    ContractCheck("errors", check_errors),
    ContractCheck("snapshots", check_snapshots),
    *(ContractCheck(scope.offer.value, partial(check_erasure, scope)) for scope in EraseScope),
    ContractCheck(Offer.STORED.value, check_stored),
    ContractCheck(Offer.CONSOLIDATE.value, check_consolidation),
    ContractCheck(Offer.REOPEN.value, check_reopening),
)
"""Every check, in order."""


async def check_system(
    system: MemorySystem,
    *,
    only: Collection[str] = (),
    seed: int = SEED,
    timeout_s: float = TIMEOUT_S,
    on_progress: Callable[[str], None] = lambda _: None,
) -> ContractReport:
    """Run every check, or those named.

    A check has failed if one of its calls takes longer than `timeout_s`. The system stays open.
    SystemGone is raised if it opens no memory at all, UsageError if there is no such check.
    """
    names = [check.name for check in CHECKS]
    for name in only:
        if name not in names:
            raise UsageError(f"there is no check {name!r}; there are {', '.join(names)}")
    observations = Observations()
    results = []
    for check in CHECKS:
        is_wanted = not only or check.name in only
        if not is_wanted and check is not ROUND_TRIP:
            continue
        on_progress(check.name)
        context = CheckContext(
            system, name=check.name, seed=seed, timeout_s=timeout_s, observations=observations
        )
        outcome, message = await _run_check(check, context)
        if is_wanted:
            results.append(CheckResult(name=check.name, outcome=outcome, message=message))
    return ContractReport(
        system=system.card,
        seed=seed,
        checks=tuple(results),
        seen=observations.seen.replace(
            snapshots=system.snapshots is not None,
            portable=isinstance(system.snapshots, PortableSnapshots),
        ),
        max_shards=get_worker_limit(system),
    )


async def _run_check(check: ContractCheck, context: CheckContext) -> tuple[Outcome, str]:
    if check.rests_on_recall and context.observations.seen.recall == 0:
        return (
            Outcome.NOT_APPLICABLE,
            "it finds nothing of what it is fed, so this would prove nothing",
        )
    try:
        # Run a check, and close everything it opened.
        try:
            message = await check.run(context)
        except BaseException:
            await context.close_quietly()
            raise
        await context.close()
    except CheckDoesNotApply as reason:
        return Outcome.NOT_APPLICABLE, str(reason)
    except NotOffered:
        return Outcome.NOT_APPLICABLE, NOT_OFFERED
    except ContractBroken as broken:
        return Outcome.FAILED, str(broken)
    except (SystemFault, SystemGone) as fault:
        if check is ROUND_TRIP and isinstance(fault, SystemGone) and context.is_unused:
            raise
        return Outcome.FAILED, (
            f"expected {context.step} to succeed, but it raised {type(fault).__name__}: {fault}; "
            "see the system's own log"
        )
    return Outcome.PASSED, message


async def close_after(system: MemorySystem, work: Awaitable[T]) -> T:
    """The result of work with a system, which is closed whatever comes of it."""
    try:
        return await work
    finally:
        await system.close()


async def assert_contract_async(
    system: MemorySystem,
    *,
    only: Collection[str] = (),
    seed: int = SEED,
    timeout_s: float = TIMEOUT_S,
) -> ContractReport:
    """Check a system, close it, and raise AssertionError with the failed checks."""
    checking = check_system(system, only=only, seed=seed, timeout_s=timeout_s)
    report = await close_after(system, checking)
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
    """Do the same without an event loop."""
    return run_to_end(
        partial(assert_contract_async, system, only=only, seed=seed, timeout_s=timeout_s)
    )
