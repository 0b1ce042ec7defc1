"""What a run was executed with: Python, platform, packages, and the files of its adapter."""

import platform
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from msgspec import field

from recall_bench.core.distribution import DISTRIBUTION
from recall_bench.core.folders import describe_file
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
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return ()
    requirements = (line for line in lines if not re.search(r"extra\s*==\s*['\"]dev['\"]", line))
    names = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements}
    versions = []
    for name in sorted(names, key=str.lower):
        try:
            versions.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(versions)


def list_adapter_files(target: str) -> Iterator[FileCard]:
    """List the files behind an `--adapter` target, by digest; nothing is imported or run.

    For Python these are its file and the modules in its folder that it imports, directly or not.
    Modules that are imported by a computed name are not found.
    """
    for start in _find_files(target):
        paths = [start] if start.suffix != ".py" else [start, *_find_imports(start)]
        for path in paths[:_MAX_FILES]:
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
    module = Path.cwd().joinpath(*place.split("."))
    paths = [module.with_suffix(".py"), module / "__init__.py"]
    return [path for path in ([Path(place)] if place.endswith(".py") else paths) if path.is_file()]


def _find_imports(start: Path) -> list[Path]:
    """Find the modules beside a file that it imports, directly or not."""
    from modulefinder import ModuleFinder

    finder = ModuleFinder(path=[str(start.parent)])
    try:
        finder.run_script(str(start))
    except (SyntaxError, ValueError, RecursionError, OSError):
        return []
    files = (getattr(module, "__file__", None) for module in finder.modules.values())
    return sorted({Path(file) for file in files if file} - {start})
