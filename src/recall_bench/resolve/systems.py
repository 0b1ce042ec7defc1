"""From an `--adapter` target to the live system it names."""

from typing import cast

from recall_bench import plugins
from recall_bench.core.memory import MemorySystem
from recall_bench.foreign_code import names_code
from recall_bench.profile import Settings


def resolve_system(settings: Settings) -> MemorySystem:
    """A built-in by name, a Python adapter by file or `module:factory`, or `grpc://host:port`."""
    target = settings.adapter
    if "://" in target:
        import anyio

        from recall_bench.systems.grpc.system import grpc_system

        served = grpc_system(target, timeout_s=settings.grpc_timeout_ms / 1000)
        anyio.run(served.greet)
        return served
    if names_code(target):
        from recall_bench.systems.python.system import load_system

        return load_system(target, settings.config, factory=settings.factory)
    return cast("MemorySystem", plugins.load("systems", target)(settings.config))
