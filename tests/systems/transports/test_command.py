"""A system may be a program that reads requests and writes replies as lines of JSON."""

import json
import os
import shlex
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import (
    BenchError,
    NotAnAnswer,
    SystemBusy,
    SystemFault,
    SystemGone,
    SystemStuck,
    UsageError,
)
from recall_bench.core.memory import Memory
from recall_bench.core.settings import Settings
from recall_bench.systems.resolver import resolve_system
from recall_bench.systems.transports.command_system import start_command_system
from recall_bench.systems.transports.remote_system import RemoteSystem
from tests.conftest import episode
from tests.processes import is_running, wait_until_gone
from tests.systems import command_child
from tests.systems.asking import answered
from tests.systems.diary import question

pytestmark = pytest.mark.anyio

CHILD = shlex.join([sys.executable, "-I", "-S", command_child.__file__])
Q = question("Where is the cat?")


@asynccontextmanager
async def started(*faults: str, grace_s: float = 30) -> AsyncIterator[RemoteSystem]:
    """The program with these faults, closed at the end."""
    env = ("PIDS",) if "PIDS" in os.environ else ()
    command = f"command:{CHILD} {' '.join(faults)}"
    settings = Settings(adapter=command, env=env)
    system = await start_command_system(command, {}, settings=settings, grace_s=grace_s)
    try:
        yield system
    finally:
        await system.close()


async def opened(system: RemoteSystem) -> Memory:
    """A memory of one day."""
    memory = await system.open("ada")
    await memory.ingest(episode(1, "The cat is in the garden."))
    return memory


@pytest.fixture
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """The processes that were started since, children and grandchildren."""
    noted = tmp_path / "pids"
    monkeypatch.setenv("PIDS", str(noted))
    return lambda: [int(word) for word in noted.read_text().split()]


async def test_what_it_was_fed_it_can_be_asked_about() -> None:
    async with started() as system:
        memory = await opened(system)
        await memory.settle()

        answer = await answered(memory, Q)

    assert answer.text == "The cat is in the garden."
    assert system.card.name == "child"
    assert system.card.config["command"][-1] == command_child.__file__  # type: ignore[index]


async def test_two_memories_are_two() -> None:
    async with started() as system:
        one, two = await opened(system), await system.open("bo")
        await two.ingest(episode(1, "The cat is on the roof."))

        assert (await answered(one, Q)).text == "The cat is in the garden."
        assert (await answered(two, Q)).text == "The cat is on the roof."


async def test_a_saved_state_is_not_touched_by_what_comes_later() -> None:
    async with started() as system:
        assert system.snapshots is not None
        memory = await opened(system)
        token = await system.snapshots.save(memory)
        await memory.ingest(episode(2, "Where is the cat? The cat is gone."))

        copy = await system.snapshots.open(token)

        assert (await answered(copy, Q)).text == "The cat is in the garden."


async def test_many_questions_may_be_under_way_while_one_hangs() -> None:
    async with started("hang:1") as system:
        memory = await opened(system)
        said: list[str] = []

        async def ask() -> None:
            said.append((await answered(memory, Q)).text)

        async with anyio.create_task_group() as group:
            group.start_soon(memory.answer, Q)
            await anyio.wait_all_tasks_blocked()
            async with anyio.create_task_group() as others:
                for _ in range(5):
                    others.start_soon(ask)
            group.cancel_scope.cancel()

    assert said == ["The cat is in the garden."] * 5


async def test_a_day_of_megabytes_and_every_script_arrives_whole() -> None:
    day = '\N{CAT}\u2028\x85ß\0中\n"' * 100_000
    async with started() as system:
        memory = await system.open("ada")
        async with anyio.create_task_group() as group:
            for number in range(1, 4):
                group.start_soon(memory.ingest, episode(number, day))

        answer = await answered(memory, question("everything"))

    assert answer.text == day * 3


