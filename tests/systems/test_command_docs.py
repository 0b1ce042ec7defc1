"""The programs in the how-to are complete: as they stand they can be plugged in."""

import re
import sys
from pathlib import Path

import pytest

from recall_bench.core.memory import RetrievalReply
from recall_bench.systems.transports.command_system import start_command_system
from recall_bench.systems.transports.once_system import build_once_system
from tests.systems.asking import answered
from tests.systems.diary import EPISODES, question

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "command.md"
Q = question("Who keeps the key to the stall at Ostgate?")


def example(language: str, mark: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [found] = [block for block in blocks if mark in block]
    return str(found)


async def test_the_program_that_stays(tmp_path: Path) -> None:
    path = tmp_path / "my_program.py"
    path.write_text(example("python", "sys.stdin"))
    system = await start_command_system(f"command:{sys.executable} {path}", {})
    memory = await system.open("diary")
    for episode in EPISODES:
        await memory.ingest(episode)
    await memory.settle()

    answer = await answered(memory, Q)
    await memory.close()
    await system.close()

    assert system.card.name == "my program"
    assert answer.text.endswith("Bo keeps the key to the stall.")


async def test_the_program_for_each_question(tmp_path: Path) -> None:
    path = tmp_path / "search.sh"
    path.write_text(example("sh", "awk"))
    path.chmod(0o755)
    system = build_once_system(f"once:{path}", {})
    memory = await system.open("diary")
    for episode in EPISODES:
        await memory.ingest(episode)

    reply = await memory.answer(Q)
    nothing = await memory.answer(question("Zymurgy?"))
    await system.close()

    assert isinstance(reply, RetrievalReply)
    assert reply.passages[0].day == 5
    assert reply.passages[0].text.endswith("Bo keeps the key to the stall.")
    assert len(reply.passages) == 10
    assert nothing.passages == ()
