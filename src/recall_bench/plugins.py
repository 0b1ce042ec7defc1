"""Names of installed plugins become code here, and nowhere else."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from recall_bench.errors import AmbiguousPlugin, UnknownPlugin

PLUGIN_KINDS = ("systems", "judges")


def list_plugins(kind: str) -> list[EntryPoint]:
    """What is on offer, ours included, without importing any of it."""
    return sorted(entry_points(group=f"recall_bench.{kind}"), key=lambda entry: entry.name)


def load_plugin(kind: str, name: str) -> Any:  # noqa: ANN401 - a factory of whatever the kind is
    """The factory registered under `name`."""
    offers = list_plugins(kind)
    matches = [entry for entry in offers if entry.name == name]
    if not matches:
        raise UnknownPlugin(kind, name, [entry.name for entry in offers])
    if len(matches) > 1:
        raise AmbiguousPlugin(kind, name, [entry.value for entry in matches])
    return matches[0].load()
