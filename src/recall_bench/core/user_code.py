"""Names of installed plugins become code here, and nowhere else."""

import importlib
import importlib.util
import inspect
import itertools
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from recall_bench.core.distribution import format_install
from recall_bench.core.errors import AmbiguousPlugin, UnknownPlugin, UsageError
from recall_bench.core.feature import list_offers, read_entry_points
from recall_bench.core.folders import digest_file
from recall_bench.core.plain_text import escape_surrogates

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def list_plugins(kind: str) -> "list[EntryPoint]":
    """List the installed plugins, built-ins included, without importing them."""
    from importlib.metadata import EntryPoint

    group = f"recall_bench.{kind}"
    offers = (EntryPoint(name, target, group) for name, target in list_offers(kind).items())
    return sorted((*read_entry_points(group), *offers), key=lambda entry: entry.name)


def describe_plugins(kind: str) -> list[tuple[str, str]]:
    """The name of each installed plugin, and the first paragraph of its docstring."""
    return [(entry.name, _describe_plugin(entry)) for entry in list_plugins(kind)]


def _describe_plugin(entry: "EntryPoint") -> str:
    try:
        text = inspect.getdoc(entry.load()) or ""
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may raise anything
        return f"cannot be imported: {describe_error(error)}"
    return " ".join(text.split("\n\n")[0].split())


def load_plugin(kind: str, name: str) -> Any:  # noqa: ANN401 - a factory of whatever the kind is
    """Load the factory registered under `name`."""
    offers = list_plugins(kind)
    matches = [entry for entry in offers if entry.name == name]
    if not matches:
        raise UnknownPlugin(kind, name, [entry.name for entry in offers])
    if len(matches) > 1:
        raise AmbiguousPlugin(kind, name, [entry.value for entry in matches])
    try:
        return matches[0].load()
    except (Exception, SystemExit) as error:
        named = f"the {kind} plugin {name} ({matches[0].value})"
        raise UsageError(f"{named} cannot be imported: {describe_error(error)}") from error


_LOAD_NUMBERS = itertools.count(1)
_MESSAGE_LIMIT = 2000
_OURS = Path(__file__).parent.parent


def split_target(target: str) -> tuple[str, str]:
    """Split `file.py:name` or `package.module:name`; the name may be missing."""
    place, colon, name = target.rpartition(":")
    if not colon or name.endswith(".py"):
        return target, ""
    return place, name


def import_target(place: str, owner: str) -> ModuleType:
    """Import a `.py` file or a module; messages of UsageError start with `owner`."""
    if place.endswith(".py"):
        path = Path(place)
        if not path.is_file():
            raise UsageError(f"{owner}: there is no file {path}")
        # Every load gets its own name: two loads of one file share no globals, and pickle takes two
        # classes of one name for a mistake.
        name = f"recall_bench_foreign_{next(_LOAD_NUMBERS)}_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path.resolve())
        if spec is None or spec.loader is None:
            raise UsageError(f"{owner}: {path} cannot be imported as a Python module")
        module = importlib.util.module_from_spec(spec)
        _add_to_path(path.resolve().parent)
        # Pickle and dataclasses look a class's module up by name while it is being run.
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            raise UsageError(
                f"{owner}: importing {path} failed: {describe_error(error)}"
            ) from error
        return module
    return _import_name(place, owner)


def _import_name(name: str, owner: str) -> ModuleType:
    _add_to_path(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(f"{owner}: there is no module {name!r} to import") from error
        raise UsageError(f"{owner}: importing {name} failed: {describe_error(error)}") from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"{owner}: importing {name} failed: {describe_error(error)}") from error


def _add_to_path(folder: Path) -> None:
    """Let user code import its neighbours; last on the path, so that it hides nothing installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def digest_source(module: ModuleType | None) -> str | None:
    """Digest the module's file in twelve digits; None if it has no file."""
    path = getattr(module, "__file__", None)
    if path is None or not Path(path).is_file():
        return None
    return digest_file(Path(path))[:12]


def describe_error(error: BaseException) -> str:
    """Describe an exception by type and message, in printable text."""
    try:
        message = str(error)
    except Exception as unprintable:  # noqa: BLE001 - the user's __str__
        message = f"its message raises {type(unprintable).__name__}"
    message = escape_surrogates(message[:_MESSAGE_LIMIT])
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def locate_error(error: BaseException) -> str:
    """Locate the line of user code that raised, as in `mine.py, line 12`; "" if it was ours."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        place = "" if file.is_relative_to(_OURS) else f"{file.name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place


def require_libraries(what: str, extra: str, *modules: str) -> None:
    """Import the modules; UsageError, which says how to install them, if one is missing."""
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as missing:
        raise UsageError(
            f"{what} needs libraries that are not installed: {format_install(extra)}"
        ) from missing


def is_async_call(function: object) -> bool:
    """Whether calling it returns a coroutine: a function, or an object with `__call__`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def is_code_target(target: str) -> bool:
    """Whether a target names Python code: a file, a path or `module:name`."""
    return ":" in target or target.endswith(".py") or has_separator(target)


def has_separator(target: str) -> bool:
    """Whether a target is a path with a folder, by the separators of this platform."""
    return any(mark in target for mark in (os.sep, os.altsep) if mark)
