"""A Python selector runs in a process of its own, and chooses as it would in ours."""

import os
from functools import partial
from pathlib import Path

import anyio
import pytest

from recall_bench.core import sandbox
from recall_bench.core.errors import NotAnAnswer, SystemFault, SystemTimeout, UsageError
from recall_bench.core.memory import Isolation
from recall_bench.core.retry import limit_time
from recall_bench.core.settings import Settings
from recall_bench.features.selection.selectors.isolated_selector import load_isolated_selector
from recall_bench.features.selection.selectors.user_selectors import load_selector
from tests.features.selection.memories import MEMORIES, names

pytestmark = pytest.mark.anyio

GREP = (
    "def select(prompt, memories):\n"
    "    words = set(prompt.lower().strip('?').split())\n"
    "    return [each.name for each in memories if words & set(each.text.lower().split())]\n"
)


def write(folder: Path, source: str) -> str:
    path = folder / "pick.py"
    path.write_text(source, encoding="utf-8")
    return str(path)


async def test_it_chooses_as_in_our_process(tmp_path: Path) -> None:
    target = write(tmp_path, GREP)
    here = load_selector(target, {})
    alone = load_isolated_selector(target, Settings())
    prompts = ("coffee", "Lisbon", "nothing at all")

    picked = [await names(here, prompt) for prompt in prompts]

    assert [await names(alone, prompt) for prompt in prompts] == picked
    assert any(picked)
    assert alone.card.replace(isolation=None) == here.card.replace(isolation=None)


async def test_it_is_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-the-judge")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.bench").write_text("the truth")
    target = write(
        tmp_path,
        "import os\ndef select(prompt, memories):\n"
        "    try:\n"
        f"        truth = open({str(tmp_path / 'tests' / 'a.bench')!r}).read()\n"
        "    except OSError:\n        truth = 'closed'\n"
        "    key = os.environ.get('OPENAI_API_KEY', 'none')\n"
        "    return [f'memory/{key} {truth} {os.getpid()}.md']",
    )

    selector = load_isolated_selector(target, Settings(), (tmp_path / "tests",))
    picked = await names(selector, "?")

    words = picked[0].removesuffix(".md").split()
    assert words[0] == "memory/none"
    assert int(words[-1]) != os.getpid()
    assert selector.card.isolation is not None
    if sandbox.is_available():
        assert words[1] == "closed"
        assert selector.card.isolation.kind is Isolation.SANDBOX


async def test_settings_reach_a_class(tmp_path: Path) -> None:
    target = write(
        tmp_path,
        "class Mine:\n    def __init__(self, first): self.first = first\n"
        "    async def select(self, prompt, memories): return [memories[self.first].name]",
    )
    selector = load_isolated_selector(f"{target}:Mine", Settings(config={"first": 1}))

    assert await names(selector, "?") == (MEMORIES[1].name,)
    assert selector.card.config == {"first": 1}
    assert selector.card.max_concurrency == 64


def test_what_cannot_be_loaded_is_said_as_in_our_process(tmp_path: Path) -> None:
    target = write(tmp_path, "other = 1")
    said = []
    ways = (
        partial(load_selector, target, {}),
        partial(load_isolated_selector, target, Settings()),
    )
    for load in ways:
        with pytest.raises(UsageError) as raised:
            load()
        said.append(str(raised.value))

    assert said[0] == said[1]
    assert "has no 'select'" in said[0]


@pytest.mark.parametrize(
    ("code", "fault", "problem"),
    [
        ("raise ValueError('no index')", SystemFault, r"ValueError: no index \(pick.py, line 2\)"),
        ("return 'memory/coffee.md'", NotAnAnswer, "let it return the names of memories"),
        ("return ['coffee']", NotAnAnswer, "'coffee', which is no name of a memory"),
    ],
)
async def test_its_faults_are_those_of_our_process(
    tmp_path: Path, code: str, fault: type[Exception], problem: str
) -> None:
    target = write(tmp_path, f"def select(prompt, memories):\n    {code}")

    for selector in (load_selector(target, {}), load_isolated_selector(target, Settings())):
        with pytest.raises(fault, match=problem):
            await names(selector, "?")


@pytest.mark.parametrize("hang", ["while True: pass", "import time; time.sleep(600)"])
async def test_code_that_hangs_costs_one_prompt(tmp_path: Path, hang: str) -> None:
    target = write(
        tmp_path,
        f"def select(prompt, memories):\n    if prompt == 'hang':\n        {hang}\n"
        "    return [memories[0].name]",
    )
    selector = load_isolated_selector(target, Settings())
    chooser = await selector.open(MEMORIES)
    try:
        with pytest.raises(SystemTimeout):
            await limit_time(0.3, chooser.select("hang"), SystemTimeout("late"))
        for _ in range(2):
            with anyio.move_on_after(20):
                try:
                    picked = await chooser.select("?")
                    break
                except SystemFault:  # the process was ended because of the first prompt
                    continue
        assert picked.names == (MEMORIES[0].name,)
    finally:
        await chooser.close()
        await selector.close()
