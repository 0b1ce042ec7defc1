"""Every pass with a model whose replies come as files: command by command, killed and continued."""

import json
import signal
from pathlib import Path

import pytest

from recall_bench.core.errors import ReplyPending
from tests.commands import Invoke
from tests.features.personas.killed_commands import contents, in_child
from tests.features.personas.scripted_author import author
from tests.features.personas.test_kill import AUTHOR, COMMANDS, DAYS
from tests.served_folder import Writer, serve_batch, serve_folder
from tests.warm_commands import start_command

WAITING = ReplyPending.exit_code
PASSES = {name: words for name, words in COMMANDS.items() if name != "tool-calls"}


def finish(words: list[str], folder: Path, write: Writer = author) -> int:
    """Run the command and serve its requests until nothing waits; how often it was run."""
    for number in range(1, 100):
        code = in_child(words)
        if code != WAITING:
            assert code == 0
            return number
        assert serve_folder(folder, write)
    raise AssertionError("it never ends")


def test_every_pass_writes_what_it_writes_with_the_model_itself(tmp_path: Path) -> None:
    """Also where a reply to every fifth request is first a bad one."""
    direct, served, folder = tmp_path / "a" / "yard", tmp_path / "b" / "yard", tmp_path / "w"
    rejected: list[str] = []

    def write(system: str, user: str) -> str:
        task, is_repeated, _ = user.partition("\n\nAn earlier reply was rejected.")
        if not is_repeated and len(user) % 5 == 0:
            rejected.append(user)
            return "{"
        return author(system, task)

    runs = {}
    for name, words in PASSES.items():
        assert in_child([*words, "--persona", str(direct), "--model", AUTHOR]) == 0
        asking = [*words, "--persona", str(served), "--model", f"folder:{folder}"]
        runs[name] = finish(asking, folder, write)

    assert contents(served) == contents(direct)
    assert rejected
    assert len(list((folder / "rejected").glob("*.reasons.md"))) == len(rejected)
    assert runs["conversations"] <= 3, "all days are asked for at once"
    assert runs["questions"] <= 3
    assert runs["verify"] <= 3


def test_a_command_ends_with_a_sentence_and_nothing_is_lost(tmp_path: Path, invoke: Invoke) -> None:
    persona, folder = tmp_path / "yard", tmp_path / "w"
    words = [*COMMANDS["create"], "--persona", str(persona), "--model", f"folder:{folder}"]
    shown = invoke(*words)

    assert shown.code == WAITING
    assert shown.err.splitlines()[-1] == (
        f"1 request waits in {folder}/requests; put the replies into {folder}/replies and run the "
        "same command again"
    )
    assert finish(words, folder) == 3


def test_days_wait_for_the_days_they_build_on(tmp_path: Path) -> None:
    """With a lag of one, a day is asked for when the day before it is written."""
    persona, folder = tmp_path / "yard", tmp_path / "w"
    made = [*COMMANDS["create"], "--persona", str(persona), "--model", AUTHOR]
    assert in_child(made) == 0
    days = ["generate", "--persona", str(persona), "--model", f"folder:{folder}", "--days", "6"]

    runs = finish([*days, "--lag", "1"], folder)
    written = len(list((persona / f"memories-{DAYS}d").glob("day-*.md")))
    assert runs == written + 1
    assert not list((folder / "requests").iterdir()), "no request was made too early"
    again = tmp_path / "again" / "yard"
    assert in_child([*made[:-3], str(again), *made[-2:]]) == 0
    direct = ["generate", "--persona", str(again), "--model", AUTHOR, "--days", "6", "--lag", "1"]
    assert in_child(direct) == 0
    assert contents(again).keys() == contents(persona).keys()
    for path in (again / f"memories-{DAYS}d").iterdir():
        assert path.read_bytes() == (persona / path.parent.name / path.name).read_bytes()


