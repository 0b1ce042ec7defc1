"""Each product really runs: in an environment of its own, behind the transport for commands."""

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recall_bench.core.memory import Asker, ListingMemory
from recall_bench.systems.models.static_embedding import embed
from recall_bench.testing import assert_contract_async
from tests.features.products.embedding_server import endpoint
from tests.features.products.in_process import finds
from tests.features.products.installed import python_of, served
from tests.features.products.pins import ROOT, pinned
from tests.systems.diary import EPISODES

NAMES = ("chroma", "lancedb", "langmem", "llama-index", "qdrant", "txtai")

DISTRIBUTIONS = {"qdrant": "qdrant-client", "chroma": "chromadb", "llama-index": "llama-index-core"}
"""What a product is called in its requirements, where that is not its name."""

PATIENCE_S = 600.0
"""No check fails for being slow: how fast the machine is, is not what is tested."""

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A product that is installed here."""
    found = str(request.param)
    if not (ROOT / ".products" / found / ".ready").exists():
        pytest.skip(f"make product NAME={found}")
    # Some write each note to the disk and wait for it; that is not what is tested here.
    if Path("/dev/shm").is_dir():
        monkeypatch.setenv("TMPDIR", "/dev/shm")
    return found


def in_process(name: str, url: str) -> list[list[list[str]]]:
    done = subprocess.run(
        [python_of(name), "-m", "tests.features.products.in_process", name, url],
        cwd=ROOT,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=list[list[list[str]]])


async def test_it_is_the_version_that_is_pinned(name: str) -> None:
    system = await served(name)

    assert system.card.name == name
    assert system.card.version == pinned(name)[DISTRIBUTIONS.get(name, name)]
    assert not system.card.answers
    await system.close()


async def test_it_keeps_the_contract_and_its_sessions_apart(name: str) -> None:
    """All of it in one child, the day of a megabyte too: some take seconds to import."""
    system = await served(name, "respect_sessions=true")

    report = await assert_contract_async(system, timeout_s=PATIENCE_S)

    passed = {check.name for check in report.checks if check.outcome == "passed"}
    assert {
        "round-trip",
        "isolation",
        "reset",
        "dates",
        "sessions",
        "snapshots",
        "holdings",
        "delete-session",
        "stored",
        "reopen",
    } <= passed
    # LlamaIndex's block keeps no id of what it was given.
    assert name == "llama-index" or {"delete", "delete-person"} <= passed
    assert "large-day" in passed
    assert report.seen.asker is Asker.HONOURED


async def test_it_finds_the_same_in_process_and_out_and_with_vectors_from_an_endpoint(
    name: str,
) -> None:
    asked: list[int] = []

    def reply(request: dict[str, Any]) -> tuple[int, object]:
        asked.append(len(request["input"]))
        vectors = embed(request["input"]).tolist()
        return 200, {"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]}

    out = await finds(await served(name))
    with endpoint(reply) as url:
        without, through = in_process(name, url)

    assert all(out)
    assert without == out
    assert through == out
    assert sum(asked) > 12


async def test_a_day_that_comes_again_is_stored_once(name: str) -> None:
    if name == "llama-index":
        pytest.skip("its block keeps no id of what it was given")
    system = await served(name)
    memory = await system.open("diary")
    counts = []
    for _ in range(2):
        await memory.ingest(EPISODES[0])
        await memory.settle()
        assert isinstance(memory, ListingMemory)
        counts.append(len(await memory.list_stored()))

    assert counts[0] == counts[1] > 0
    await memory.close()
    await system.close()
