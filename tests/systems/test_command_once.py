"""A system may be a program that is run once for each question over a folder of markdown files."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import msgspec
import pytest

from recall_bench.core.errors import NotAnAnswer, SystemFault, SystemGone, SystemTimeout, UsageError
from recall_bench.core.memory import UNDECLARED, Asker, Clock, Memory, RetrievalReply
from recall_bench.systems.transports.once_system import OnceMemory, OnceSystem, build_once_system
from tests.conftest import episode
from tests.processes import SPAWNING_SCRIPT, read_pids, wait_until_gone
from tests.systems.diary import question
from tests.systems.finder import GREP

pytestmark = pytest.mark.anyio

Write = Callable[..., OnceSystem]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """A system whose program is this Python text, called with these words."""
    systems: list[OnceSystem] = []

    def made(text: str = GREP, words: str = "", *, timeout_s: float | None = None) -> OnceSystem:
        path = tmp_path / "program.py"
        path.write_text(text, encoding="utf-8")
        target = f"once:{shlex.join([sys.executable, '-I', '-S', str(path)])} {words}"
        systems.append(build_once_system(target, {}, timeout_s=timeout_s))
        return systems[-1]

    yield made
    for system in systems:
        anyio.run(system.close)


async def opened(system: OnceSystem) -> OnceMemory:
    """A memory of two days."""
    memory = await system.open("ada")
    await memory.ingest(episode(1, "The cat is Fig.\nIt sleeps."))
    await memory.ingest(episode(2, "The cat ate."))
    await memory.settle()
    return memory


async def found(memory: Memory, text: str) -> RetrievalReply:
    reply = await memory.answer(question(text))
    assert isinstance(reply, RetrievalReply)
    return reply


async def test_what_is_found_is_traced_to_its_day(write: Write) -> None:
    memory = await opened(write())

    [first, second] = (await found(memory, "The cat is where")).passages

    assert (first.text, first.id, first.day, first.score) == ("The cat is Fig.", "day-0001", 1, 3.0)
    assert (second.day, second.source) == (2, "day-0002.md")


async def test_a_day_is_a_file_with_its_date_and_its_text(write: Write) -> None:
    system = write()
    memory = await system.open("ada")

    await memory.ingest(episode(31, "# session: principal\r\n\nÄpfel \N{CAT}"))

    written = (memory.home / "day-0031.md").read_bytes().decode()
    assert written == (
        "---\ndate: 2024-01-31\nday: 31\n---\n\n# session: principal\r\n\nÄpfel \N{CAT}"
    )


TELL = """
import json, sys
print(json.dumps({"hits": [{"path": "x.md", "snippet": json.dumps(sys.argv[1:])}]}))
"""
"""Finds the words it was called with."""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", ["--home", "HOME", "--query", "{k} --x 'ß", "--k", "10"]),
        ("find", ["find", "--home", "HOME", "--query", "{k} --x 'ß", "--k", "10"]),
        (
            "-q {query} --in={home}/ {date} {session} '{other}'",
            ["-q", "{k} --x 'ß", "--in=HOME/", "2025-03-07", "principal", "{other}"],
        ),
    ],
    ids=["the usual flags", "words before them", "places of one's own"],
)
async def test_placeholders_of_the_command_are_filled(
    write: Write, words: str, expected: list[str]
) -> None:
    memory = await write(TELL, words).open("ada")

    [passage] = (await found(memory, "{k} --x 'ß")).passages

    told = [word.replace(str(memory.home), "HOME") for word in json.loads(passage.text)]
    assert told == expected
    assert (passage.day, passage.id, passage.source) == (None, None, "x.md")


async def test_the_number_of_passages_is_passed_on(write: Write) -> None:
    memory = await opened(write())
    asked = question("The cat")

    reply = await memory.answer(msgspec.structs.replace(asked, top_k=1))

    assert len(reply.passages) == 1


async def test_its_card_says_that_it_retrieves_and_whether_it_sees_the_asker(write: Write) -> None:
    plain, told = write().card, write(GREP, "{session}").card

    assert not plain.answers
    assert (plain.clock, plain.asker, told.asker) == (Clock.IN_TEXT, Asker.UNTOLD, Asker.TOLD)


async def test_another_program_file_is_another_version(write: Write) -> None:
    assert write().card.version == write().card.version != write(TELL).card.version


async def test_a_log_that_grows_is_no_other_version(write: Write, tmp_path: Path) -> None:
    log = tmp_path / "calls.log"
    versions: list[str] = []
    for line in ("first", "first\nsecond"):
        log.write_text(line, encoding="utf-8")
        versions.append(write(words=f"--log {log}").card.version)

    assert versions[0] == versions[1] != UNDECLARED


async def test_a_copy_has_the_days_up_to_then_and_nothing_the_program_left(write: Write) -> None:
    system = write(GREP + "\npathlib.Path('index').write_text('mine')\n")
    memory = await opened(system)
    await found(memory, "cat")
    token = await system.snapshots.save(memory)
    await memory.ingest(episode(3, "The cat ran."))

    copy = await system.snapshots.open(token)

    assert (memory.home / "index").exists()
    assert sorted(path.name for path in copy.home.iterdir()) == ["day-0001.md", "day-0002.md"]
    assert len((await found(copy, "cat")).passages) == 2
    assert len((await found(memory, "cat")).passages) == 3


async def test_a_dropped_copy_takes_no_day_with_it(write: Write) -> None:
    system = write()
    memory = await opened(system)
    token = await system.snapshots.save(memory)
    copy = await system.snapshots.open(token)
    await memory.close()
    await system.snapshots.drop(token)

    assert len((await found(copy, "cat")).passages) == 2


async def test_nothing_remains_once_the_system_is_closed(write: Write) -> None:
    system = write()
    memory = await opened(system)
    home = memory.home

    await system.close()

    assert not home.parent.exists()


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        pytest.param(
            "import sys; print('a\\nno index', file=sys.stderr); sys.exit(5)",
            SystemFault,
            "ended with exit code 5: no index$",
            id="an exit code",
        ),
        pytest.param(
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            SystemFault,
            "ended with signal 9$",
            id="a signal",
        ),
        pytest.param(
            "import sys; print('Nothing found.'); print('why', file=sys.stderr)",
            NotAnAnswer,
            r"printed 'Nothing found.*: why$",
            id="prose",
        ),
        pytest.param("", NotAnAnswer, "printed '' where", id="silence"),
        pytest.param(
            'print(\'{"hits": [{"path": "x"}]}\')', NotAnAnswer, "snippet", id="half a hit"
        ),
    ],
)
async def test_every_failure_is_a_fault_of_its_own(
    write: Write, text: str, kind: type[SystemFault], message: str
) -> None:
    memory = await write(text).open("ada")

    with pytest.raises(SystemFault, match=message) as caught:
        await memory.answer(question("cat"))

    assert type(caught.value) is kind


async def test_a_program_that_times_out_is_ended_with_its_children(tmp_path: Path) -> None:
    path = tmp_path / "slow"
    path.write_text(
        f"#!/bin/sh\nsleep 600 &\necho $$ $! > {tmp_path}/pids\necho slow >&2\nsleep 600\n"
    )
    path.chmod(0o755)
    system = build_once_system(f"once:{path}", {}, timeout_s=2.0)
    memory = await system.open("ada")

    with pytest.raises(SystemTimeout, match=r"did not end within 1.95 s: slow$"):
        await memory.answer(question("cat"))

    wait_until_gone(read_pids(tmp_path))
    await system.close()


async def test_a_cancelled_run_ends_them_too(write: Write, tmp_path: Path) -> None:
    text = f"import os; os.chdir({str(tmp_path)!r})\n{SPAWNING_SCRIPT}"
    memory = await write(text).open("ada")

    async with anyio.create_task_group() as group:
        group.start_soon(memory.answer, question("cat"))
        pids = await anyio.to_thread.run_sync(read_pids, tmp_path)
        group.cancel_scope.cancel()

    wait_until_gone(pids)


async def test_a_process_left_behind_delays_no_answer(write: Write, tmp_path: Path) -> None:
    text = (
        f"{GREP}\nimport subprocess\nsys.stdout.flush()\n"
        "left = subprocess.Popen(['sleep', '600']).pid\n"
        f"pathlib.Path({str(tmp_path / 'pids')!r}).write_text(str(left))\n"
    )
    memory = await opened(write(text))

    reply = await found(memory, "cat")

    assert len(reply.passages) == 2
    wait_until_gone(read_pids(tmp_path))


async def test_a_flood_of_output_is_read_and_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bench.systems.transports.once_system.MAX_REPLY_BYTES", 1 << 20)
    memory = await write("print('x' * (3 << 20))").open("ada")

    with pytest.raises(NotAnAnswer, match="printed more than 1 MB"):
        await memory.answer(question("cat"))


@pytest.mark.parametrize("text", ["a\0b", "x" * (1 << 22)], ids=["a zero byte", "too long"])
async def test_a_question_no_program_can_be_given_is_a_fault(write: Write, text: str) -> None:
    memory = await write().open("ada")

    with pytest.raises(SystemFault, match="cannot be given this question"):
        await memory.answer(question(text))


async def test_a_program_that_cannot_be_started_any_more_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "finder"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    system = build_once_system(f"once:{path}", {})
    memory = await system.open("ada")
    path.unlink()

    with pytest.raises(SystemGone, match="finder cannot be started"):
        await memory.answer(question("cat"))

    await system.close()


async def test_a_missing_program_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="there is no program 'no-such-program'"):
        build_once_system("once:no-such-program", {})


@pytest.mark.parametrize("config", [{"depth": 1}, {"max_concurrency": 0}])
async def test_settings_that_mean_nothing_are_refused(config: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(config))):
        build_once_system("once:true", config)


async def test_its_declared_concurrency_is_used() -> None:
    assert build_once_system("once:true", {}).card.max_concurrency == 1
    assert build_once_system("once:true", {"max_concurrency": 8}).card.max_concurrency == 8
