"""Builds the system that an `--adapter` target names."""

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, cast

from recall_bench.core import user_code
from recall_bench.core.errors import SystemFault, SystemGone, UsageError
from recall_bench.core.feature import list_offers, load_target, require_part
from recall_bench.core.memory import MemorySystem
from recall_bench.core.redaction import learn_secrets
from recall_bench.core.runtime import run_to_end
from recall_bench.core.settings import Settings
from recall_bench.core.tool_call import LOOP_PREFIX
from recall_bench.core.user_code import is_code_target

_YAML_SUFFIXES = (".yaml", ".yml")


def resolve_system(settings: Settings) -> MemorySystem:
    """A built-in or a product by name, Python code, a server, a program, or a YAML file.

    `file.py[:factory]` and `module:factory` are Python adapters; `grpc://`, `grpcs://`, `http://`
    and `https://` running servers; `command:PROGRAM` is a child process that holds memories,
    `once:PROGRAM` one for each question; `openai:URL`, `a2a:URL` and `agent:PROGRAM` are agents,
    which receive days and questions as messages; a YAML file describes a server that is started for
    the run; `loop:` before a memory puts it under the loop agent. If the settings ask for a model
    endpoint, or a product needs one, it is started and stopped with the system. SystemGone if it is
    not ready in time.
    """
    settings.learn_secrets()
    try:
        if settings.adapter.startswith(LOOP_PREFIX):
            return _build_by_form(LOOP_PREFIX.rstrip(":"), settings)
        if settings.agent_model is not None:
            raise UsageError(
                "--agent-model: is for a memory under the loop agent; write --adapter "
                f"loop:{settings.adapter}, or leave it out"
            )
        return resolve_memory(settings)
    except SystemFault as fault:
        raise SystemGone(f"{fault}; when that is fixed, run the same command again") from fault


def resolve_memory(settings: Settings) -> MemorySystem:
    """The memory that the settings name, without an agent over it."""
    if settings.system_embedder or settings.system_reranker:
        _refuse_unused_models(settings.adapter)
    if settings.endpoint or settings.has_endpoint_models:
        return _add_endpoint(settings)
    return _build_system(settings)


def _refuse_unused_models(name: str) -> None:
    """Refuse an embedder or reranker, before it is loaded, for a system of ours that uses none."""
    if name not in {plugin.name for plugin in user_code.list_plugins("systems")}:
        return
    factory = user_code.load_plugin("systems", name)
    if factory.__module__.startswith("recall_bench.") and not _takes_endpoint(factory):
        raise UsageError(
            f"{name} uses no embedder and no reranker; leave --embedder and --reranker out, or "
            "choose a system that uses them, such as --adapter hybrid"
        )


def _build_system(settings: Settings, endpoint: str | None = None) -> MemorySystem:
    target = settings.adapter
    # First, because the arguments of a program may contain addresses.
    form = target.partition(":")[0]
    if form in _BY_FORM or form in list_offers("forms"):
        return _build_by_form(form, settings)
    if "://" in target:
        # The system at an address, by its scheme.
        scheme = settings.adapter.partition("://")[0].lower()
        resolve = _BY_SCHEME.get(scheme)
        if resolve is None:
            # The rest is not repeated: it may contain a password.
            schemes = ", ".join(f"{scheme_name}://" for scheme_name in _BY_SCHEME)
            raise UsageError(f"no system is reached by {scheme}://; use {schemes}")
        _refuse_settings(settings)
        return resolve(settings)
    if target.endswith(_YAML_SUFFIXES):
        return _load_described_server(settings)
    if (hint := _explain_form(target)) is not None:
        raise UsageError(hint)
    if is_code_target(target):
        # The user's Python code: in processes of its own, unless it is to run in this
        # one.
        if not settings.in_process:
            from recall_bench.systems.python.isolated_system import load_isolated_system

            return load_isolated_system(settings)
        from recall_bench.systems.python.system import load_python_system
        from recall_bench.systems.transports.child_environment import STATE_DIR

        # A program that was started for a run is given a folder, which outlasts it.
        state_dir = os.environ.get(STATE_DIR)
        return load_python_system(
            settings.adapter,
            settings.config,
            factory=settings.factory,
            state_dir=Path(state_dir) if state_dir else None,
            keeps_states=state_dir is not None,
        )
    return _load_named_system(settings, endpoint)


_ADDRESS = re.compile(r"[\w.-]+:\d+(?:/.*)?")
_PYTHON = re.compile(r"\.py(?::.*)?$")


def _explain_form(target: str) -> str | None:
    """How to name a server or a program that is written like neither; None for anything else."""
    if _ADDRESS.fullmatch(target):
        return (
            f"{target!r} is an address without its protocol; write http://{target} for an HTTP "
            f"server, or grpc://{target} for gRPC"
        )
    is_command = " " in target.strip()
    is_program = Path(target).is_file() or Path(target).suffix in _PROGRAM_SUFFIXES
    if _PYTHON.search(target) or not (is_command or is_program):
        return None
    program = target if is_command else f"{_INTERPRETERS.get(Path(target).suffix, '')}{target}"
    return (
        f"{target!r} is not Python; to start a program that talks JSON lines write "
        f"--adapter 'command:{program}', or start a server and give its http:// or grpc:// address"
    )


