"""Features: packages that can be taken out, and how each announces itself.

A feature is a package that declares what it adds in one small record, named by one entry point of
the group `recall_bench.features`. The record holds names and texts: code is named by a target such
as `my_package.rows:build_silent`, which is imported when it is used and never before.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from recall_bench.core.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "recall_bench.features"


# Dataclasses and no records: `--help` reads them, and answers before it could import msgspec.
@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One command of the command line."""

    name: str
    """Its word, or its words behind another command: `suite scorecard`."""
    target: str
    """Its click command."""
    help: str = ""
    """One line; empty for a command behind another one, which does not list it."""
    section: str = "More"
    """The heading it is listed under."""
    is_first: bool = False
    """Whether the first screen lists it."""
    old_names: Mapping[str, str] = field(default_factory=dict)
    """Names that it had and that still work, with the words that they stand for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    """What a feature adds. Every value of a mapping is a target, `module:name`."""

    name: str
    commands: tuple[Command, ...] = ()
    systems: Mapping[str, str] = field(default_factory=dict)
    """Systems by name: functions that take a system's settings."""
    forms: Mapping[str, str] = field(default_factory=dict)
    """Systems by the form of their address, such as `agent` for `agent:PROGRAM`: functions that
    take the settings of a run."""
    transports: Mapping[str, str] = field(default_factory=dict)
    """Systems that a YAML file describes, by its `transport`: functions that take the file and the
    environment."""
    judges: Mapping[str, str] = field(default_factory=dict)
    """Judges by name: functions that take a judge's settings."""
    loaders: Mapping[str, str] = field(default_factory=dict)
    """Datasets by name: functions that take a path and the corrections that are
    asked for, by name, and return scenarios."""
    rows: Mapping[str, str] = field(default_factory=dict)
    """Rows of a run's heatmap: functions from its trials to rows."""
    protocols: Mapping[str, str] = field(default_factory=dict)
    """Official protocols of datasets, by family: functions that list them."""
    figures: Mapping[str, str] = field(default_factory=dict)
    """The figures of a run of a suite, by the suite's name: functions from its results."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """What the kernel uses if it is there, by the kernel's name for it."""


@cache
def read_entry_points(group: str) -> "EntryPoints":
    """Read what is installed, once a process: reading takes longer than an answer."""
    # The process of an adapter has no plugins, and this takes a seventh of its start to import.
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache
def list_features() -> tuple[Feature, ...]:
    """The features that are installed, by name, without importing their code."""
    features = []
    for entry in sorted(read_entry_points(GROUP), key=lambda entry: entry.name):
        try:
            feature = entry.load()
        except Exception as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing is not None and f"{entry.module}.".startswith(f"{missing}."):
                # Its package was taken out, and its line in the metadata was left.
                continue
            owner = entry.dist.name if entry.dist is not None else entry.module
            raise UsageError(
                f"the feature {entry.name} cannot be imported: {type(error).__name__}: {error}; "
                f"mend it, or take it out with `pip uninstall {owner}`"
            ) from error
        if not isinstance(feature, Feature):
            raise UsageError(f"the feature {entry.name}: {entry.value} is no Feature")
        features.append(feature)
    return tuple(features)


def list_offers(kind: str) -> dict[str, str]:
    """The targets that features offer in one of their fields, by name."""
    return {name: target for name, target, _ in _iterate_offers(kind)}


def find_offer(kind: str, name: str) -> Any:  # noqa: ANN401 - what it is depends on the kind
    """Import what a feature offers under this name; None if no feature does."""
    target = list_offers(kind).get(name)
    return None if target is None else load_target(target)


def require_part(name: str, purpose: str) -> Any:  # noqa: ANN401 - what it is depends on the part
    """Import a part that the kernel needs for something; UsageError if no feature offers it."""
    part = find_offer("parts", name)
    if part is None:
        raise UsageError(f"{purpose} needs a feature that offers {name!r}, and none is installed")
    return part


def load_target(target: str) -> Any:  # noqa: ANN401 - whatever the target names
    """Import `module:name`; UsageError if there is no such thing."""
    module, _, name = target.partition(":")
    try:
        return getattr(import_module(module), name)
    except (AttributeError, ModuleNotFoundError) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else name
        if missing != name and not f"{module}.".startswith(f"{missing}."):
            # A library that the code needs is not there, which is said where it is imported.
            raise
        raise UsageError(f"{target} cannot be imported: {error}") from error


def _iterate_offers(kind: str) -> Iterator[tuple[str, str, Feature]]:
    owners: dict[str, Feature] = {}
    for feature in list_features():
        for name, target in getattr(feature, kind).items():
            if name in owners:
                both = f"{owners[name].name} and {feature.name}"
                raise UsageError(f"two features offer {name!r} among their {kind}: {both}")
            owners[name] = feature
            yield name, target, feature
