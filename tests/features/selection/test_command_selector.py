"""A selector may be any program: a prompt in, names of memories out, and no other output."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from recall_bench.core import sandbox
from recall_bench.core.errors import NotAnAnswer, SystemFault, SystemGone, SystemTimeout, UsageError
from recall_bench.core.memory import Isolation, IsolationCard
from recall_bench.core.settings import Settings
from recall_bench.features.selection.selectors.user_selectors import (
    CommandSelector,
    build_command_selector,
)
from tests.features.selection.memories import MEMORIES, memory, names, written
from tests.processes import SPAWNING_SCRIPT, read_pids, wait_until_gone

pytestmark = pytest.mark.anyio

Script = Callable[..., CommandSelector]


def limited(timeout_s: float | None) -> Settings:
    """Settings with this limit of a selection, or the usual one."""
    return Settings() if timeout_s is None else Settings(timeout_ms=round(1000 * timeout_s))


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """A selector that is this shell script, run where the memories lie."""

    def made(text: str, *, timeout_s: float | None = 20.0) -> CommandSelector:
        path = tmp_path / "pick.sh"
        path.write_text(text, encoding="utf-8")
        target = f"command:sh {shlex.quote(str(path))}"
        folder = written(tmp_path / "agent")
        return build_command_selector(target, limited(timeout_s), folder=folder)

    return made


async def test_the_prompt_comes_on_standard_input_unchanged(script: Script, tmp_path: Path) -> None:
    prompt = "# héllo\n[expected]\n\n  what about\tthe flat?"

    await names(script("cat > heard"), prompt)

    assert (tmp_path / "agent" / "heard").read_bytes() == prompt.encode()


async def test_it_runs_in_the_folder_that_holds_the_memories(script: Script) -> None:
    picked = await names(script("grep -l Lisbon memory/*.md"), "?")

    assert picked == ("memory/travel.md",)


async def test_blank_lines_are_nothing_and_a_name_counts_once(script: Script) -> None:
    said = r"printf 'memory/travel.md\r\n\n  memory/coffee.md\nmemory/travel.md'"

    assert await names(script(said), "?") == ("memory/travel.md", "memory/coffee.md")


async def test_printing_nothing_is_picking_nothing(script: Script) -> None:
    assert await names(script("true"), "?") == ()


async def test_a_name_that_is_not_on_disk_is_kept(script: Script) -> None:
    assert await names(script("echo memory/yacht.md"), "?") == ("memory/yacht.md",)


async def test_a_memory_may_be_called_anything(script: Script) -> None:
    odd = memory("notes.md, and more", "?")

    picked = await names(script("echo 'memory/notes.md, and more.md'"), "?", (odd,))

    assert picked == (odd.name,)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("Sure! Here they are:", id="prose"),
        pytest.param("- memory/travel.md", id="a list"),
        pytest.param("travel.md", id="no folder"),
        pytest.param("memory/travel", id="no ending"),
        pytest.param("memory/.md", id="no name"),
        pytest.param("memory/travel.md memory/coffee.md", id="two on a line"),
        pytest.param("memory/yacht.md, memory/boat.md", id="two that are not on disk"),
        pytest.param("[]", id="json"),
    ],
)
async def test_a_line_that_is_no_name_is_a_fault_and_never_a_guess(
    script: Script, line: str
) -> None:
    said = f"echo memory/coffee.md; echo {shlex.quote(line)}"

    with pytest.raises(NotAnAnswer, match=r"sh pick.sh gave .* no name of a memory") as fault:
        await names(script(said), "?")

    assert repr(line) in str(fault.value)


async def test_bytes_that_are_no_text_are_a_fault(script: Script) -> None:
    with pytest.raises(NotAnAnswer, match=r"not UTF-8 \(byte 7\)"):
        await names(script(r"printf 'memory/\377.md'"), "?")


async def test_endless_output_is_a_fault(script: Script) -> None:
    with pytest.raises(NotAnAnswer, match="more than 4 MB"):
        await names(script("head -c 5000000 /dev/zero"), "?")


async def test_a_program_that_fails_has_picked_nothing_whatever_it_printed(script: Script) -> None:
    said = "echo memory/coffee.md; echo first >&2; echo no such index >&2; exit 3"

    with pytest.raises(SystemFault, match=r"^sh pick.sh ended with exit code 3: no such index$"):
        await names(script(said), "?")


async def test_a_killed_program_is_reported_as_killed(script: Script) -> None:
    with pytest.raises(SystemFault, match="ended with signal 9"):
        await names(script("kill -9 $$"), "?")


async def test_a_program_that_hangs_is_ended_and_quoted(script: Script) -> None:
    hanging = script("echo loading the index >&2; sleep 600", timeout_s=0.5)

    with pytest.raises(SystemTimeout, match=r"did not end within 0.45 s: loading the index$"):
        await names(hanging, "?")


def spawning(folder: Path, timeout_s: float | None) -> CommandSelector:
    """Starts a child, and heeds no request to end; nor does the child."""
    target = f"command:{shlex.join([sys.executable, '-I', '-S', '-c', SPAWNING_SCRIPT])}"
    return build_command_selector(target, limited(timeout_s), folder=folder)


async def test_what_a_hanging_program_started_ends_with_it(tmp_path: Path) -> None:
    with pytest.raises(SystemTimeout):
        await names(spawning(tmp_path, 1.0), "?")

    wait_until_gone(read_pids(tmp_path))


async def test_a_run_that_gives_up_ends_the_program(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(names, spawning(tmp_path, None), "?")
        pids = await anyio.to_thread.run_sync(read_pids, tmp_path)
        group.cancel_scope.cancel()

    wait_until_gone(pids)


@pytest.mark.parametrize("text", ["true", "head -c 10 >/dev/null; echo memory/coffee.md"])
async def test_a_program_need_not_read_a_long_prompt(script: Script, text: str) -> None:
    await names(script(text), "flat? " * 200_000)


async def test_concurrent_prompts_are_not_mixed_up(tmp_path: Path) -> None:
    chooser = await build_command_selector("command:cat", Settings(), folder=tmp_path).open(
        MEMORIES
    )
    heard: dict[str, tuple[str, ...]] = {}

    async def ask(name: str) -> None:
        heard[name] = (await chooser.select(name)).names

    async with anyio.create_task_group() as group:
        for each in MEMORIES:
            group.start_soon(ask, each.name)
    await chooser.close()

    assert heard == {each.name: (each.name,) for each in MEMORIES}


def test_the_card_names_the_words_and_changes_with_the_script(script: Script) -> None:
    first, second = script("true").card, script("false").card

    assert first.name == "sh pick.sh"
    assert first.config["command"] == second.config["command"]
    assert first.version != second.version
    assert first.max_concurrency == 8


def test_how_many_run_at_once_can_be_said(tmp_path: Path) -> None:
    selector = build_command_selector(
        "command:cat", Settings(config={"max_concurrency": 1}), folder=tmp_path
    )

    assert selector.card.max_concurrency == 1


def test_an_unknown_setting_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'max_concurrency'"):
        build_command_selector("command:cat", Settings(config={"concurrency": 1}), folder=tmp_path)


def test_a_program_that_is_not_there_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no program 'no-such-picker'"):
        build_command_selector("command:no-such-picker", Settings(), folder=tmp_path)


async def test_a_program_that_vanishes_costs_it_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pick.sh"
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    selector = build_command_selector(f"command:{path}", Settings(), folder=tmp_path)
    path.unlink()

    with pytest.raises(SystemGone, match=r"pick.sh cannot be started \(No such file"):
        await names(selector, "?")


async def test_it_has_only_the_variables_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-the-judge")
    monkeypatch.setenv("MY_SERVICE", "here")
    path = tmp_path / "pick.sh"
    path.write_text('echo "memory/${OPENAI_API_KEY:-none}-$MY_SERVICE.md"', encoding="utf-8")
    settings = Settings(env=("MY_SERVICE",))
    selector = build_command_selector(f"command:sh {path}", settings, folder=tmp_path)

    assert await names(selector, "?") == ("memory/none-here.md",)
    assert selector.card.isolation == IsolationCard(kind=Isolation.PROCESS, env=("MY_SERVICE",))


@pytest.mark.skipif(not sandbox.is_available(), reason="this kernel cannot confine a process")
async def test_with_a_sandbox_it_reads_the_memories_and_not_the_tests(tmp_path: Path) -> None:
    folder = written(tmp_path / "agent")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.bench").write_text("memory/coffee.md")
    path = tmp_path / "pick.sh"
    path.write_text(
        f"cat {tmp_path}/tests/a.bench && echo; grep -l Lisbon memory/*.md", encoding="utf-8"
    )
    picked = [
        await names(
            build_command_selector(
                f"command:sh {path}",
                Settings(sandbox=is_confined),
                folder=folder,
                hidden=(tmp_path / "tests",),
            ),
            "?",
        )
        for is_confined in (False, True)
    ]

    assert picked == [
        ("memory/coffee.md", "memory/travel.md"),
        ("memory/travel.md",),
    ]
