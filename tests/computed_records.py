"""Which records of numbers would not be written down if numpy computed them."""

import importlib
import pkgutil
from typing import get_type_hints

from recall_bench.core.record import ComputedRecord, Record


def find_plain_records(package: str) -> list[str]:
    """The records of this package that hold floats and are no computed records."""
    parent = importlib.import_module(package)
    for module in pkgutil.walk_packages(parent.__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    return [
        f"{record.__module__}.{record.__name__}"
        for record in _list_kinds(Record)
        if record.__module__.startswith(f"{package}.")
        and any("float" in str(hint) for hint in get_type_hints(record).values())
        and not issubclass(record, ComputedRecord)
    ]


def _list_kinds(kind: type[Record]) -> set[type[Record]]:
    kinds = set(kind.__subclasses__())
    return kinds.union(*(_list_kinds(nested) for nested in kinds))
