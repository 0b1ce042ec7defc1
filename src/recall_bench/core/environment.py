"""What a run was executed with: Python, platform, packages, and the files of its adapter."""

import ast
import platform
import re
import shlex
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from msgspec import field

from recall_bench.core.distribution import DISTRIBUTION
from recall_bench.core.file_digest import describe_file
from recall_bench.core.plan import FileCard
from recall_bench.core.record import Record
from recall_bench.core.user_code import is_code_target, split_target

_MAX_FILES = 1000


class EnvironmentCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a process of a run was executed with."""

    python: str
    """The implementation and its version, as in `CPython 3.11.9`."""
    platform: str
    """The operating system and the machine, as in `Linux aarch64`."""
    packages: dict[str, str] = field(default_factory=dict)
    """The versions of the packages that this one can use, by name."""
    adapter: tuple[FileCard, ...] = ()
    """The files of the system under test, and the modules beside them that they import."""


def describe_environment(adapter: str | None) -> EnvironmentCard:
    """Describe this process and the files of an adapter; None if the adapter is not loaded here."""
    return EnvironmentCard(
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=f"{platform.system()} {platform.machine()}",
        packages=dict(_list_packages()),
        adapter=() if adapter is None else tuple(list_adapter_files(adapter)),
    )


@cache
def _list_packages() -> tuple[tuple[str, str], ...]:
    try:
        wanted = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return ()
    used = (each for each in wanted if not re.search(r"extra\s*==\s*['\"]dev['\"]", each))
    names = {re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in used}
    found = []
    for name in sorted(names, key=str.lower):
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(found)


def list_adapter_files(target: str) -> Iterator[FileCard]:
    """List the files behind an `--adapter` target, by digest; nothing is imported or run.

    For Python these are its file and the modules in its folder that it imports, directly or not.
    Modules that are imported by a computed name are not found.
    """
    for start in _find_files(target):
        seen: dict[Path, None] = {}
        _collect_imports(start, start.parent, seen)
        for path in seen:
            yield describe_file(path, path.relative_to(start.parent).as_posix())


def _find_files(target: str) -> list[Path]:
    form, _, rest = target.partition(":")
    if form in ("command", "once"):
        try:
            words = shlex.split(rest)
        except ValueError:
            return []
        return [path for word in words[1:] if (path := Path(word)).is_file()]
    if target.endswith((".yaml", ".yml")):
        return [path for path in (Path(target),) if path.is_file()]
    if "://" in target or not is_code_target(target):
        return []
    place, _ = split_target(target)
    paths = (Path(place),) if place.endswith(".py") else _list_module_files(Path.cwd(), place)
    return [path for path in paths if path.is_file()]


def _list_module_files(folder: Path, name: str) -> tuple[Path, ...]:
    """List the files that a module of this name, and the packages above it, would have."""
    parts = name.split(".")
    above = (folder.joinpath(*parts[:end], "__init__.py") for end in range(1, len(parts) + 1))
    return (folder.joinpath(*parts[:-1], f"{parts[-1]}.py"), *above)


def _collect_imports(path: Path, folder: Path, seen: dict[Path, None]) -> None:
    if path in seen or len(seen) >= _MAX_FILES:
        return
    seen[path] = None
    if path.suffix != ".py":
        return
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        for start, name in _list_imports(node, path, folder):
            for found in _list_module_files(start, name):
                if found.is_file() and found.is_relative_to(folder):
                    _collect_imports(found, folder, seen)


def _list_imports(node: ast.AST, path: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """List the modules that a statement may import, each with the folder it is relative to."""
    if isinstance(node, ast.Import):
        for each in node.names:
            if each.name.partition(".")[0] not in sys.stdlib_module_names:
                yield folder, each.name
    elif isinstance(node, ast.ImportFrom):
        start = folder if not node.level else path.parents[min(node.level, len(path.parents)) - 1]
        if node.module:
            yield start, node.module
        prefix = f"{node.module}." if node.module else ""
        for name in node.names:
            yield start, f"{prefix}{name.name}"
