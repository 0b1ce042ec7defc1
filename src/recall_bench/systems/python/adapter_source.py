"""Where an adapter comes from: a file, an installed module, or an object at hand."""

import importlib
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from recall_bench.errors import UsageError
from recall_bench.systems.python.adapter import NEEDS, described, is_adapter

_USUAL_NAMES = ("factory", "create", "Adapter", "adapter")
_FORMS = "write path/to/file.py, path/to/file.py:factory or package.module:factory"
_LOADED = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A factory of adapters, or a single adapter that was built already."""

    subject: object
    where: str
    """How messages call it."""
    name: str
    version: str

    @property
    def is_built(self) -> bool:
        """Whether this is an adapter itself rather than a factory."""
        return not inspect.isclass(self.subject) and is_adapter(self.subject)


def find_source(target: str, factory: str | None = None) -> Source:
    """The factory or adapter a target names, or a UsageError that says what is missing."""
    place, colon, named = target.rpartition(":")
    if not colon or named.endswith(".py"):
        place, named = target, ""
    if factory and named and factory != named:
        raise UsageError(f"{target!r} names {named!r} and the settings name {factory!r}; drop one")
    attribute = named or factory
    if place.endswith(".py"):
        module, name = _from_file(Path(place)), Path(place).stem
    elif attribute and all(part.isidentifier() for part in place.split(".")):
        module, name = _from_name(place), place.rpartition(".")[2]
    else:
        raise UsageError(f"{target!r} names no adapter; {_FORMS}")
    subject = _attribute(module, attribute, place) if attribute else _only(module, place)
    where = f"{place}:{attribute}" if attribute else place
    return Source(subject=subject, where=where, name=name, version=_version(module))


def source_of(subject: object) -> Source:
    """An adapter or a factory of adapters that the caller already holds."""
    is_factory = inspect.isclass(subject) or not is_adapter(subject)
    kind = subject if is_factory else type(subject)
    name = str(getattr(kind, "__name__", type(subject).__name__))
    if is_factory and not callable(subject):
        raise UsageError(f"{name} is neither an adapter nor a factory of adapters; {NEEDS}")
    module = sys.modules.get(getattr(kind, "__module__", ""))
    return Source(subject=subject, where=name, name=name, version=_version(module))


def wants_folder(source: Source, config: Mapping[str, object]) -> bool:
    """Whether the factory wants a `state_dir`; UsageError unless it takes just these settings."""
    if source.is_built:
        if config:
            raise UsageError(
                f"{source.where} is built already and takes no settings: {_list(config)}"
            )
        return False
    if not callable(source.subject):
        raise UsageError(f"{source.where} is a {type(source.subject).__name__}, but {NEEDS}")
    try:
        signature = inspect.signature(source.subject)
    except (TypeError, ValueError):
        return False
    is_wanted = "state_dir" in signature.parameters
    if is_wanted and "state_dir" in config:
        raise UsageError(
            f"{source.where}: state_dir is not a setting, every memory is given its own"
        )
    try:
        signature.bind(**config, **({"state_dir": Path()} if is_wanted else {}))
    except TypeError as error:
        known = [name for name in signature.parameters if name != "state_dir"]
        raise UsageError(
            f"{source.where} does not take these settings ({error}); it takes {_list(known)}"
        ) from error
    return is_wanted


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no adapter file {path}; {_FORMS}")
    # A name of its own for every load: pickle takes two classes of one name for a mistake.
    name = f"recall_bench_adapter_{next(_LOADED)}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be imported as a Python module; {_FORMS}")
    module = importlib.util.module_from_spec(spec)
    _search(path.resolve().parent)
    # Pickle and dataclasses look a class's module up by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UsageError(f"importing the adapter {path} failed: {described(error)}") from error
    return module


def _from_name(name: str) -> ModuleType:
    _search(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(f"there is no module {name!r} to import; {_FORMS}") from error
        raise UsageError(f"importing the adapter {name} failed: {described(error)}") from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"importing the adapter {name} failed: {described(error)}") from error


def _search(folder: Path) -> None:
    """Let an adapter import its neighbours; last, so that it hides nothing that is installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _attribute(module: ModuleType, name: str, place: str) -> object:
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{place} has no {name!r}; {NEEDS}")
        found = getattr(found, part)
    return found


def _only(module: ModuleType, place: str) -> object:
    for name in _USUAL_NAMES:
        if hasattr(module, name):
            return getattr(module, name)
    own = {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and is_adapter(value)
    }
    if len(own) == 1:
        return next(iter(own.values()))
    if own:
        raise UsageError(f"{place} has several adapters ({_list(own)}); write {place}:{min(own)}")
    raise UsageError(
        f"{place} has nothing called {_list(_USUAL_NAMES)} and no class that is one; {NEEDS}"
    )


def _version(module: ModuleType | None) -> str:
    path = getattr(module, "__file__", None)
    if path is None or not Path(path).is_file():
        return "undeclared"
    return sha256(Path(path).read_bytes()).hexdigest()[:12]


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
