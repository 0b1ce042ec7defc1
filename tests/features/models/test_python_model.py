"""A model may be a file of one's own; what it does wrong is its own fault, and said to be."""

import asyncio
import threading
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import ModelBusy, ModelFault, ModelGone, UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.models.python_model import PythonModel, load_model
from recall_bench.systems.models.model import NO_TUNING, Finish, Prompt, Reply, Tuning
from tests.loops import loop_over_rows

pytestmark = pytest.mark.anyio

PROMPT = Prompt(system="You write.", user="Write a day.")
TUNED = Tuning(temperature=0.5, max_tokens=1_234_567)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(source: str, name: str = "mine.py") -> str:
    Path(name).write_text(source, encoding="utf-8")
    return name


def loaded(source: str, name: str = "", tuning: Tuning = NO_TUNING) -> PythonModel:
    return load_model(f"{written(source)}{name and ':'}{name}", tuning)


async def said(source: str, name: str = "", tuning: Tuning = NO_TUNING) -> str:
    return (await loaded(source, name, tuning).complete(PROMPT)).text


FORMS = {
    "a prompt": ("def model(prompt): return prompt.system + '|' + prompt.user", ""),
    "async": ("async def model(prompt): return prompt.system + '|' + prompt.user", ""),
    "two texts": ("def complete(system, user): return system + '|' + user", ""),
    "more": ("async def ask(system, user, tries=3): return system + '|' + user", "ask"),
    "a default": ("def ask(system, user=''): return system + '|' + user", "ask"),
    "by position": ("def ask(first, second, /): return first + '|' + second", "ask"),
    "a lambda": ("ask = lambda prompt, more=1: prompt.system + '|' + prompt.user", "ask"),
    "one text": (ONE_TEXT := "def ask(p: str): return p.replace('\\n\\n', '|')", "ask"),
    "late annotations": (f"from __future__ import annotations\n{ONE_TEXT}", "ask"),
    "a class": (MINE := "class Mine:\n def complete(self, s, u): return s + '|' + u\n", "Mine"),
    "an object": (f"{MINE}model = Mine()", ""),
    "async method": (MINE.replace("def", "async def"), "Mine"),
    "callable": (MINE.replace("complete", "__call__"), "Mine"),
    "a factory": ("def make():\n return lambda system, user: system + '|' + user", "make"),
    "a promise": (
        "def model(system, user):\n async def late(): return system + '|' + user\n return late()",
        "",
    ),
}


@pytest.mark.parametrize(("source", "name"), FORMS.values(), ids=FORMS)
async def test_functions_objects_and_what_makes_them_are_models(source: str, name: str) -> None:
    assert await said(source, name) == "You write.|Write a day."


async def test_a_module_that_can_be_imported_is_named_without_a_suffix() -> None:
    written("def ask(prompt): return 'yes'", "importable_model_of_a_test.py")

    model = load_model("importable_model_of_a_test:ask")

    assert (await model.complete(PROMPT)).text == "yes"
    assert model.name.startswith("importable_model_of_a_test:ask;digest=")


@pytest.mark.parametrize(
    ("parameters", "heard"),
    [
        ("prompt, **more", {"temperature": 0.5, "max_tokens": 1_234_567}),
        ("prompt, *, max_tokens=7", {"max_tokens": 1_234_567}),
        ("system, user, temperature", {"temperature": 0.5}),
        ("prompt", {}),
    ],
)
async def test_temperature_and_length_are_passed_where_they_are_taken(
    parameters: str, heard: dict[str, float]
) -> None:
    source = f"def model({parameters}):\n    heard = locals()\n"
    model = loaded(f"{source}    return repr(heard.get('more', heard))", tuning=TUNED)

    text = (await model.complete(PROMPT)).text

    assert [f"'{key}': {value}" in text for key, value in heard.items()] == [True] * len(heard)
    assert ("temperature=0.5" in model.name) == ("temperature" in heard)
    assert ("max-tokens=1234567" in model.name) == ("max_tokens" in heard)


async def test_unset_options_are_left_to_the_function() -> None:
    source = "def model(prompt, temperature, max_tokens=9): return f'{temperature} {max_tokens}'"

    assert await said(source, tuning=Tuning(usual_temperature=0.7)) == "None 9"


async def test_a_text_is_one_call_of_unknown_price_and_a_reply_says_what_it_cost() -> None:
    priced = loaded(
        "from recall_bench.core.usage import Usage\n"
        "from recall_bench.systems.models.model import Finish, Reply\n"
        "def model(prompt):\n"
        "    return Reply(text='x', usage=Usage(calls=2, cost_usd=0.5), finish=Finish.LENGTH)\n"
        "model.is_priced = True"
    )

    assert await priced.complete(PROMPT) == Reply(
        text="x", usage=Usage(calls=2, cost_usd=0.5), finish=Finish.LENGTH
    )
    assert priced.is_priced
    plain = loaded("def model(prompt): return 'lone \\ud800'")
    assert await plain.complete(PROMPT) == Reply(
        text="lone \\ud800", usage=Usage(calls=1, unpriced=1)
    )
    assert not plain.is_priced


