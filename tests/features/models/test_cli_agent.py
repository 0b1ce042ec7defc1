"""A command-line agent is given a prompt, gives an answer, and leaves no process behind."""

import json
import os
import sys
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import ModelFault, UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import open_model
from recall_bench.systems.models.model import Finish, Model, Prompt, Reply
from tests.features.models.event_loop import until
from tests.features.models.processes import is_running, until_gone

pytestmark = pytest.mark.anyio

PROMPT = Prompt(system="You grade; answer in one line.", user='Grade "$HOME; rm -rf *" — naïve?')

REPORTING = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv[1:],
    "stdin": sys.stdin.buffer.read().decode(),
    "folder": os.getcwd(),
    "files": os.listdir(),
    "is_leader": os.getpgid(0) == os.getpid(),
}))
"""

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    open(sys.argv[0] + ".pids", "w").write(f"{os.getpid()} {child}")
    os.rename(sys.argv[0] + ".pids", sys.argv[0] + ".started")
time.sleep(600)
"""

DESERTING = """
import os, sys, time
child = os.fork()
if child:
    open(sys.argv[0] + ".started", "w").write(str(child))
    print("done", flush=True)
    os._exit(0)
time.sleep(600)
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """The only folder on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def install(shelf: Path, name: str, source: str) -> Path:
    program = shelf / name
    program.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
    program.chmod(0o755)
    return program


def opened(text: str, shelf: Path, **environ: str) -> Model:
    spec = parse_spec(text, {})
    assert spec is not None
    return open_model(spec, {"PATH": str(shelf), **environ})


@pytest.mark.parametrize(
    ("text", "arguments", "stdin"),
    [
        (
            "claude:opus",
            ["--print", "--tools", "--strict-mcp-config", PROMPT.system, "--model", "opus"],
            PROMPT.user,
        ),
        (
            "codex:gpt-5.1",
            ["exec", "read-only", "--skip-git-repo-check", "--model", "gpt-5.1", "-"],
            f"{PROMPT.system}\n\n{PROMPT.user}",
        ),
        (
            "copilot",
            ["--silent", "--no-ask-user", "--deny-tool=shell"],
            f"{PROMPT.system}\n\n{PROMPT.user}",
        ),
    ],
)
async def test_the_prompt_goes_to_standard_input_and_through_no_shell(
    text: str, arguments: list[str], stdin: str, shelf: Path
) -> None:
    install(shelf, text.partition(":")[0], REPORTING)

    report = json.loads((await opened(text, shelf).complete(PROMPT)).text)

    assert set(arguments) <= set(report["arguments"])
    assert ("--model" in report["arguments"]) == (":" in text)
    assert report["stdin"] == stdin
    assert PROMPT.user not in report["arguments"]
    assert report["is_leader"]


async def test_it_works_in_an_empty_folder_that_is_gone_afterwards(shelf: Path) -> None:
    install(shelf, "codex", REPORTING)

    report = json.loads((await opened("codex", shelf).complete(PROMPT)).text)

    assert report["files"] == []
    assert not Path(report["folder"]).exists()


async def test_a_reply_is_one_call_of_unknown_price(shelf: Path) -> None:
    install(shelf, "claude", "print('  three  ')")
    model = opened("claude", shelf)

    assert await model.complete(PROMPT) == Reply(
        text="three", usage=Usage(calls=1, unpriced=1), finish=Finish.STOP
    )
    assert (model.name, model.is_priced) == ("claude", False)
    await model.close()


async def test_a_program_that_is_not_there_is_named(shelf: Path) -> None:
    with pytest.raises(UsageError, match="no program codex on the PATH"):
        opened("codex", shelf)


async def test_a_failure_is_reported_without_keys_of_the_environment(shelf: Path) -> None:
    install(
        shelf,
        "codex",
        "import os, sys\n"
        "print('401 with', os.environ['OPENAI_API_KEY'], file=sys.stderr)\n"
        "print('Authorization: Bearer planted-other', file=sys.stderr)\n"
        "sys.exit(3)",
    )

    with pytest.raises(ModelFault) as raised:
        await opened("codex", shelf, OPENAI_API_KEY="planted-0123456789").complete(PROMPT)

    assert str(raised.value).startswith("codex: ended with code 3: 401 with [redacted]")
    assert "planted" not in str(raised.value)
    assert raised.value.__context__ is None


async def test_a_silent_failure_says_so(shelf: Path) -> None:
    install(shelf, "codex", "raise SystemExit(7)")

    with pytest.raises(ModelFault, match="code 7: it gave no reason"):
        await opened("codex", shelf).complete(PROMPT)


async def test_a_program_that_cannot_start_is_a_fault(shelf: Path) -> None:
    program = shelf / "codex"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)

    with pytest.raises(ModelFault, match="cannot be started"):
        await opened("codex", shelf).complete(PROMPT)


async def test_a_program_that_does_not_read_its_prompt_may_answer(shelf: Path) -> None:
    """The prompt is larger than any pipe."""
    install(shelf, "codex", "print('no need to read')")
    prompt = Prompt(system="s", user="long " * 500_000)

    assert (await opened("codex", shelf).complete(prompt)).text == "no need to read"


async def test_much_output_does_not_block_it(shelf: Path) -> None:
    install(shelf, "codex", "import sys\nsys.stderr.write('x' * 10_000_000)\nprint('done')")

    assert (await opened("codex", shelf).complete(PROMPT)).text == "done"


async def test_cancellation_kills_a_program_that_ignores_sigterm_and_its_children(
    shelf: Path,
) -> None:
    program = install(shelf, "claude", STUBBORN)
    started = Path(f"{program}.started")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(opened("claude", shelf).complete, PROMPT)
        await until(started.exists)
        pids = [int(pid) for pid in started.read_text().split()]
        assert len(pids) == 2
        assert all(map(is_running, pids))
        tasks.cancel_scope.cancel()

    await until_gone(*pids)


async def test_a_child_left_behind_is_ended_and_delays_the_answer_only_briefly(
    shelf: Path,
) -> None:
    program = install(shelf, "claude", DESERTING)

    with anyio.fail_after(30):
        reply = await opened("claude", shelf).complete(PROMPT)

    assert reply.text == "done"
    await until_gone(int(Path(f"{program}.started").read_text()))


async def test_it_gets_the_given_environment_and_no_more(shelf: Path) -> None:
    install(shelf, "codex", "import os\nprint(sorted(k for k in os.environ if k != 'LC_CTYPE'))")

    reply = await opened("codex", shelf, HOME="/nowhere").complete(PROMPT)

    assert reply.text == "['HOME', 'PATH']"
    assert os.environ["PATH"] != str(shelf)