async def test_it_runs_in_a_folder_of_its_own_that_is_removed_with_it(tmp_path: Path) -> None:
    noted = tmp_path / "folders"
    told = (
        "import os, sys\n"
        "told = os.getcwd(), os.environ['RECALL_BENCH_STATE_DIR']\n"
        f"print(*told, file=open({str(noted)!r}, 'a'))\n"
        "open('mine', 'w').close()\n"
        f"sys.argv[1:] = []\nexec(open({command_child.__file__!r}).read())\n"
    )
    (tmp_path / "program.py").write_text(told)

    system = await start_command_system(f"command:{sys.executable} {tmp_path}/program.py", {})
    await system.open("ada")
    greeted, working = (line.split() for line in noted.read_text().splitlines())
    assert Path(working[0], "mine").exists()
    await system.close()

    assert working[0] == working[1] != greeted[0]
    assert Path.cwd() != Path(working[0])
    assert not Path(working[0]).exists()
    assert not Path(greeted[0]).exists()


async def test_files_named_beside_us_are_found_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "child.py").write_text(Path(command_child.__file__).read_text())
    monkeypatch.chdir(tmp_path)

    system = await start_command_system(f"command:{sys.executable} child.py", {})

    assert system.card.config == {"command": [sys.executable, "child.py"]}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("die:1", r"ended with signal 9; when that"),
        (
            "exit:1",
            r"code 3, and its last lines were: loading the index \| no such index: ärger; when",
        ),
        ("say:1", r"what is not a reply: 'Loading the model …'; logs belong on standard"),
        ("stray:1", r'not a reply: \'{"id": 4711.*, with an id that no open request has'),
    ],
)
async def test_a_child_that_is_lost_is_gone_and_says_why(fault: str, message: str) -> None:
    async with started(fault) as system:
        memory = await opened(system)

        with pytest.raises(SystemGone, match=message):
            await memory.answer(Q)
        with pytest.raises(SystemGone, match=message):
            await system.open("another")


async def test_every_question_under_way_learns_of_the_end() -> None:
    faults: list[type[BenchError]] = []
    async with started("hang:1", "hang:2", "die:3") as system:
        memory = await opened(system)

        async def ask() -> None:
            try:
                await memory.answer(Q)
            except BenchError as error:
                faults.append(type(error))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)

    assert faults == [SystemGone] * 3


async def test_what_was_written_by_its_end_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bench.systems.transports.command_system._DRAIN_TIMEOUT_S", 30)
    async with started("heir:1") as system:
        memory = await opened(system)

        assert (await answered(memory, Q)).text == "The cat is in the garden."


async def test_a_child_that_closes_its_output_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bench.systems.transports.command_system._CLOSE_TIMEOUT_S", 0.1)
    async with started("close:1") as system:
        memory = await opened(system)

        with pytest.raises(SystemGone, match="closed its standard output"):
            await memory.answer(Q)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("busy:1", SystemBusy), ("odd:1", NotAnAnswer), ("deep:1", NotAnAnswer)],
    ids=["busy", "odd", "deep"],
)
async def test_what_it_says_went_wrong_costs_that_question_alone(
    fault: str, kind: type[SystemFault]
) -> None:
    async with started(fault) as system:
        memory = await opened(system)

        with pytest.raises(kind):
            await memory.answer(Q)
        assert (await answered(memory, Q)).text == "The cat is in the garden."


async def test_a_question_that_overruns_leaves_the_others_alone() -> None:
    """The child is asked for its health then; it replies, and goes on with its memories."""
    async with started("hang:1") as system:
        memory = await opened(system)

        with anyio.move_on_after(0.1) as overrun:
            await memory.answer(Q)

        assert overrun.cancelled_caught
        assert (await answered(memory, Q)).text == "The cat is in the garden."


async def test_a_reply_after_the_timeout_is_dropped() -> None:
    async with started("late:1") as system:
        memory = await opened(system)
        await memory.ingest(episode(2, "The otter is out."))
        with anyio.move_on_after(0.1):
            await memory.answer(Q)

        answer = await answered(memory, question("Where is the otter?"))

    assert answer.text == "The otter is out."


async def test_a_child_that_ignores_everything_is_ended_and_another_started(
    pids: Callable[[], list[int]],
) -> None:
    async with started("freeze:1", grace_s=0.1) as system:
        assert system.snapshots is not None
        memory = await opened(system)
        token = await system.snapshots.save(memory)
        with anyio.move_on_after(0.1) as overrun:
            await memory.answer(Q)
        assert overrun.cancelled_caught
        wait_until_gone(pids())

        with pytest.raises(SystemStuck, match="did not answer any more and was ended"):
            await memory.answer(Q)
        with pytest.raises(SystemGone, match="snapshot was lost; run the same command again"):
            await system.snapshots.open(token)
        replacement = await system.open("ada")
        with pytest.raises(SystemStuck):
            await memory.answer(Q)
        await memory.close()
        await replacement.ingest(episode(1, "The cat is back."))
        await replacement.settle()


