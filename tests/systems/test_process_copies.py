"""A plain adapter is copied by forking its process, where that is found to be safe."""

import datetime
import os
from collections import Counter
from pathlib import Path

import anyio
import pytest

from recall_bench.core import sandbox
from recall_bench.core.errors import NotOffered, SystemDied
from recall_bench.core.event import Answered, FeedFailed, Ingested, NotAnswered
from recall_bench.core.plan import Lifecycle
from recall_bench.core.process_copies import can_copy
from recall_bench.core.scenario import Episode
from recall_bench.core.settings import Settings
from recall_bench.engine.assembly import assemble
from recall_bench.engine.experiment import execute
from recall_bench.engine.runs.journal import read_events
from recall_bench.systems.python.isolated_system import (
    IsolatedMemory,
    IsolatedSystem,
    load_isolated_system,
)
from tests.gardener import write_persona
from tests.processes import is_running, wait_until
from tests.systems.asking import answered
from tests.systems.test_isolated_processes import list_descendants, list_descriptors
from tests.systems.test_isolation import QUESTION

pytestmark = pytest.mark.skipif(
    not (sandbox.is_available() and can_copy()), reason="processes are not copied here"
)

PLAIN = """
import asyncio, mmap, os, subprocess, sys, tempfile, threading, time
NOTED = []

class Adapter:
    name, version = "plain", "1"

    def __init__(self):
        self.days = []{made}

    def setup(self):
        self.days = []

    def ingest_day(self, day, content, metadata):
        self.days.append(day){fed}

    def query(self, question):
        NOTED.append(question){asked}
        return f"{{len(NOTED)}} of {{self.days[-1:]}} {{os.getpid()}}"

    def teardown(self):
        self.days = []
"""


def write_plain(folder: Path, *, made: str = "", fed: str = "", asked: str = "") -> Path:
    """A plain adapter that also does this when it is made, fed or asked."""
    codes = {"made": made, "fed": fed, "asked": asked}
    path = folder / "plain.py"
    path.write_text(
        PLAIN.format(**{name: code and f"\n        {code}" for name, code in codes.items()})
    )
    return path


def load(folder: Path, **codes: str) -> IsolatedSystem:
    return load_isolated_system(Settings(adapter=str(write_plain(folder, **codes))))


def make_day(number: int) -> Episode:
    at = datetime.datetime(2026, 1, number)
    return Episode(id=str(number), day=number, at=at, text="rain")


async def ask(memory: object) -> str:
    return (await answered(memory, QUESTION)).text  # type: ignore[arg-type]


def test_copies_share_nothing_with_each_other_and_their_original(tmp_path: Path) -> None:
    system = load(tmp_path)
    replies, before = [], (Counter(list_descriptors()), set(list_descendants(os.getpid())))

    async def run() -> None:
        snapshots = system.snapshots
        assert snapshots is not None
        original = await system.open("ada")
        await original.ingest(make_day(1))
        saved = await snapshots.save(original)
        await original.ingest(make_day(2))
        for _ in range(2):
            copy = await snapshots.open(saved)
            replies.extend([await ask(copy), await ask(copy)])
            await copy.close()
        replies.append(await ask(original))
        late = await snapshots.open(saved)
        replies.append(await ask(late))
        await late.close()
        await snapshots.drop(saved)
        await original.close()
        await system.close()

    anyio.run(run)

    assert [reply.rpartition(" ")[0] for reply in replies] == [
        *["1 of [1]", "2 of [1]"] * 2,
        "1 of [2]",
        "1 of [1]",
    ]
    assert len({reply.rpartition(" ")[2] for reply in replies}) == 4, "four processes answered"
    assert (Counter(list_descriptors()), set(list_descendants(os.getpid()))) == before


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "runs 2 threads"),
        ("self.file = open(__file__)", "plain.py open"),
        ("self.pipe = os.pipe()", "pipe:.* open"),
        ("self.shared = mmap.mmap(-1, 4096)", "shares memory"),
        ("self.program = subprocess.Popen(['sleep', '60'])", "has started programs"),
        ("open(os.path.expanduser('~/notes'), 'w').close()", "has written files"),
        ("open(tempfile.mkstemp()[1], 'w').close()", "open|has written files"),
    ],
)
def test_what_a_copy_would_share_is_found_and_named(tmp_path: Path, code: str, reason: str) -> None:
    """What it does when it is made is known before the run, what it does later when it is saved."""
    assert load(tmp_path, made=code).snapshots is None
    system = load(tmp_path, fed=code)

    async def run() -> None:
        assert system.snapshots is not None
        original = await system.open("ada")
        await system.snapshots.drop(await system.snapshots.save(original))
        await original.ingest(make_day(1))
        with pytest.raises(NotOffered, match=f"cannot be copied .*{reason}"):
            await system.snapshots.save(original)
        assert (await ask(original)).startswith("1 of [1]")
        await original.close()
        await system.close()

    anyio.run(run)


