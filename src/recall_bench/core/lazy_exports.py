"""Names of a package that are imported when they are first used: importing all takes long."""

from collections.abc import Callable, Mapping
from importlib import import_module


def make_lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """The `__all__`, `__getattr__` and `__dir__` of a package.

    `homes` holds for each module the names that the package offers from it. Modules are named as
    seen from the package: `honest` is one of its own, `.features.honest` stands beside it.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}
    offered = sorted(home_of)

    def find_name(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{home_of[name]}", package), name)

    return offered, find_name, lambda: offered
