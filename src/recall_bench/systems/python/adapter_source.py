"""Where an adapter comes from: a file, an installed module, or an object at hand."""

import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from recall_bench.core.memory import UNDECLARED
from recall_bench.errors import UsageError
from recall_bench.foreign_code import digest_source, import_target, split_target
from recall_bench.systems.python.adapter import NEEDS, is_adapter

_USUAL_NAMES = ("factory", "create", "Adapter", "adapter")
_FORMS = "write path/to/file.py, path/to/file.py:factory or package.module:factory"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterSource:
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


def find_source(target: str, factory: str | None = None) -> AdapterSource:
    """The factory or adapter a target names, or a UsageError that says what is missing."""
    place, named = split_target(target)
    if factory and named and factory != named:
        raise UsageError(f"{target!r} names {named!r} and the settings name {factory!r}; drop one")
    attribute = named or factory
    if place.endswith(".py"):
        module, name = import_target(place, f"adapter {target}"), Path(place).stem
    elif attribute and all(part.isidentifier() for part in place.split(".")):
        module, name = import_target(place, f"adapter {target}"), place.rpartition(".")[2]
    else:
        raise UsageError(f"{target!r} names no adapter; {_FORMS}")
    subject = (
        _get_attribute(module, attribute, place) if attribute else _find_only_adapter(module, place)
    )
    where = f"{place}:{attribute}" if attribute else place
    return AdapterSource(
        subject=subject, where=where, name=name, version=digest_source(module) or UNDECLARED
    )


def wrap_source(subject: object) -> AdapterSource:
    """An adapter or a factory of adapters that the caller already holds."""
    is_factory = inspect.isclass(subject) or not is_adapter(subject)
    kind = subject if is_factory else type(subject)
    name = str(getattr(kind, "__name__", type(subject).__name__))
    if is_factory and not callable(subject):
        raise UsageError(f"{name} is neither an adapter nor a factory of adapters; {NEEDS}")
    module = sys.modules.get(getattr(kind, "__module__", ""))
    return AdapterSource(
        subject=subject, where=name, name=name, version=digest_source(module) or UNDECLARED
    )


def check_settings(
    source: AdapterSource, config: Mapping[str, object], given: Mapping[str, object]
) -> bool:
    """Whether the factory wants a `state_dir`; UsageError unless it takes just these settings.

    What is given is handed over with the settings and is none of them.
    """
    if source.is_built:
        if config or given:
            raise UsageError(
                f"{source.where} is built already and takes no settings: {_join_names([*config, *given])}"
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
    if taken := set(config) & set(given):
        raise UsageError(f"{source.where}: {min(taken)} is not a setting, every run brings its own")
    try:
        signature.bind(**config, **given, **({"state_dir": Path()} if is_wanted else {}))
    except TypeError as error:
        known = [name for name in signature.parameters if name not in {"state_dir", *given}]
        raise UsageError(
            f"{source.where} does not take these settings ({error}); it takes {_join_names(known)}"
        ) from error
    return is_wanted


def _get_attribute(module: ModuleType, name: str, place: str) -> object:
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{place} has no {name!r}; {NEEDS}")
        found = getattr(found, part)
    return found


def _find_only_adapter(module: ModuleType, place: str) -> object:
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
        raise UsageError(
            f"{place} has several adapters ({_join_names(own)}); write {place}:{min(own)}"
        )
    raise UsageError(
        f"{place} has nothing called {_join_names(_USUAL_NAMES)} and no class that is one; {NEEDS}"
    )


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
