"""Snapshots on their way from who feeds to who asks."""

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from stat import S_IMODE
from typing import Any, cast

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.event import Answered
from recall_bench.core.plan import Lifecycle
from recall_bench.core.settings import Executor
from recall_bench.engine.assembly import assemble
from recall_bench.engine.runs.journal import read_events
from recall_bench.engine.worker_messages import (
    OnEvents,
    RunUnit,
    UnitEvents,
)
from tests.engine.pool.pool_runs import (
    Beside,
    Frail,
    StartedWorkers,
    alone,
    frail,
    outcome,
    run_alone,
    run_spread,
    settings,
)
from tests.engine.result_views import done_twice
from tests.gardener import write_persona
from tests.thoroughness import choose_number

RANGES = tuple(f"{days}d" for days in range(3, choose_number(8, 11)))
"""More checkpoints than snapshots may wait."""

SLOW = """
import time

class Adapter:
    name, version, can_snapshot = "slow", "1", True

    def setup(self):
        self.lines = []

    def ingest_day(self, day, content, metadata):
        self.lines += content.splitlines()

    def query(self, question):
        time.sleep(0.01)
        wanted = set(question.lower().strip("?").split())
        best = max(self.lines, key=lambda line: len(wanted & set(line.lower().strip(".").split())))
        return f"{best} That is all I know from {len(self.lines)} lines."
"""


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    for name in ("gardener", "grower"):
        write_persona(tmp_path / "data", name)
    (tmp_path / "slow.py").write_text(SLOW)
    return {
        "data": tmp_path / "data",
        "ranges": RANGES,
        "lifecycle": Lifecycle.FORKED,
        "adapter": str(tmp_path / "slow.py"),
        "in_process": True,
    }


class Blind(Beside):
    """A worker on a machine where the folder of the run is not."""

    async def perform(self, message: RunUnit, told: OnEvents) -> None:
        unit = message.unit.replace(place="/nowhere/at/all")
        if unit.snapshot is not None:
            unit = unit.replace(snapshot="/nowhere/at/all")
        await super().perform(replace(message, unit=unit), told)


def start_blind(blind: Collection[int]) -> StartedWorkers:
    """Workers of which those with these numbers do not see the folder."""
    return StartedWorkers(make=lambda number: (Blind if number in blind else Beside)(number))


