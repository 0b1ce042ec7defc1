"""A folder as a model: requests go out as files, replies come in as files, and none is lost."""

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import ModelFault, ModelPending, UsageError
from recall_bench.features.models import folder_model
from recall_bench.features.models.folder_model import POLL_S, FolderModel
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.systems.models.model import Prompt, make_request_key, report_rejection
from tests.features.models.event_loop import until
from tests.features.models.prompts import PROMPT, ask
from tests.served_folder import put_reply, serve_folder

pytestmark = pytest.mark.anyio

KEY = make_request_key(PROMPT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "w"


class Clock:
    """The clock of the model under test: a pause takes no time, and is recorded."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def current_time(self) -> float:
        return sum(self.pauses)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await anyio.lowlevel.checkpoint()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(folder_model, "anyio", found)
    return found


def opened(folder: Path, options: str = "") -> FolderModel:
    spec = parse_spec(f"folder:{folder}{options}", {})
    assert spec is not None
    return FolderModel(spec)


async def test_a_request_is_a_file_for_programs_and_one_for_people(folder: Path) -> None:
    with pytest.raises(ModelPending) as pending:
        await opened(folder).complete(replace(PROMPT, about="day 1, crew"))

    assert str(pending.value) == (
        f"1 request waits in {folder}/requests; put the replies into {folder}/replies and run the "
        "same command again"
    )
    assert pending.value.exit_code == 13
    request = json.loads((folder / "requests" / f"{KEY}.json").read_bytes())
    assert (request["system"], request["user"]) == (PROMPT.system, PROMPT.user)
    assert request["schema"] == PROMPT.schema
    assert request["reply"] == f"replies/{KEY}.txt"
    page = (folder / "requests" / f"{KEY}.md").read_text()
    assert page.startswith(f"This is for day 1, crew. Put the reply into `replies/{KEY}.txt`")
    assert request["about"] == "day 1, crew"
    assert PROMPT.user in page


@pytest.mark.parametrize("suffix", [".txt", ".md", ".json"])
async def test_a_later_run_takes_the_reply_and_the_request_no_longer_waits(
    folder: Path, suffix: str
) -> None:
    with pytest.raises(ModelPending):
        await ask(f"folder:{folder}")
    put_reply(folder / "replies" / f"{KEY}{suffix}", "\ufeff three \n")

    reply = await ask(f"folder:{folder}")

    assert reply.text == "three"
    assert (reply.usage.calls, reply.usage.unpriced) == (1, 1)
    assert not list((folder / "requests").iterdir())
    assert len(list((folder / "answered").iterdir())) == 2
    assert (await ask(f"folder:{folder}")).text == "three"


async def test_another_variant_wants_another_reply(folder: Path) -> None:
    put_reply(folder / "replies" / f"{KEY}.txt", "three")
    again = replace(PROMPT, variant="attempt 1")

    with pytest.raises(ModelPending):
        await ask(f"folder:{folder}", again)
    assert make_request_key(again) != KEY


async def test_the_sentence_counts_what_waits(folder: Path) -> None:
    model = opened(folder)
    for number in range(3):
        with pytest.raises(ModelPending) as pending:
            await model.complete(Prompt(system="", user=str(number)))

    assert str(pending.value).startswith("3 requests wait in ")


async def test_a_reply_that_still_grows_is_not_taken(folder: Path) -> None:
    path = folder / "replies" / f"{KEY}.txt"
    path.parent.mkdir(parents=True)
    path.write_text("thr")

    def go_on() -> None:
        for letter in "ee sheets":
            time.sleep(0.2)
            with path.open("a") as file:
                file.write(letter)

    writer = threading.Thread(target=go_on)
    writer.start()
    reply = await ask(f"folder:{folder}")
    writer.join()

    assert reply.text == "three sheets"


async def test_a_file_from_a_clock_ahead_of_ours_is_taken(folder: Path) -> None:
    path = folder / "replies" / f"{KEY}.txt"
    put_reply(path, "three")
    os.utime(path, (time.time() + 900, time.time() + 900))

    with anyio.fail_after(60):
        assert (await ask(f"folder:{folder}")).text == "three"


async def test_a_reply_ends_the_waiting(folder: Path) -> None:
    async def reply_soon() -> None:
        await until(lambda: serve_folder(folder, lambda _, __: "three"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reply_soon)
        assert (await ask(f"folder:{folder};wait=600")).text == "three"


async def test_it_looks_again_until_the_time_is_over(folder: Path, clock: Clock) -> None:
    with pytest.raises(ModelPending):
        await ask(f"folder:{folder};wait=1.25", Prompt(system="", user="nobody comes"))

    assert clock.pauses == [POLL_S, POLL_S, 0.25]


async def test_a_wait_in_vain_is_not_repeated_for_every_request(folder: Path, clock: Clock) -> None:
    model = opened(folder, ";wait=2")

    for number in range(20):
        with pytest.raises(ModelPending):
            await model.complete(Prompt(system="", user=str(number)))

    assert clock.pauses == [POLL_S] * 4


async def test_waiting_can_be_cancelled(folder: Path) -> None:
    with anyio.move_on_after(0.2) as scope:
        await ask(f"folder:{folder};wait=600")
    assert scope.cancelled_caught
    assert (folder / "requests" / f"{KEY}.json").exists()


async def test_a_rejected_reply_is_moved_aside_with_the_reasons(folder: Path) -> None:
    model = opened(folder)
    put_reply(folder / "replies" / f"{KEY}.txt", "four")
    report_rejection(model, PROMPT, ["four is too many", "it is a word"])
    report_rejection(model, PROMPT, ["a second time after a kill"])

    assert not list((folder / "replies").iterdir())
    reasons = (folder / "rejected" / f"{KEY}.reasons.md").read_text()
    assert reasons == "- four is too many\n- it is a word\n"
    # The judge keeps no log: it reads the rejected reply again and asks the next attempt.
    assert (await model.complete(PROMPT)).text == "four"
    put_reply(folder / "replies" / f"{KEY}.txt", "three")
    assert (await model.complete(PROMPT)).text == "three"


def _link(path: Path) -> None:
    secret = path.parents[2] / "secret"
    secret.write_text("a secret")
    path.symlink_to(secret)


@pytest.mark.parametrize(
    ("make", "about"),
    [
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "is not UTF-8 text"),
        (lambda path: path.write_bytes(b"x" * (5 << 20)), "is larger than 4 MiB"),
        (_link, "is not a regular file"),
        (os.mkfifo, "is not a regular file"),
        (lambda path: path.mkdir(), "is not a regular file"),
        (
            lambda path: [path.with_suffix(end).write_text("x") for end in (".txt", ".md")],
            "are one reply; keep one file",
        ),
    ],
)
async def test_what_cannot_be_a_reply_is_a_fault_of_one_sentence(
    folder: Path, make: Callable[[Path], object], about: str
) -> None:
    path = folder / "replies" / f"{KEY}.txt"
    path.parent.mkdir(parents=True)
    make(path)

    with anyio.fail_after(60), pytest.raises(ModelFault, match=about) as fault:
        await ask(f"folder:{folder}")
    assert not isinstance(fault.value, ModelPending)


@pytest.mark.parametrize("content", ["", " \n"])
async def test_an_empty_file_is_no_reply_yet(folder: Path, content: str) -> None:
    put_reply(folder / "replies" / f"{KEY}.txt", content)

    with pytest.raises(ModelPending):
        await ask(f"folder:{folder}")


async def test_half_of_a_surrogate_pair_does_not_stop_a_request(folder: Path) -> None:
    with pytest.raises(ModelPending):
        await ask(f"folder:{folder}", Prompt(system="", user="\ud83d"))
    assert serve_folder(folder, lambda _, __: "x") == 1


@pytest.mark.parametrize(
    "name", ["with space", "ünï çödé", "-rf", "$(true)", "a'b\"c", "a,b=c", "..x"]
)
async def test_folders_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelPending, match="1 request waits"):
        await ask(f"folder:{name}")
    serve_folder(tmp_path / name, lambda _, __: "three")

    assert (await ask(f"folder:{name}/")).text == "three"
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("spec", "about"),
    [
        ("folder:", "names no folder; write folder:DIR"),
        ("folder", "names no folder"),
        ("folder:a;b", "takes only wait=SECONDS after ';'"),
        ("folder:a;temperature=0", "takes only wait="),
        ("folder:a;wait=", "wait takes a number of seconds"),
        ("folder:a;wait=-1", "wait takes a number of seconds"),
        ("folder:a;wait=inf", "wait takes a number of seconds"),
        ("folder:a;wait=1;wait=2", "twice"),
        ("folder:a\nb", "control character"),
        ("folder:a\0b", "control character"),
        ("openai:m;wait=3", "wait= is for batch= and folder:"),
        ("batch:x", "write openai:MODEL;batch=DIR"),
        ("google:m;batch=x", "works with anthropic:, groq:, openai:, openai-chat:"),
        ("openai:m;send=yes", "send= is for batch="),
        ("openai:m;batch=x;send=maybe", "send takes yes or no"),
        ("openai:m;batch=", "batch takes a folder"),
        ("openai:m;batch=a;batch=b", "twice"),
    ],
)
def test_a_wrong_spec_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, about: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=about):
        parse_spec(spec, {})
    assert not list(tmp_path.iterdir())


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w").write_text("")
    with pytest.raises(UsageError, match="is not a folder"):
        opened(tmp_path / "w")


def test_neither_opening_nor_its_wait_changes_what_it_is_called(tmp_path: Path) -> None:
    model = opened(tmp_path / "w", ";wait=5")
    assert model.name == f"folder:{tmp_path / 'w'}"
    assert not (tmp_path / "w").exists()


async def test_a_folder_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "requests").write_text("in the way")
    with pytest.raises(UsageError, match="cannot be written"):
        await ask("folder:w")
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "answered").write_text("in the way")
    put_reply(tmp_path / "v" / "replies" / f"{KEY}.txt", "three")
    (tmp_path / "v" / "requests").mkdir()
    (tmp_path / "v" / "requests" / f"{KEY}.json").write_text("{}")
    with pytest.raises(UsageError, match="cannot be moved to answered"):
        await ask("folder:v")
