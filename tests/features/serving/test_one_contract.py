"""One honest memory keeps one contract, whatever it is plugged in through."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import anyio
import pytest

from recall_bench.core.memory import MemorySystem
from recall_bench.core.settings import Settings
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.resolver import resolve_system
from recall_bench.testing import ContractReport, Honest, Outcome, check_system
from tests.systems.serving_commands import read_address, serve_command
from tests.thoroughness import IS_EXHAUSTIVE

HONEST = "recall_bench.testing:Honest"
SERVE = (sys.executable, "-m", "recall_bench", "serve", HONEST)


@contextmanager
def serving(*words: str) -> Iterator[str]:
    """The address at which a server of its own process says it listens."""
    with serve_command(("serve", HONEST, *words)) as command:
        yield read_address(command)


@contextmanager
def as_object(folder: Path) -> Iterator[MemorySystem]:
    yield build_python_system(Honest)


@contextmanager
def as_module(folder: Path) -> Iterator[MemorySystem]:
    yield resolve_system(Settings(adapter=HONEST))


@contextmanager
def as_file(folder: Path) -> Iterator[MemorySystem]:
    path = folder / "adapter.py"
    path.write_text("from recall_bench.testing import Honest as Adapter\n")
    yield resolve_system(Settings(adapter=str(path)))


@contextmanager
def over_grpc(folder: Path) -> Iterator[MemorySystem]:
    with serving("--grpc", "127.0.0.1:0") as address:
        target = address if "://" in address else f"grpc://{address}"
        yield resolve_system(Settings(adapter=target))


@contextmanager
def over_http(folder: Path) -> Iterator[MemorySystem]:
    with serving("--http", "127.0.0.1:0") as address:
        yield resolve_system(Settings(adapter=address))


@contextmanager
def started_for_it(folder: Path) -> Iterator[MemorySystem]:
    path = folder / "server.yaml"
    command = [*SERVE, "--http", "127.0.0.1:{port}"]
    path.write_text(f"transport: http\nserver:\n  command: {command!r}\n")
    yield resolve_system(Settings(adapter=str(path)))


@contextmanager
def as_child(folder: Path) -> Iterator[MemorySystem]:
    yield resolve_system(Settings(adapter=f"command:{shlex.join([*SERVE, '--stdio'])}"))


def checked(system: MemorySystem) -> ContractReport:
    async def check() -> ContractReport:
        try:
            return await check_system(system)
        finally:
            await system.close()

    return anyio.run(check)


@pytest.mark.slow
@pytest.mark.parametrize(
    "plugged_in",
    [as_object, as_module, over_grpc, over_http, started_for_it, as_child]
    # It is found elsewhere than a module, and then the same process is started.
    + [as_file] * IS_EXHAUSTIVE,
    ids=lambda way: way.__name__,
)
def test_every_clause_is_kept(
    plugged_in: Callable[[Path], AbstractContextManager[MemorySystem]], tmp_path: Path
) -> None:
    with plugged_in(tmp_path) as system:
        report = checked(system)

    assert {check.name for check in report.checks if check.outcome is Outcome.FAILED} == set()
    assert report.seen.clock == "native"
    assert report.seen.asker == "honoured"
    assert report.seen.recall == 1.0
