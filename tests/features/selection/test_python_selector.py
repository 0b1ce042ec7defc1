"""A selector may be any Python function; what it does wrong costs it the prompt and no more."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import NotAnAnswer, SystemFault, UsageError
from recall_bench.features.selection.selectors.user_selectors import PythonSelector, load_selector
from tests.features.selection.memories import MEMORIES, names

pytestmark = pytest.mark.anyio

Module = Callable[..., PythonSelector]


@pytest.fixture
def module(tmp_path: Path) -> Module:
    """The selector of that name in a file with this text."""

    def made(text: str, name: str = "", **config: object) -> PythonSelector:
        path = tmp_path / "mine.py"
        path.write_text(text, encoding="utf-8")
        return load_selector(f"{path}:{name}" if name else str(path), config)

    return made


@pytest.mark.parametrize(
    "body",
    [
        "def select(prompt, memories): return [m.name for m in memories if prompt in m.body]",
        "def select(prompt, memories): return (m.name for m in memories if prompt in m.body)",
        "async def select(prompt, memories): return {m.name for m in memories if prompt in m.body}",
        "class select:\n def select(self, prompt, memories): yield memories[-1].name",
        "class select:\n def __call__(self, prompt, memories): return [memories[-1].name]",
    ],
    ids=["list", "generator", "async", "method", "callable object"],
)
async def test_names_come_from_anything_that_gives_them(module: Module, body: str) -> None:
    assert await names(module(body), "Lisbon") == ("memory/travel.md",)


async def test_a_class_is_given_the_settings(module: Module) -> None:
    text = (
        "class Fixed:\n"
        " def __init__(self, pick): self.pick = pick\n"
        " def select(self, prompt, memories): return [self.pick, self.pick]"
    )
    selector = module(text, "Fixed", pick="memory/yacht.md")

    assert await names(selector, "?") == ("memory/yacht.md",)
    assert selector.card.config == {"pick": "memory/yacht.md"}


async def test_a_module_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "picker_for_a_test.py").write_text("def none(prompt, memories): return ()")
    monkeypatch.syspath_prepend(tmp_path)

    selector = load_selector("picker_for_a_test:none", {})

    assert await names(selector, "?") == ()
    assert selector.card.name == "picker_for_a_test:none"


@pytest.mark.parametrize(
    "returned",
    ["None", "'memory/travel.md'", "{'memory/travel.md': 1}", "3", "[3]", "[None]", "['travel']"],
)
async def test_anything_else_is_a_fault_and_never_a_guess(module: Module, returned: str) -> None:
    with pytest.raises(NotAnAnswer, match=r"^mine.py:select (returned|gave) .*; let it"):
        await names(module(f"def select(prompt, memories): return {returned}"), "?")


@pytest.mark.parametrize(
    "body",
    [
        "def select(prompt, memories):\n raise KeyError('no index')",
        "def select(prompt, memories):\n yield memories[0].name\n raise KeyError('no index')",
        "async def select(prompt, memories):\n raise KeyError('no index')",
    ],
    ids=["plain", "while it is read", "async"],
)
async def test_what_it_raises_is_its_fault_with_the_line(module: Module, body: str) -> None:
    place = rf"KeyError: 'no index' \(mine.py, line {body.count(chr(10)) + 1}\)"

    with pytest.raises(SystemFault, match=place):
        await names(module(body), "?")


async def test_it_cannot_end_the_run(module: Module) -> None:
    with pytest.raises(SystemFault, match="SystemExit"):
        await names(module("def select(prompt, memories): raise SystemExit(0)"), "?")


ENDLESS = """
import asyncio, time

def loops(prompt, memories):
    while prompt == "hang":
        pass
    return []

def sleeps(prompt, memories):
    if prompt == "hang":
        time.sleep(3)
    return []

async def waits(prompt, memories):
    if prompt == "hang":
        await asyncio.sleep(600)
    return []
"""


@pytest.mark.parametrize("name", ["loops", "sleeps", "waits"])
async def test_code_that_hangs_is_abandoned_and_the_next_prompt_is_answered(
    module: Module, name: str
) -> None:
    chooser = await module(ENDLESS, name).open(MEMORIES)

    with anyio.move_on_after(0.1) as limit:
        await chooser.select("hang")
    after = await chooser.select("go on")

    assert limit.cancelled_caught
    assert after.names == ()
    await chooser.close()


async def test_plain_code_that_allows_it_is_called_from_several_threads(module: Module) -> None:
    text = (
        "import threading\n"
        "both = threading.Barrier(2)\n"
        "def select(prompt, memories):\n"
        " both.wait(10)\n"
        " return [prompt]\n"
        "select.max_concurrency = 2"
    )
    selector = module(text)
    chooser = await selector.open(MEMORIES)
    heard: list[str] = []

    async def ask(prompt: str) -> None:
        heard.extend((await chooser.select(prompt)).names)

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "memory/travel.md")
        group.start_soon(ask, "memory/coffee.md")
    await chooser.close()

    assert sorted(heard) == ["memory/coffee.md", "memory/travel.md"]
    assert selector.card.max_concurrency == 2


def test_only_what_is_async_is_asked_many_things_at_once(module: Module) -> None:
    plain = module("def select(prompt, memories): return []").card
    waiting = module("async def select(prompt, memories): return []").card

    assert (plain.max_concurrency, waiting.max_concurrency) == (1, 64)
    assert plain.version != waiting.version


@pytest.mark.parametrize(
    ("text", "name", "config", "said"),
    [
        ("", "", {}, "has no 'select'"),
        ("def select(prompt): ...", "", {}, "'select' is a function, but a selector is"),
        ("select = 3", "", {}, "'select' is a int, but a selector is"),
        ("def select(p, m): ...", "", {"k": 1}, "takes no settings, so 'k' has no effect"),
        ("class A:\n def select(self, p, m): ...", "A", {"k": 1}, "cannot be made: TypeError"),
        ("import no_such_module", "", {}, "importing .* failed"),
        ("def select(p, m): ...\nselect.max_concurrency = 0", "", {}, "not a number above 0"),
    ],
)
def test_what_is_no_selector_is_refused_before_anything_is_asked(
    module: Module, text: str, name: str, config: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        module(text, name, **config)