def test_a_loop_that_may_hold_something_is_not_copied(tmp_path: Path) -> None:
    system = load(tmp_path, fed="return asyncio.sleep(0)")

    async def run() -> None:
        assert system.snapshots is not None
        original = await system.open("ada")
        await original.ingest(make_day(1))
        with pytest.raises(NotOffered, match="has used asyncio"):
            await system.snapshots.save(original)
        await original.close()
        await system.close()

    anyio.run(run)


@pytest.mark.parametrize(
    ("made", "given", "reason"),
    [
        ("self.can_snapshot = False", {}, "can_snapshot = False"),
        ("self.max_concurrency = 2", {}, "several questions at once"),
        ("", {"allow_network": True}, "has a network"),
    ],
)
def test_what_is_declared_is_not_copied(
    tmp_path: Path, made: str, given: dict[str, bool], reason: str
) -> None:
    path = write_plain(tmp_path, made=made)

    system = load_isolated_system(Settings(adapter=str(path), **given))  # type: ignore[arg-type]

    assert system.snapshots is None
    assert reason in str(system.copy_obstacle)


def test_a_copy_that_dies_is_gone_with_its_last_words(tmp_path: Path) -> None:
    system = load(tmp_path, asked="print('no more', file=sys.stderr, flush=True); os._exit(3)")

    async def run() -> None:
        assert system.snapshots is not None
        original = await system.open("ada")
        saved = await system.snapshots.save(original)
        copy = await system.snapshots.open(saved)
        with pytest.raises(SystemDied, match=r"exit code 3.*no more"):
            await ask(copy)
        await copy.close()
        await original.ingest(make_day(1))
        await system.close()

    anyio.run(run)


def test_a_copy_that_hangs_ends_with_the_system(tmp_path: Path) -> None:
    signal_code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    system = load(tmp_path, asked=signal_code)
    pids = []

    async def run() -> None:
        assert system.snapshots is not None
        original = await system.open("ada")
        copy = await system.snapshots.open(await system.snapshots.save(original))
        assert isinstance(copy, IsolatedMemory)
        async with anyio.create_task_group() as group:
            group.start_soon(ask, copy)
            await anyio.sleep(0.2)
            pids.extend(list_descendants(os.getpid()))
            group.cancel_scope.cancel()
        await system.close()

    anyio.run(run)

    assert len(pids) > 3
    wait_until(lambda: not any(map(is_running, pids)), "every process ends")


def run_story(
    folder: Path, adapter: Path, lifecycle: Lifecycle | None, error_budget: float = 0.0
) -> list[object]:
    """The events of a run over the gardener's days."""
    settings = Settings(
        adapter=str(adapter),
        data=folder.parent / "data",
        ranges=("every:2",),
        lifecycle=lifecycle,
        into=folder,
        judge="stub",
        error_budget=error_budget,
    )
    job = assemble(settings)
    assert job.plan.lifecycle is (lifecycle or Lifecycle.FORKED)
    assert execute(job).exit_code == 0
    return list(read_events(folder / "journal.jsonl"))


def list_answers(events: list[object]) -> dict[str, str]:
    return {str(one.trial): one.answer.text for one in events if isinstance(one, Answered)}


BEST_LINE = """
    def best(self, question):
        wanted = set(question.lower().strip("?").split())
        return max(self.lines, key=lambda line: len(wanted & set(line.lower().split())))
"""


