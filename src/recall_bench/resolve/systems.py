"""From an `--adapter` target to the live system it names."""

from pathlib import Path
from typing import cast

from recall_bench import plugins
from recall_bench.core.memory import MemorySystem
from recall_bench.errors import UsageError
from recall_bench.foreign_code import names_code
from recall_bench.profile import Settings


def resolve_system(settings: Settings) -> MemorySystem:
    """A built-in by name, a Python adapter by file or `module:factory`, or `grpc://host:port`.

    `http://host:port[/path]` is a running server, a YAML file one that is started for the run.
    `command:PROGRAM` is a child process that holds memories, `once:PROGRAM` one for each question.
    """
    target = settings.adapter
    if target.startswith("command:"):
        import anyio

        from recall_bench.systems.command.system import command_system

        return anyio.run(command_system, target, settings.config)
    if target.startswith("once:"):
        from recall_bench.systems.command.once import once_system

        return once_system(target, settings.config, timeout_s=settings.timeout_ms / 1000)
    if target.startswith(("http://", "https://")) or target.endswith((".yaml", ".yml")):
        return _served_system(target, settings)
    if "://" in target:
        import anyio

        from recall_bench.systems.grpc.system import grpc_system

        timeout_s = settings.grpc_timeout_ms / 1000
        served = grpc_system(target, timeout_s=timeout_s, ca=settings.grpc_ca)
        anyio.run(served.greet)
        return served
    if names_code(target):
        from recall_bench.systems.python.system import load_system

        return load_system(target, settings.config, factory=settings.factory)
    return cast("MemorySystem", plugins.load("systems", target)(settings.config))


def _served_system(target: str, settings: Settings) -> MemorySystem:
    """What answers at an address, or what a YAML file describes, by its `transport`."""
    import anyio

    from recall_bench.systems.http.system import http_system, started_http_system

    if not target.endswith((".yaml", ".yml")):
        _refuse_settings(settings)
        return anyio.run(http_system, target)
    from recall_bench.yaml12 import read_document

    document = read_document(Path(target))
    content = document.content
    transport = content.get("transport") if isinstance(content, dict) else None
    if transport == "http":
        _refuse_settings(settings)
        return anyio.run(started_http_system, Path(target))
    raise UsageError(
        f"{document.where('transport')}: transport is {transport!r}; write transport: http"
    )


def _refuse_settings(settings: Settings) -> None:
    if settings.config:
        raise UsageError(
            f"the settings {', '.join(settings.config)} cannot be handed to a server; "
            "configure the server itself and leave them out"
        )
