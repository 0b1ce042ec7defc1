"""A command of one's own is a model: it reads a prompt and writes a reply."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from recall_bench.core.errors import ModelFault, UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.models.program_model import open_command
from recall_bench.systems.models.model import Prompt, Reply, Tuning
from tests.loops import loop_over_rows

pytestmark = pytest.mark.anyio

PROMPT = Prompt(system="You write logs.", user='Write "$HOME; rm -rf *" — naïve?')
PYTHON = shlex.quote(sys.executable)

REPORTING = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv[1:],
    "stdin": sys.stdin.buffer.read().decode(),
    "folder": os.getcwd(),
}))
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of whoever types the command, with a script in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(REPORTING, encoding="utf-8")
    return tmp_path


def install(folder: Path, name: str, source: str) -> Path:
    program = folder / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
    program.chmod(0o755)
    return program


async def test_it_reads_the_whole_prompt_in_the_folder_where_it_was_named(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_command(f"command:{PYTHON} mine.py 'a b' $HOME ';' '*'")
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")

    report = json.loads((await model.complete(PROMPT)).text)

    assert report == {
        "arguments": ["a b", "$HOME", ";", "*"],
        "stdin": f"{PROMPT.system}\n\n{PROMPT.user}",
        "folder": str(here),
    }
    await model.close()


async def test_a_reply_is_one_call_of_unknown_price() -> None:
    model = open_command(f"command:{PYTHON} -c \"print('  three  ')\"")

    assert await model.complete(PROMPT) == Reply(text="three", usage=Usage(calls=1, unpriced=1))
    assert not model.is_priced


async def test_temperature_and_length_are_appended_if_they_are_set() -> None:
    asked = open_command(f"command:{PYTHON} mine.py", Tuning(temperature=0.5, max_tokens=100_000))
    free = open_command(f"command:{PYTHON} mine.py", Tuning(usual_temperature=0.7))

    told = json.loads((await asked.complete(PROMPT)).text)["arguments"]

    assert told == ["--temperature", "0.5", "--max-tokens", "100000"]
    assert json.loads((await free.complete(PROMPT)).text)["arguments"] == []
    assert "--temperature 0.5 --max-tokens 100000" in asked.name
    assert asked.name != free.name


@pytest.mark.parametrize("word", ["./bin/writer", "bin/writer", "{here}/bin/writer"])
async def test_a_program_is_found_by_its_path(word: str, here: Path) -> None:
    install(here, "bin/writer", "print('found')")

    model = open_command(f"command:{word.format(here=here)}", environ={"PATH": ""})

    assert (await model.complete(PROMPT)).text == "found"


async def test_a_name_means_the_search_path_and_then_this_folder(here: Path) -> None:
    install(here, "writer", "print('here')")
    alone = open_command("command:writer", environ={"PATH": "/nowhere"})
    shelf = install(here, "shelf/writer", "print('shelf')").parent
    both = open_command("command:writer", environ={"PATH": str(shelf)})

    assert (await alone.complete(PROMPT)).text == "here"
    assert (await both.complete(PROMPT)).text == "shelf"


@loop_over_rows(
    ("target", "told"),
    [
        ("command:", "names no program; write 'command:PROGRAM ARGS…'"),
        ("command:no-such-thing", "no program 'no-such-thing', neither here nor on the PATH"),
        ("command:./mine.py", r"may not be executed.*'command:python ./mine.py'"),
        ("command:echo 'a", "cannot be split into words"),
    ],
)
def test_a_wrong_target_is_refused_before_the_first_call(target: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        open_command(target)


async def test_a_failure_quotes_the_end_of_stderr_without_keys(here: Path) -> None:
    (here / "failing.py").write_text(
        "import os, sys\n"
        "print('progress ' * 200, file=sys.stderr)\n"
        "print('401 with', os.environ['TEAM_KEY'], 'given up', file=sys.stderr)\n"
        "sys.exit(3)"
    )
    model = open_command(
        f"command:{PYTHON} failing.py", environ={"PATH": "", "TEAM_KEY": "planted-0123456789"}
    )

    with pytest.raises(ModelFault) as raised:
        await model.complete(PROMPT)

    said = str(raised.value)
    assert said.startswith(f"{model.name}: ended with code 3: …")
    assert said.endswith("401 with [redacted] given up")
    assert len(said) < len(model.name) + 400


def test_a_changed_script_is_another_model(here: Path) -> None:
    before = open_command(f"command:{PYTHON} mine.py").name
    (here / "mine.py").write_text("print(1)")

    assert open_command(f"command:{PYTHON} mine.py").name != before


def test_a_changed_program_is_another_model_but_a_growing_log_is_not(here: Path) -> None:
    install(here, "writer", "print(1)")
    (here / "log").write_text("one call")
    before = open_command("command:./writer --log log").name
    (here / "log").write_text("two calls")

    assert open_command("command:./writer --log log").name == before
    install(here, "writer", "print(2)")
    assert open_command("command:./writer --log log").name != before


def test_a_program_need_not_be_readable(here: Path) -> None:
    install(here, "writer", "print(1)").chmod(0o111)

    assert open_command("command:./writer").name.startswith("command:./writer")


def test_its_name_holds_no_secrets() -> None:
    model = open_command(
        f"command:{PYTHON} mine.py -H 'Authorization: Bearer planted-1' planted-0123456789",
        environ={"PATH": "", "TEAM_KEY": "planted-0123456789"},
    )

    assert "planted" not in model.name
    assert "planted" not in repr(model)
