"""Looking into a memory before it is asked: what it still holds, and how large it has become."""

from collections.abc import Sequence
from datetime import UTC, datetime

from recall_bench.core.event import Inspected
from recall_bench.core.history import Episode
from recall_bench.core.memory import Holdings, Memory, MemoryWithHoldings
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.errors import SystemFault, SystemGone, SystemStuck, SystemTimeout
from recall_bench.running.examination import ScenarioRun
from recall_bench.running.patience import limit_time, retry

_MOST_BYTES = 2**63
"""No journal could hold more, and no memory does."""


async def inspect_memory(
    memory: Memory, fed: Sequence[Episode], *, exam: ScenarioRun, sheet: CheckpointPlan
) -> bool:
    """Put on record what a memory says of itself that was fed these episodes, once a checkpoint.

    Nothing that goes wrong with it is raised: it is recorded, and whoever is gone will be missed
    when the first question is put. False if the memory did not come back in time: it may be stuck,
    and the scenario's other memories are spared the same.
    """
    label = sheet.checkpoint.label
    if not isinstance(memory, MemoryWithHoldings) or label in exam.inspected:
        return True
    exam.inspected.add(label)
    try:
        held = await _read_holdings(memory, exam.plan.feed_timeout_s)
    except (SystemFault, SystemGone) as fault:
        _record_inspection(exam, label, fault=f"{type(fault).__name__}: {fault}")
        if not isinstance(fault, SystemTimeout | SystemStuck):
            return True
        exam.inspected.update(exam.standing.row)
        return False
    if held != Holdings():
        _record_inspection(exam, label, lost=_find_lost_days(fed, held), size=held.bytes)
    return True


async def _read_holdings(memory: MemoryWithHoldings, timeout_s: float) -> Holdings:
    async def read_once() -> Holdings:
        overrun = SystemTimeout(f"looking into it took longer than {timeout_s:g} s")
        return await limit_time(timeout_s, memory.holdings(), overrun)

    held = await retry(read_once)
    if held.bytes is not None and not 0 <= held.bytes < _MOST_BYTES:
        raise SystemFault(f"it says that it takes {held.bytes} bytes")
    return held


def _find_lost_days(fed: Sequence[Episode], held: Holdings) -> tuple[int, ...] | None:
    """The days it holds nothing of. A day without a word leaves nothing to hold."""
    if held.days is None:
        return None
    kept = frozenset(held.days)
    return tuple(each.day for each in fed if each.day not in kept and each.text.strip())


def _record_inspection(
    exam: ScenarioRun,
    checkpoint: str,
    *,
    lost: tuple[int, ...] | None = None,
    size: int | None = None,
    fault: str | None = None,
) -> None:
    exam.record(
        Inspected(
            at=datetime.now(UTC),
            scenario=exam.scenario.id,
            checkpoint=checkpoint,
            lost=lost,
            bytes=size,
            fault=fault,
        )
    )