_INTERPRETERS = {".js": "node ", ".mjs": "node ", ".ts": "npx tsx ", ".rb": "ruby ", ".sh": "sh "}
_PROGRAM_SUFFIXES = {*_INTERPRETERS, ".go", ".jar", ".exe"}


def _load_named_system(settings: Settings, endpoint: str | None) -> MemorySystem:
    factory = user_code.load_plugin("systems", settings.adapter)
    if endpoint is None and _wants_endpoint(factory):
        return _add_endpoint(settings)
    if endpoint is not None and _takes_endpoint(factory):
        return cast("MemorySystem", factory(settings.config, endpoint=endpoint))
    return cast("MemorySystem", factory(settings.config))


def _wants_endpoint(factory: Callable[..., object]) -> bool:
    """Whether a product needs an endpoint, or can use the one that our parent started."""
    if getattr(factory, "wants_endpoint", False):
        return True
    if not _takes_endpoint(factory):
        return False
    from recall_bench.systems.parent_endpoint import is_parent_endpoint_set

    return is_parent_endpoint_set()


def _takes_endpoint(factory: Callable[..., object]) -> bool:
    """Whether it can use an endpoint: a product says so, another has a parameter for it."""
    declared = getattr(factory, "takes_endpoint", None)
    return bool("endpoint" in signature(factory).parameters if declared is None else declared)


def _add_endpoint(settings: Settings) -> MemorySystem:
    start = require_part("models.open_endpoint", "a model endpoint")
    return cast("MemorySystem", start(settings, partial(_build_system, settings)))


def _build_by_form(form: str, settings: Settings) -> MemorySystem:
    build = _BY_FORM.get(form)
    if build is None:
        target = list_offers("forms").get(form)
        if target is None:
            raise UsageError(f"{settings.adapter}: no feature that knows {form}: is installed")
        build = cast("Callable[[Settings], MemorySystem]", load_target(target))
    return build(settings)


def _build_command_system(settings: Settings) -> MemorySystem:
    from recall_bench.systems.transports.command_system import start_command_system

    start = partial(start_command_system, settings=settings)
    return run_to_end(start, settings.adapter, settings.config)


def _build_once_system(settings: Settings) -> MemorySystem:
    from recall_bench.systems.transports.once_system import build_once_system

    return build_once_system(
        settings.adapter, settings.config, settings=settings, timeout_s=settings.answer_timeout_s
    )


def _connect_http(settings: Settings) -> MemorySystem:
    from recall_bench.systems.transports.http_system import connect_http_system

    return run_to_end(connect_http_system, settings.adapter)


def _connect_grpc(settings: Settings) -> MemorySystem:
    from recall_bench.systems.grpc.grpc_system import connect_grpc_system

    connect = partial(connect_grpc_system, timeout_s=settings.grpc_timeout_s, ca=settings.grpc_ca)
    return run_to_end(connect, settings.adapter)


def _load_described_server(settings: Settings) -> MemorySystem:
    """The system that a YAML file describes, by its `transport`."""
    from recall_bench.core.yaml12 import read_document

    document = read_document(Path(settings.adapter))
    content = document.content
    learn_secrets(content)
    transport = content.get("transport") if isinstance(content, dict) else None
    transports: dict[str, Callable[[Path, Sequence[str]], MemorySystem] | str] = {
        **_BY_TRANSPORT,
        **list_offers("transports"),
    }
    resolve = transports.get(str(transport))
    if resolve is None:
        raise UsageError(
            f"{document.describe_place('transport')}: transport is {transport!r}; write transport: "
            f"{' or '.join(transports)}"
        )
    _refuse_settings(settings)
    start: Any = load_target(resolve) if isinstance(resolve, str) else resolve
    return cast("MemorySystem", start(Path(settings.adapter), settings.env))


def _start_http_server(path: Path, env: Sequence[str]) -> MemorySystem:
    from recall_bench.systems.transports.http_system import start_http_system

    return run_to_end(start_http_system, path, env)


_BY_FORM: dict[str, Callable[[Settings], MemorySystem]] = {
    "command": _build_command_system,
    "once": _build_once_system,
}

_BY_SCHEME: dict[str, Callable[[Settings], MemorySystem]] = {
    "grpc": _connect_grpc,
    "grpcs": _connect_grpc,
    "http": _connect_http,
    "https": _connect_http,
}

_BY_TRANSPORT: dict[str, Callable[[Path, Sequence[str]], MemorySystem]] = {
    "http": _start_http_server
}


def _refuse_settings(settings: Settings) -> None:
    if settings.config:
        raise UsageError(
            f"the settings {', '.join(settings.config)} cannot be passed to a server; "
            "configure the server itself and leave them out"
        )
