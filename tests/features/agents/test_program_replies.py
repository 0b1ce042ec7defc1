"""What programs print and write: replies, errors that end with 0, tokens of caches, reply files."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import (
    BenchError,
    ContextExceeded,
    NotAnAnswer,
    SystemBusy,
    SystemFault,
    UsageError,
)
from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.settings import Settings
from recall_bench.features.agents.agent_client import read_usage
from recall_bench.features.agents.agent_system import AgentSystem
from recall_bench.systems.resolver import resolve_system
from tests.features.agents.targets import PROGRAM

pytestmark = pytest.mark.anyio

QUESTION = Question(id="q", text="What leaks?", asked_at=datetime(2025, 3, 9), scenario="s")
DAY = Episode(id="day-0001", day=1, at=datetime(2025, 3, 1), text="The boiler leaks.")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def open_program(folder: Path, source: str, words: str = "", **config: object) -> AgentSystem:
    """An agent that is this Python program."""
    (folder / "program.py").write_text(source)
    program = PROGRAM.replace(PROGRAM.split()[-1], str(folder / "program.py"))
    system = resolve_system(Settings(adapter=f"agent:{program} {words}".strip(), config=config))
    assert isinstance(system, AgentSystem)
    return system


def open_printer(folder: Path, document: object, **config: object) -> AgentSystem:
    """An agent that prints this JSON."""
    return open_program(folder, f"print({json.dumps(document)!r})", "", output="json", **config)


async def ask(system: AgentSystem) -> Answer:
    try:
        memory = await system.open("s")
        return await memory.answer(QUESTION)
    finally:
        await system.close()


@pytest.mark.parametrize(
    ("document", "config", "kind"),
    [
        pytest.param(
            {"subtype": "success", "is_error": True, "result": "API Error: Rate limit reached"},
            {},
            SystemBusy,
            id="a rate limit",
        ),
        pytest.param(
            {"is_error": True, "result": "API Error: 529 overloaded"}, {}, SystemBusy, id="overload"
        ),
        pytest.param(
            {"is_error": True, "result": "Prompt is too long"}, {}, ContextExceeded, id="too long"
        ),
        pytest.param(
            {"is_error": True, "result": "Invalid API key"}, {}, SystemFault, id="a bad key"
        ),
        pytest.param(
            {"subtype": "error_max_turns", "is_error": False, "result": "So far nothing."},
            {},
            SystemFault,
            id="too many turns",
        ),
        pytest.param(
            {"result": "Sorry.", "failure": {"code": 7}},
            {"error": "failure.code"},
            SystemFault,
            id="an error elsewhere",
        ),
    ],
)
async def test_an_error_that_ends_with_0_is_no_answer(
    tmp_path: Path, document: object, config: dict[str, Any], kind: type[BenchError]
) -> None:
    with pytest.raises(kind, match="replies with an error") as raised:
        await ask(open_printer(tmp_path, document, **config))

    assert type(raised.value) is kind


async def test_a_day_that_was_not_stated_is_not_taken_as_stated(tmp_path: Path) -> None:
    system = open_printer(tmp_path, {"is_error": True, "result": "Rate limit reached"})
    memory = await system.open("s")

    with pytest.raises(SystemBusy):
        await memory.ingest(DAY)
    await system.close()


async def test_a_reply_that_says_that_it_is_no_error_is_one(tmp_path: Path) -> None:
    document = {"subtype": "success", "is_error": False, "result": "The rate limit of the boiler."}

    assert (await ask(open_printer(tmp_path, document))).text == "The rate limit of the boiler."


@pytest.mark.parametrize(
    ("reported", "tokens", "cost"),
    [
        pytest.param(
            {
                "input_tokens": 4,
                "cache_creation_input_tokens": 13_000,
                "cache_read_input_tokens": 30_000,
                "output_tokens": 50,
                "cost_usd": 0.1,
            },
            (43_004, 50),
            0.1,
            id="a cache beside the input",
        ),
        pytest.param(
            {"prompt_tokens": 40, "cache_read_input_tokens": 30, "completion_tokens": 2},
            (40, 2),
            None,
            id="a cache within the prompt",
        ),
        pytest.param(
            {"prompt_tokens": None, "input_tokens": 5, "cost_usd": None, "cost": 0.2},
            (5, 0),
            0.2,
            id="null under the first name",
        ),
        pytest.param({"cost_usd": 0}, (0, 0), 0.0, id="free of charge"),
        pytest.param({"cost": True}, (0, 0), None, id="no number"),
    ],
)
def test_tokens_and_cost_are_read_as_they_are_counted(
    reported: dict[str, Any], tokens: tuple[int, int], cost: float | None
) -> None:
    found = read_usage(reported)

    assert (found.input_tokens, found.output_tokens) == tokens
    assert (found.cost_usd, found.unpriced) == ((cost, 0) if cost is not None else (0.0, 1))


async def test_the_cost_beside_the_usage_comes_first(tmp_path: Path) -> None:
    usage = {"input_tokens": 3, "cost_usd": 9.0}
    for total, cost in ((0.5, 0.5), (None, 9.0)):
        document = {"result": "The boiler.", "usage": usage, "total_cost_usd": total}
        system = open_printer(tmp_path, document)
        await ask(system)

        assert system.drain().cost_usd == cost


WRITER = """
import sys
print("log: thinking about boilers")
if len(sys.argv) > 2:
    with open(sys.argv[1], "w") as file:
        file.write(sys.argv[2] * int(sys.argv[3]))
"""


async def test_the_reply_is_what_the_file_holds(tmp_path: Path) -> None:
    system = open_program(tmp_path, WRITER, "{reply_file} boiler 1")

    assert (await ask(system)).text == "boiler"


async def test_the_log_is_no_reply_where_the_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotAnAnswer, match="left no reply"):
        await ask(open_program(tmp_path, WRITER, "{reply_file}"))


async def test_a_reply_file_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bench.features.agents.command_agent.MAX_REPLY_BYTES", 2 << 20)

    with pytest.raises(NotAnAnswer, match="wrote more than 2 MB"):
        await ask(open_program(tmp_path, WRITER, "{reply_file} boiler 500000"))


async def test_a_reply_file_that_is_a_pipe_holds_no_one_up(tmp_path: Path) -> None:
    system = open_program(tmp_path, "import os, sys; os.mkfifo(sys.argv[1])", "{reply_file}")

    with pytest.raises(NotAnAnswer, match="a pipe or a device"):
        await ask(system)


@pytest.mark.parametrize(
    ("target", "is_shared"),
    [
        ("../outside", True),
        ("../outside/notes.md", True),
        ("../missing", True),
        ("{model}/notes", True),
        ("notes", False),
        ("notes/../notes", False),
        ("../outside/program", False),
    ],
)
def test_a_link_that_all_memories_would_share_is_refused(
    tmp_path: Path, target: str, is_shared: bool
) -> None:
    model, outside = tmp_path / "model", tmp_path / "outside"
    (model / "notes").mkdir(parents=True)
    outside.mkdir()
    (outside / "notes.md").write_text("")
    (outside / "program").write_text("")
    (outside / "program").chmod(0o755)
    (model / "link").symlink_to(target.format(model=model))

    if is_shared:
        with pytest.raises(UsageError, match="which all memories would share"):
            open_program(tmp_path, "", project=str(model))
    else:
        open_program(tmp_path, "", project=str(model))
