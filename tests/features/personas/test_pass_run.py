"""Work side by side: bounded, in order, and never before what it looks back on."""

import anyio
import anyio.lowlevel
import pytest

from recall_bench.features.personas.pass_run import run_units


@pytest.mark.parametrize("at_once", [1, 3, 8])
@pytest.mark.parametrize("lag", [None, 1, 4])
def test_a_unit_begins_when_what_lies_behind_its_lag_is_done(at_once: int, lag: int | None) -> None:
    done: set[int] = set()
    begun: list[int] = []
    busy = most = 0

    async def make(unit: int) -> None:
        nonlocal busy, most
        begun.append(unit)
        assert lag is None or done >= set(range(unit - lag + 1))
        busy += 1
        most = max(most, busy)
        for _ in range(100):  # others get their turn, however long that takes
            await anyio.lowlevel.checkpoint()
        busy -= 1
        done.add(unit)

    async def run() -> None:
        await run_units(range(20), make, concurrency=at_once, lag=lag)

    anyio.run(run)
    assert begun == list(range(20))
    assert most == min(at_once, lag or at_once)


def test_what_one_raises_ends_all() -> None:
    made: list[int] = []

    async def make(unit: int) -> None:
        if unit == 2:
            raise ValueError("no")
        await anyio.sleep(5)
        made.append(unit)

    async def run() -> None:
        with pytest.raises(ExceptionGroup):
            await run_units(range(50), make, concurrency=4, lag=8)

    anyio.run(run)
    assert made == []