def test_workers_that_cannot_see_the_folder_feed_for_themselves(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    run_alone(tmp_path / "one", **given)
    for blind in ({1}, {2, 3}, {1, 2, 3}):
        into = tmp_path / f"pool-{len(blind)}"

        ended = run_spread(into, 3, start_blind(blind), **given)

        assert ended.exit_code == 0, blind
        assert outcome(into) == outcome(tmp_path / "one"), blind
        assert done_twice(into) == [], blind
        assert not (into / ".exchange").exists(), blind


class Counting(Beside):
    """Notes each snapshot: how many lie ready, and who may open it."""

    def __init__(self, number: int = 0) -> None:
        super().__init__(number)
        self.lay: list[int] = []
        self.modes: set[int] = set()

    def tells(self, told: OnEvents, events: UnitEvents) -> None:
        if events.snapshot is not None:
            place = Path(events.snapshot.place)
            self.lay.append(len(list(place.parent.iterdir())))
            self.modes.add(S_IMODE(place.stat().st_mode))
        super().tells(told, events)


def test_feeding_pauses_when_enough_snapshots_wait(tmp_path: Path, given: dict[str, Any]) -> None:
    """A pool of two lets four wait for each scenario."""
    started = StartedWorkers(make=Counting)

    assert run_spread(tmp_path / "pool", 2, started, **given).exit_code == 0

    lay = [number for worker in started.all for number in cast("Counting", worker).lay]
    assert len(lay) == 2 * len(RANGES)
    assert max(lay) <= 4


def test_a_snapshot_is_closed_to_other_users_whatever_the_umask(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    """To open one can run code."""
    started = StartedWorkers(make=Counting)
    given |= {"adapter": "bm25", "in_process": False, "ranges": ("5d",)}

    mask = os.umask(0)
    try:
        ended = run_spread(tmp_path / "pool", 2, started, **given)
    finally:
        os.umask(mask)

    assert ended.exit_code == 0
    assert {mode for worker in started.all for mode in cast("Counting", worker).modes} == {0o700}


class DiesFeeding(Frail):
    """Dies while feeding, after this many snapshots."""

    def tells(self, told: OnEvents, events: UnitEvents) -> None:
        if events.snapshot is not None:
            super().tells(told, events)
        elif not self._is_dead:
            told(events)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_a_second_feeder_leaves_the_snapshots_of_the_first_alone(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    """Those of the first are still to be asked when the second saves its own."""

    def make(number: int) -> Beside:
        return DiesFeeding(number, 2) if number <= 2 else Beside(number)

    given["repeats"] = 3
    run_alone(tmp_path / "one", **given)
    started = StartedWorkers(make=make)

    ended = run_spread(tmp_path / "pool", 2, started, **given)

    assert ended.exit_code == 0
    assert len(started.all) == 4
    assert outcome(tmp_path / "pool") == outcome(tmp_path / "one")
    assert done_twice(tmp_path / "pool") == []


def test_a_link_in_place_of_the_exchange_is_not_followed(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    kept = tmp_path / "kept"
    for number in range(3):
        (kept / f"{number:06}").mkdir(parents=True)
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / ".exchange").symlink_to(kept)

    with pytest.raises(UsageError, match=r"\.exchange: is a link"):
        run_spread(tmp_path / "pool", 2, StartedWorkers(), **given)

    assert len(list(kept.iterdir())) == 3


COUNTS = """
class Adapter:
    name, version, can_snapshot = "counts", "1", True

    def setup(self):
        self.asked = 0

    def ingest_day(self, day, content, metadata):
        pass

    def query(self, question):
        self.asked += 1
        return f"question {self.asked}"
"""


def count_asked(folder: Path) -> dict[tuple[str, str, int], list[str]]:
    """What a memory said it was asked, by persona, checkpoint and repeat, in the asked order."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for event in read_events(folder / "journal.jsonl"):
        if isinstance(event, Answered):
            trial = event.trial
            place = trial.scenario, trial.checkpoint, trial.repeat
            found.setdefault(place, []).append(event.answer.text)
    return {place: sorted(texts) for place, texts in found.items()}


def test_copies_share_the_questions_of_a_checkpoint_alike_with_every_executor(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    """Each copy counts what it is asked: another share of the questions would be another answer."""
    (tmp_path / "counts.py").write_text(COUNTS)
    given |= {
        "adapter": str(tmp_path / "counts.py"),
        "ranges": ("3d", "10d"),
        "repeats": 2,
        "copies": 3,
    }

    assert run_alone(tmp_path / "one", **given).exit_code == 0
    assert run_spread(tmp_path / "pool", 3, **given).exit_code == 0
    job = assemble(settings(tmp_path / "two", executor=Executor.PROCESSES, workers=2, **given))
    assert alone(job).exit_code == 0

    for place, texts in count_asked(tmp_path / "one").items():
        rounds = -(-len(texts) // 3)
        numbers = [number + 1 for number in range(rounds) for _ in range(3)][: len(texts)]
        assert texts == sorted(f"question {number}" for number in numbers), place
    for name in ("pool", "two"):
        assert outcome(tmp_path / name) == outcome(tmp_path / "one"), name
        assert done_twice(tmp_path / name) == [], name


# A thread that is interrupted just as it has opened a file leaves that to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_a_worker_that_dies_with_a_copy_leaves_its_questions_to_others(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    given |= {"ranges": ("5d", "10d"), "copies": 4}
    run_alone(tmp_path / "one", **given)

    ended = run_spread(tmp_path / "pool", 3, frail(seed=1, deaths=3), **given)

    assert ended.exit_code == 0
    assert outcome(tmp_path / "pool") == outcome(tmp_path / "one")
    assert done_twice(tmp_path / "pool") == []
