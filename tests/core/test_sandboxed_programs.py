"""A program with `--sandbox` opens its own files, and nothing it is measured by."""

import datetime
import shlex
import socket
import sys
from pathlib import Path
from textwrap import indent

import anyio
import pytest

from recall_bench.core import sandbox
from recall_bench.core.errors import UsageError
from recall_bench.core.memory import Answer, Isolation, SystemCard
from recall_bench.core.scenario import Question
from recall_bench.core.settings import Settings
from recall_bench.systems.resolver import resolve_system

needs_sandbox = pytest.mark.skipif(
    not sandbox.is_available(), reason="this kernel cannot confine a process"
)

QUESTION = Question(
    id="q1", text="Which plant?", asked_at=datetime.datetime(2026, 1, 9), scenario="ada"
)

COMMAND = """
import json, os, socket, sys
def cheat():
{code}
for line in sys.stdin:
    request = json.loads(line)
    body = {{"open": {{"memory": "m"}}, "health": {{"name": "p"}}}}.get(request["do"], {{}})
    if request["do"] == "ask":
        try:
            body = {{"answer": str(cheat())}}
        except OSError as error:
            body = {{"answer": f"refused: {{error}}"}}
    print(json.dumps({{"id": request["id"], "body": body}}), flush=True)
"""
ONCE = """
import json, os, socket, sys
def cheat():
{code}
try:
    found = str(cheat())
except OSError as error:
    found = f"refused: {{error}}"
print(json.dumps({{"hits": [{{"path": "day-0001.md", "score": 1.0, "snippet": found}}]}}))
"""


def write_program(folder: Path, form: str, code: str) -> str:
    """The target of a program that answers with what this code returns."""
    folder.mkdir(exist_ok=True)
    path = folder / "program.py"
    source = COMMAND if form == "command" else ONCE
    path.write_text(source.format(code=indent(code, "    ")))
    return f"{form}:{shlex.join([sys.executable, str(path)])}"


def ask(target: str, **settings: object) -> tuple[str, SystemCard]:
    """What the program answers, and its card."""
    system = resolve_system(Settings(adapter=target, **settings))  # type: ignore[arg-type]

    async def run() -> str:
        try:
            memory = await system.open("ada")
            reply = await memory.answer(QUESTION)
            await memory.close()
        finally:
            await system.close()
        return reply.text if isinstance(reply, Answer) else reply.passages[0].text

    return anyio.run(run), system.card


FORMS = pytest.mark.parametrize("form", ["command", "once"])


CLOSED = ("data/questions.yaml", "run/journal.jsonl", "cache/x", ".env", "a.secret")


@needs_sandbox
@FORMS
def test_it_reads_nothing_it_is_measured_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    folder = tmp_path / "mine"
    for name in CLOSED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("the truth")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(folder / "cache"))
    code = (
        "found = []\n"
        f"for name in {CLOSED}:\n"
        f"    try:\n        found.append(open({str(folder)!r} + '/' + name).read())\n"
        "    except OSError as error:\n        found.append(error.strerror)\n"
        "return ', '.join(found)"
    )
    target = write_program(folder, form, code)
    places = {"data": folder / "data", "into": folder / "run"}

    free, free_card = ask(target, **places)
    confined, card = ask(target, sandbox=True, **places)

    assert free == ", ".join(["the truth"] * len(CLOSED))
    assert confined == ", ".join(["Permission denied"] * len(CLOSED))
    kinds = [each.isolation.kind for each in (free_card, card) if each.isolation]
    assert kinds == [Isolation.PROCESS, Isolation.SANDBOX]


@needs_sandbox
@FORMS
def test_it_has_its_own_files_and_what_was_opened(tmp_path: Path, form: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.txt").write_text("own ")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("opened")
    code = (
        "place = os.path.join(os.environ['RECALL_BENCH_STATE_DIR'], 'written')\n"
        "own = os.path.join(os.path.dirname(__file__), 'index.txt')\n"
        "open(place, 'w').write(open(own).read())\n"
        f"return open(place).read() + open({str(tmp_path / 'model' / 'weights')!r}).read()"
    )
    target = write_program(tmp_path / "mine", form, code)

    assert "Permission denied" in ask(target, sandbox=True)[0]
    said, card = ask(target, sandbox=True, allow_read=(str(tmp_path / "model"),))

    assert said == "own opened"
    assert card.isolation is not None
    assert card.isolation.reads == (str(tmp_path / "model"),)


@needs_sandbox
@FORMS
def test_it_has_no_network_unless_that_is_allowed(tmp_path: Path, form: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()
        target = write_program(
            tmp_path, form, f"socket.create_connection({place}).close()\nreturn 'connected'"
        )

        closed, closed_card = ask(target, sandbox=True)
        opened, opened_card = ask(target, sandbox=True, allow_network=True)

    assert "Permission denied" in closed
    assert opened == "connected"
    networks = [each.isolation.network for each in (closed_card, opened_card) if each.isolation]
    assert networks == [False, True]


@needs_sandbox
def test_a_shell_script_runs_and_its_children_are_confined(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secret").write_text("the truth")
    script = tmp_path / "search.sh"
    script.write_text(
        "#!/bin/sh\n"
        f"found=$(cat {tmp_path}/data/secret 2>/dev/null || echo nothing) \n"
        'printf \'{"hits": [{"path": "x", "score": 1, "snippet": "%s"}]}\' "$found"\n'
    )
    script.chmod(0o755)

    said, _ = ask(f"once:{script}", sandbox=True, data=tmp_path / "data")

    assert said == "nothing"


@FORMS
def test_a_sandbox_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(sandbox, "is_available", lambda: False)
    target = write_program(tmp_path, form, "return 1")

    with pytest.raises(UsageError, match="--sandbox: this kernel cannot confine"):
        ask(target, sandbox=True)


@FORMS
def test_a_flag_without_effect_is_refused(tmp_path: Path, form: str) -> None:
    target = write_program(tmp_path, form, "return 1")

    with pytest.raises(UsageError, match="--allow-read has no effect"):
        ask(target, allow_read=(str(tmp_path),))
    with pytest.raises(UsageError, match="--allow-read: there is no"):
        ask(target, sandbox=True, allow_read=(str(tmp_path / "nowhere"),))