def write_answering(folder: Path, fed: str = "") -> Path:
    path = folder / "best.py"
    path.write_text(
        "import threading, time\n"
        "class Adapter:\n    name, version = 'best', '1'\n"
        "    def setup(self):\n        self.lines = []\n"
        "    def teardown(self):\n        self.lines = []\n"
        "    def ingest_day(self, day, content, metadata):\n"
        f"        self.lines += content.splitlines()\n        {fed or 'pass'}\n"
        f"    def query(self, question):\n        return self.best(question)\n{BEST_LINE}"
    )
    return path


def test_fresh_forked_and_growing_answer_the_same_and_a_copy_saves_the_feeding(
    tmp_path: Path,
) -> None:
    write_persona(tmp_path / "data")
    adapter = write_answering(tmp_path)
    runs = {
        lifecycle: run_story(tmp_path / str(lifecycle), adapter, lifecycle)
        for lifecycle in (None, Lifecycle.FRESH, Lifecycle.GROWING)
    }
    days = {
        lifecycle: sum(isinstance(event, Ingested) for event in events)
        for lifecycle, events in runs.items()
    }

    assert list_answers(runs[None]) == list_answers(runs[Lifecycle.FRESH])
    assert list_answers(runs[None]) == list_answers(runs[Lifecycle.GROWING])
    assert days[None] == days[Lifecycle.GROWING] < days[Lifecycle.FRESH]


def test_a_memory_that_cannot_be_copied_any_more_is_fed_anew(tmp_path: Path) -> None:
    """It starts a thread on its fifth day: each checkpoint from there on gets a new memory."""
    write_persona(tmp_path / "data")
    started = "day == 5 and threading.Thread(target=time.sleep, args=(99,), daemon=True).start()"
    fresh = run_story(tmp_path / "fresh", write_answering(tmp_path), Lifecycle.FRESH)

    events = run_story(tmp_path / "forked", write_answering(tmp_path, started), None)

    assert list_answers(events) == list_answers(fresh)
    failures = [event for event in events if isinstance(event, FeedFailed)]
    assert {(failure.stage, failure.fault) for failure in failures} == {("snapshot", "NotOffered")}
    assert "it runs 2 threads" in failures[0].message


@pytest.mark.parametrize("lifecycle", list(Lifecycle))
def test_a_question_that_kills_its_process_is_not_answered_and_the_others_are(
    tmp_path: Path, lifecycle: Lifecycle
) -> None:
    write_persona(tmp_path / "data")
    adapter = write_answering(tmp_path)
    whole = list_answers(run_story(tmp_path / "whole", adapter, lifecycle))
    text = adapter.read_text().replace(
        "return self.best(question)",
        "'dill' in question and os._exit(9)\n        return self.best(question)",
    )
    adapter.write_text(text.replace("import threading", "import os, threading"))

    events = run_story(tmp_path / "run", adapter, lifecycle, error_budget=1.0)

    deaths = [event for event in events if isinstance(event, NotAnswered)]
    assert {event.fault for event in deaths} == {"SystemDied"}
    assert "exit code 9" in deaths[0].message
    lost = {str(event.trial) for event in deaths}
    assert list_answers(events) == {
        trial: text for trial, text in whole.items() if trial not in lost
    }
    assert len(lost) < len(whole) / 2


def test_what_a_copy_leaves_in_their_folder_never_reaches_an_answer(tmp_path: Path) -> None:
    """A copy writes down what it is asked, and its original reads that and removes it."""
    write_persona(tmp_path / "data")
    path = tmp_path / "leaking.py"
    path.write_text(
        "import os\nPLACE = os.path.expanduser('~/asked')\n"
        "class Adapter:\n    name, version, known = 'leaking', '1', ''\n"
        "    def setup(self):\n        self.count = 0\n"
        "    def ingest_day(self, day, content, metadata):\n"
        "        if os.path.exists(PLACE):\n"
        "            self.known += open(PLACE).read()\n            os.remove(PLACE)\n"
        "    def query(self, question):\n"
        "        if day_has_come(self):\n            open(PLACE, 'a').write(question)\n"
        "        return f'knew {self.known!r}'\n"
        "def day_has_come(self):\n    self.count += 1\n    return self.count > 1\n"
    )

    answers = list_answers(run_story(tmp_path / "run", path, None))

    assert set(answers.values()) == {"knew ''"}