def test_the_same_bad_reply_twice_is_asked_for_again(tmp_path: Path) -> None:
    persona, folder = tmp_path / "yard", tmp_path / "w"
    words = [*COMMANDS["create"], "--persona", str(persona), "--model", f"folder:{folder}"]
    for _ in range(4):
        assert in_child(words) == WAITING
        assert serve_folder(folder, lambda _, __: "{") == 1
    assert finish(words, folder) == 3
    assert len(list((folder / "rejected").glob("*.reasons.md"))) == 4


def test_overwriting_asks_for_new_replies(tmp_path: Path) -> None:
    persona, folder = tmp_path / "yard", tmp_path / "w"
    assert in_child([*COMMANDS["create"], "--persona", str(persona), "--model", AUTHOR]) == 0
    assert in_child(["generate", "--persona", str(persona), "--model", AUTHOR]) == 0
    words = ["generate-conversations", "--persona", str(persona), "--model", f"folder:{folder}"]
    assert finish(words, folder) == 2

    assert in_child([*words, "--overwrite"]) == WAITING
    assert serve_folder(folder, author) == len(list((folder / "answered").glob("*.json")))
    assert in_child([*words, "--overwrite"]) == 0


def test_killed_at_any_moment_it_asks_for_nothing_twice(tmp_path: Path) -> None:
    persona, folder = tmp_path / "yard", tmp_path / "w"
    assert in_child([*COMMANDS["create"], "--persona", str(persona), "--model", AUTHOR]) == 0
    words = ["generate", "--persona", str(persona), "--model", f"folder:{folder}", "--days", "5"]
    asked: list[str] = []

    def write(system: str, user: str) -> str:
        asked.append(user)
        return author(system, user)

    for moment in range(12):
        code = in_child(words, moment)
        assert code in (None, WAITING, 0)
        serve_folder(folder, write)
    finish(words, folder, write)
    assert len(asked) == len(set(asked))


def test_two_commands_share_a_folder(tmp_path: Path) -> None:
    """Two processes write the same requests, and each takes the replies for its own persona."""
    folder = tmp_path / "w"
    personas = [tmp_path / name / "yard" for name in ("a", "b")]
    commands = [
        [*COMMANDS["create"], "--persona", str(path), "--model", f"folder:{folder};wait=60"]
        for path in personas
    ]
    left = {start_command(words) for words in commands}
    while left:
        serve_folder(folder, author)
        for command in list(left):
            if command.poll() is not None:
                left.discard(command)
                assert command.returncode == 0
    assert contents(personas[0]) == contents(personas[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_waiting(tmp_path: Path, number: signal.Signals) -> None:
    persona, folder = tmp_path / "yard", tmp_path / "w"
    words = [*COMMANDS["create"], "--persona", str(persona), "--model", f"folder:{folder};wait=600"]
    command = start_command(words)
    while not list(folder.glob("requests/*.json")):
        assert command.poll() is None
    command.send_signal(number)
    assert command.wait() == 128 + number
    assert finish([*words[:-1], f"folder:{folder}"], folder) == 3


def test_a_batch_serves_a_pass(tmp_path: Path, invoke: Invoke) -> None:
    """In this process: each other one would load the client of the provider anew."""
    pytest.importorskip("pydantic_ai")
    persona, folder = tmp_path / "yard", tmp_path / "b"
    assert in_child([*COMMANDS["create"], "--persona", str(persona), "--model", AUTHOR]) == 0
    assert in_child(["generate", "--persona", str(persona), "--model", AUTHOR]) == 0
    model = f"openai:gpt-4o;batch={folder}"
    words = ["generate-conversations", "--persona", str(persona), "--model", model]

    assert invoke(*words).code == WAITING
    days = len(list((persona / f"memories-{DAYS}d").glob("day-*.md")))
    assert serve_batch(folder, author) == days
    assert invoke(*words).code == 0
    log = persona / ".generation" / f"conversations-{DAYS}d.jsonl"
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    assert {call["model"] for call in calls} == {"openai:gpt-4o;temperature=0.7"}
    assert all(call["usage"]["cost_usd"] > 0 for call in calls)