async def test_a_full_pipe_to_a_child_that_froze_is_no_obstacle() -> None:
    async with started("freeze:1", grace_s=0.1) as system:
        memory = await opened(system)

        with anyio.move_on_after(0.1):
            async with anyio.create_task_group() as group:
                group.start_soon(memory.answer, Q)
                await anyio.wait_all_tasks_blocked()
                group.start_soon(memory.ingest, episode(2, "x" * 1_000_000))
                group.start_soon(memory.ingest, episode(3, "x" * 1_000_000))

        with pytest.raises(SystemStuck):
            await memory.answer(Q)


async def test_closing_ends_the_child_and_all_it_started(
    pids: Callable[[], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bench.systems.transports.command_system._CLOSE_TIMEOUT_S", 0.1)
    async with started("spawn", "deaf") as system:
        await opened(system)
        assert all(map(is_running, pids()[-2:]))

    wait_until_gone(pids())


async def test_a_cancelled_run_ends_them_too(pids: Callable[[], list[int]]) -> None:
    async with started("spawn") as system:
        with anyio.CancelScope() as scope:
            await opened(system)
            scope.cancel()
            await system.close()

        wait_until_gone(pids())


async def test_a_process_left_by_a_dead_child_delays_nothing(pids: Callable[[], list[int]]) -> None:
    """The grandchild has the pipes; their end would never come."""
    async with started("spawn", "die:1") as system:
        memory = await opened(system)

        with pytest.raises(SystemGone, match="ended with signal 9"):
            await memory.answer(Q)

    wait_until_gone(pids())


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("command:", "names no program; write 'command:PROGRAM ARGS…'"),
        ("command:no-such-program --x", "there is no program 'no-such-program'"),
        ("command:./no/such/program", "there is no program './no/such/program'"),
        ("command:python 'x", "cannot be split into words"),
    ],
)
async def test_a_missing_program_is_refused_at_once(target: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        await start_command_system(target, {})


async def test_settings_it_could_not_be_given_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot be given the settings depth"):
        await start_command_system(f"command:{CHILD}", {"depth": 3})


async def test_a_program_of_another_kind_is_recognised() -> None:
    with pytest.raises(SystemGone, match="echo wrote to its standard output what is not a reply"):
        await start_command_system("command:echo hello", {})
    with pytest.raises(SystemGone, match="true ended with exit code 0"):
        await start_command_system("command:true", {})


async def test_the_program_gets_its_words_and_no_shell_sees_them(tmp_path: Path) -> None:
    told = f"import json, sys; json.dump(sys.argv[1:], open({str(tmp_path / 'words')!r}, 'w'))"

    with pytest.raises(SystemGone):
        await start_command_system(
            f"command:{shlex.join([sys.executable, '-c', told])} 'a b' $HOME ';' '*'", {}
        )

    assert (tmp_path / "words").read_text() == '["a b", "$HOME", ";", "*"]'


def test_an_address_among_its_arguments_makes_no_program_a_server() -> None:
    target = "command:no-such-program --server http://127.0.0.1:9"

    with pytest.raises(UsageError, match="there is no program 'no-such-program'"):
        resolve_system(Settings(adapter=target))


async def test_its_environment_holds_no_key_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-the-judge")
    monkeypatch.setenv("MY_SERVICE", "here")
    monkeypatch.setenv("LANG", "C.UTF-8")
    told = f"import json, os; json.dump(dict(os.environ), open({str(tmp_path / 'env')!r}, 'w'))"

    target = f"command:{shlex.join([sys.executable, '-c', told])}"
    settings = Settings(adapter=target, env=("MY_SERVICE",))

    with pytest.raises(SystemGone):
        await start_command_system(target, {}, settings=settings)

    found = json.loads((tmp_path / "env").read_text())
    given = {"PATH", "HOME", "TMPDIR", "LANG", "MY_SERVICE", "RECALL_BENCH_STATE_DIR"}
    assert set(found) - {"LC_CTYPE"} == given
    assert not Path(found["HOME"]).exists()
