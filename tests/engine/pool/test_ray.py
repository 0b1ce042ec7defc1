"""A real Ray cluster of two nodes on this machine, of which one is taken away."""

import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from recall_bench.core.memory import Isolation
from recall_bench.engine.runs.run_folder import RunFolder
from tests.engine.pool.command_process import MARKS, Command, answered, lines, write_system
from tests.engine.pool.pool_runs import outcome, run_alone
from tests.engine.result_views import done_twice
from tests.gardener import ADAPTER, write_persona
from tests.thoroughness import choose_number

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("ray") is None, reason="needs Ray: pip install -e '.[ray]' in the checkout"
    ),
    pytest.mark.skipif(sys.platform == "win32", reason="Ray's clusters are for POSIX systems"),
]

LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Start the workers that a run asks for, and no more.
    "RAY_prestart_worker_first_driver": "0",
}
RANGES = ("3d", "5d", "8d", "10d")
WORKERS = choose_number(2, 4)
"""Half of them on each node."""
TRIALS = 3 * (3 + 5 + 8 + 10)
HERE = """
import sys
ray = sys.modules.get("ray")
if ray is not None and ray.is_initialized():
    log("nodes", ray.get_runtime_context().get_node_id())
time.sleep(0.05)
"""


class Nodes:
    """Two nodes, the second of which can be taken away."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.pool.ray_nodes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        self.address = self._said()

    def _said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        """Take the second node away, with everything that runs there."""
        assert self._process.stdin is not None
        self._process.stdin.write("kill\n")
        self._process.stdin.flush()
        assert self._said() == "killed"

    def close(self) -> None:
        """End what is left."""
        self._process.communicate(timeout=60)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    found = Nodes()
    try:
        yield found
    finally:
        found.close()


@pytest.fixture(scope="module")
def gardens(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """Three gardens and a system, and what a single process makes of them."""
    folder = tmp_path_factory.mktemp("ray")
    for name in ("gardener", "grower", "hedger"):
        write_persona(folder / "data", name)
    (folder / "marks.py").write_text(MARKS)
    run_alone(
        folder / "one",
        adapter=str(write_system(folder / "system")),
        in_process=True,  # it writes a log beside itself
        data=folder / "data",
        ranges=RANGES,
        lifecycle="fresh",
        judge=str(folder / "marks.py"),
    )
    return folder, outcome(folder / "one")


@pytest.fixture
def whole(gardens: tuple[Path, dict[str, bytes]]) -> dict[str, bytes]:
    """What a single process makes of the gardens; the system has logged nothing yet."""
    folder, outcome = gardens
    shutil.rmtree(folder / "run", ignore_errors=True)
    shutil.rmtree(folder / "system")
    write_system(folder / "system", HERE)
    return outcome


@pytest.fixture
def place(gardens: tuple[Path, dict[str, bytes]]) -> Path:
    """The folder of the gardens."""
    return gardens[0]


def run(place: Path, *words: object) -> Command:
    return Command(
        *("run", "--adapter", place / "system" / "system.py", "--data", place / "data"),
        *("--ranges", ",".join(RANGES), "--lifecycle", "fresh", "--no-heatmap-png", "--no-page"),
        *("--into", place / "run", "--in-process", "--executor", "ray"),
        *("--judge", place / "marks.py", *words),
        **LOOPBACK,
    )


def nodes_used(place: Path) -> int:
    return len(set(lines(place / "system" / "nodes")))


def test_isolated_adapters_give_on_a_cluster_what_they_give_alone(
    tmp_path: Path, nodes: Nodes
) -> None:
    write_persona(tmp_path / "data")
    adapter = tmp_path / "adapter.py"
    adapter.write_text(ADAPTER)
    marks = tmp_path / "marks.py"
    marks.write_text(MARKS)
    run_alone(
        tmp_path / "one",
        adapter=str(adapter),
        data=tmp_path / "data",
        ranges=("3d", "5d"),
        judge=str(marks),
    )

    command = Command(
        *("run", "--adapter", adapter, "--data", tmp_path / "data", "--ranges", "3d,5d"),
        *("--into", tmp_path / "run", "--no-heatmap-png", "--no-page", "--executor", "ray"),
        *("--ray-address", nodes.address, "--workers", choose_number(1, 2), "--judge", marks),
        **LOOPBACK,
    )
    code, err = command.ended()

    assert code == 0, err
    assert "Traceback" not in err
    assert outcome(tmp_path / "run") == outcome(tmp_path / "one")
    isolation = RunFolder.open(tmp_path / "run").plan.system.isolation
    assert isolation is not None
    assert isolation.kind is not Isolation.IN_PROCESS


def test_an_interrupted_driver_leaves_the_cluster_as_it_was(
    place: Path, nodes: Nodes, whole: dict[str, bytes]
) -> None:
    # Each worker that starts on a cluster imports Ray for more than a second.
    command = run(place, "--ray-address", nodes.address, "--workers", choose_number(1, 2))
    command.until(lambda: answered(place / "run") >= 5)
    command.signalled(signal.SIGTERM)
    code, err = command.ended()

    assert code == 143, err
    assert "Traceback" not in err
    # On a busy machine one worker answers all five while the other opens its first memory.
    opened, closed = (lines(place / "system" / name) for name in ("opened", "closed"))
    assert sorted(opened) == sorted(closed) != []


def test_two_nodes_give_what_one_process_gives_though_one_leaves(
    place: Path, nodes: Nodes, whole: dict[str, bytes]
) -> None:
    folder, asked = place / "run", place / "system" / "asked"

    command = run(place, "--ray-address", nodes.address, "--workers", WORKERS)
    command.until(lambda: answered(folder) >= 20 and nodes_used(place) == 2)
    assert max(Counter(lines(asked)).values()) <= 3, "three gardens hear each question once"
    nodes.kill()
    code, err = command.ended(120)

    assert code == 0, err
    assert "Traceback" not in err
    assert outcome(folder) == whole
    assert done_twice(folder) == []
    # Half of the workers were lost. Each had one question under way, or reported a few too late.
    assert TRIALS <= len(lines(asked)) <= TRIALS + WORKERS // 2 * 3


def test_a_cluster_of_its_own_goes_on_where_processes_were_killed(
    place: Path, whole: dict[str, bytes]
) -> None:
    folder = place / "run"
    first = run(place, "--executor", "processes", "--workers", 2)
    first.until(lambda: answered(folder) >= 20)
    first.signalled(signal.SIGKILL)
    first.ended()

    code, err = run(place, "--workers", choose_number(1, 2)).ended()

    assert code == 0, err
    assert "Traceback" not in err
    assert nodes_used(place) == 1
    assert outcome(folder) == whole
    assert done_twice(folder) == []
    assert len(lines(place / "system" / "asked")) <= TRIALS + 2 * 3


def test_an_address_where_no_one_listens_is_reported_in_one_sentence(
    place: Path, whole: dict[str, bytes]
) -> None:
    code, err = run(place, "--ray-address", "127.0.0.1:9").ended()

    assert code == 4, err
    assert "Traceback" not in err
    assert "error: a Ray cluster is not reached at 127.0.0.1:9" in err
