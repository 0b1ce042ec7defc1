"""npm's reference memory server is a system by the map that is shipped for it.

Run for real with node, where the product is installed: `make product NAME=mcp-server-memory`.
"""

import shutil
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import MemorySystem
from recall_bench.features.mcp import mcp_system
from recall_bench.features.mcp.mcp_system import McpSystem, start_mcp_system
from recall_bench.testing import Outcome, check_system
from tests.commands import Invoke
from tests.gardener import write_persona

ROOT = Path(__file__).parents[3]
INSTALLED = ROOT / ".products" / mcp_system.REFERENCE_NAME
SERVER = INSTALLED / "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
MAP = Path(mcp_system.__file__).with_name("servers") / f"{mcp_system.REFERENCE_NAME}.yaml"

real = pytest.mark.skipif(
    not SERVER.exists() or shutil.which("node") is None,
    reason=f"needs node and the server; make product NAME={mcp_system.REFERENCE_NAME}",
)


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mcp_system.REFERENCE_FOLDER_VARIABLE, str(INSTALLED))


def own_map(folder: Path, **changed: str) -> Path:
    """The shipped map, started by the path of the server; texts given here replaced."""
    text = MAP.read_text(encoding="utf-8")
    for old, new in {"[mcp-server-memory]": f"[node, {SERVER}]", **changed}.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / "memory.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_missing_server_is_reported_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(mcp_system.REFERENCE_FOLDER_VARIABLE, str(tmp_path))

    with pytest.raises(UsageError, match="make product NAME=mcp-server-memory"):
        mcp_system.build_reference_server({})


@pytest.mark.usefixtures("_installed")
@real
def test_the_version_is_the_one_that_is_installed() -> None:
    system = mcp_system.build_reference_server({"k": 5})

    assert isinstance(system, McpSystem)
    assert (system.card.name, system.card.version) == ("mcp-server-memory", "2026.8.31")
    assert (system.card.config["query"], system.spec.k) == ("keywords", 5)


@pytest.mark.usefixtures("_installed")
@real
def test_other_settings_are_refused() -> None:
    with pytest.raises(UsageError, match="no setting 'speed'"):
        mcp_system.build_reference_server({"speed": 3})


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.usefixtures("_installed")
@real
async def test_it_keeps_the_contract_with_questions_searched_word_by_word() -> None:
    system: MemorySystem = mcp_system.build_reference_server({})

    report = await check_system(system)
    await system.close()

    assert report.is_kept, report.render()
    assert report.seen.recall == 1
    for name in ("count", "concurrency"):
        assert report.get_result(name).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.slow
@pytest.mark.anyio
@real
async def test_it_finds_nothing_with_a_question_searched_whole(tmp_path: Path) -> None:
    """It looks for the question's letters in a row, which no note holds."""
    system = await start_mcp_system(own_map(tmp_path, **{"query: keywords": "query: whole"}))

    report = await check_system(system, only=["round-trip", "order"])
    await system.close()

    assert report.seen.recall == 0
    assert report.get_result("round-trip").outcome is Outcome.FAILED


@pytest.mark.slow
@real
def test_a_story_is_ingested_and_asked_about(invoke: Invoke, tmp_path: Path) -> None:
    write_persona(tmp_path / "data")
    path = own_map(tmp_path)

    shown = invoke(
        *("run", "--data", str(tmp_path / "data"), "--ranges", "5d,10d", "--adapter", str(path)),
        *("--into", "out", "--no-heatmap-png"),
    )

    assert shown.code == 0, shown.err
    assert "mcp-server-memory" in shown.out
    assert '"passages"' in Path("out", "journal.jsonl").read_text(encoding="utf-8")