async def test_a_slow_function_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other to have begun."""
    meeting = threading.Barrier(2, timeout=20)
    monkeypatch.setattr(threading, "meeting_of_a_test", meeting, raising=False)
    model = loaded(
        "import threading\n"
        "def model(prompt):\n"
        "    threading.meeting_of_a_test.wait()\n"
        "    return 'met'"
    )
    replies = []

    async def ask() -> None:
        replies.append((await model.complete(PROMPT)).text)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)

    assert replies == ["met", "met"]


async def test_cancellation_does_not_wait_for_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(threading, "release_of_a_test", release, raising=False)
    model = loaded("import threading\ndef model(prompt): threading.release_of_a_test.wait(20)")

    with anyio.move_on_after(0.05) as patience:
        await model.complete(PROMPT)

    assert patience.cancelled_caught
    left = [thread.daemon for thread in threading.enumerate() if thread.name == "foreign call"]
    assert left == [True]
    release.set()


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        (
            "raise ValueError('no idea')",
            ModelFault,
            "failed: ValueError: no idea (mine.py, line 3)",
        ),
        ("raise ConnectionError('away')", ModelBusy, "ConnectionError: away"),
        ("raise TimeoutError", ModelBusy, "could not reach what it needs: TimeoutError"),
        ("raise StopIteration", ModelFault, "failed: "),
        ("raise SystemExit(3)", ModelFault, "failed: "),
        ("raise errors.ModelGone('its key is gone')", ModelGone, "its key is gone"),
        ("raise errors.UsageError('odd')", ModelFault, "failed: UsageError: odd"),
        ("raise ValueError('with planted-0123456789')", ModelFault, "with [redacted]"),
        ("return 3", ModelFault, "returned int, neither a text nor a Reply"),
        ("return None", ModelFault, "returned NoneType"),
    ],
)
@pytest.mark.parametrize("form", ["def", "async def"])
async def test_a_failure_in_it_is_a_fault_with_its_message(
    form: str, body: str, kind: type[ModelFault], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_KEY", "planted-0123456789")
    model = loaded(f"from recall_bench.core import errors\n{form} model(prompt):\n    {body}")

    with pytest.raises(ModelFault) as raised:
        await model.complete(PROMPT)

    assert type(raised.value) is kind
    assert told in str(raised.value)
    assert "planted" not in str(raised.value)
    assert raised.value.__context__ is None


async def test_a_coroutine_receives_its_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = asyncio.Event()
    monkeypatch.setattr(asyncio, "heard_in_a_test", heard, raising=False)
    model = loaded(
        "import asyncio\n"
        "async def model(prompt):\n"
        "    try:\n"
        "        await asyncio.sleep(600)\n"
        "    finally:\n"
        "        asyncio.heard_in_a_test.set()"
    )

    with anyio.move_on_after(0.02):
        await model.complete(PROMPT)

    assert heard.is_set()


def test_a_changed_file_is_another_model_and_its_folder_is_not(here: Path) -> None:
    before = loaded("def model(prompt): return '1'").name
    (here / "folder").mkdir()
    moved = load_model(written("def model(prompt): return '1'", "folder/mine.py")).name

    assert before.startswith("mine.py;digest=")
    assert moved == before
    assert loaded("def model(prompt): return '2'").name != before


def test_its_declared_name_is_in_its_model_name() -> None:
    source = "class Mine:\n name = 'tiny-7b'\n def complete(self, prompt): return ''"

    assert loaded(source, "Mine").name.startswith("mine.py:Mine;digest=")
    assert loaded(source, "Mine").name.endswith(";name=tiny-7b")


@pytest.mark.parametrize("form", ["def", "async def"])
async def test_a_model_with_a_close_method_is_closed(form: str) -> None:
    model = loaded(
        "class Mine:\n"
        " closed = 0\n"
        " def complete(self, prompt): return str(self.closed)\n"
        f" {form} close(self): self.closed += 1",
        "Mine",
    )

    await model.close()

    assert (await model.complete(PROMPT)).text == "1"
    await loaded("def model(prompt): return ''").close()


@loop_over_rows(
    ("source", "target", "told"),
    [
        ("", "none.py", "none.py: there is no file none.py"),
        ("", "mine.py", "there is no model or complete in it"),
        ("", "mine.py:ask", "mine.py:ask: there is no ask in it; define it"),
        ("raise ValueError('oh')", "mine.py", "importing mine.py failed: ValueError: oh"),
        ("model = 3", "mine.py", "is int, neither a function nor an object with a complete"),
        ("async def model(): return ''", "mine.py", "takes no prompt"),
        ("def model(a, b, c): return ''", "mine.py", "neither a prompt alone nor system and user"),
        ("def model(prompt, *, depth): return ''", "mine.py", "neither a prompt alone"),
        ("def model(*, prompt): return ''", "mine.py", "neither a prompt alone"),
        ("def model(*words): return ''", "mine.py", "neither a prompt alone"),
        ("class Mine:\n def __init__(self, depth): 1", "mine.py:Mine", "cannot be made: TypeError"),
        ("class Mine: pass", "mine.py:Mine", "is Mine, neither a function nor"),
        ("", "mine.py:a b", "neither file.py, file.py:name nor package.module:name"),
        ("", "./program", "a program is named as command:PROGRAM"),
        ("", "no_such_module_anywhere:ask", "there is no module 'no_such_module_anywhere'"),
    ],
)
def test_a_wrong_target_is_refused_before_the_first_call(
    source: str, target: str, told: str
) -> None:
    written(source)

    with pytest.raises(UsageError) as raised:
        load_model(target)

    assert told in str(raised.value)
