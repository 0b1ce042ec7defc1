"""The base classes of persisted data, and how items are grouped."""

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Protocol, Self, TypeVar, cast

import msgspec


def digest_content(value: object) -> str:
    """Sha-256 of the canonical JSON."""
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Persisted data: frozen, and closed to unknown fields.

    Types are checked when a record is read back; code that builds one is checked by mypy.
    """

    @property
    def digest(self) -> str:
        """Equal digests, equal records."""
        return digest_content(self)

    def replace(self, **changes: object) -> Self:
        """Copy the record with some fields changed."""
        return msgspec.structs.replace(self, **changes)


class ComputedRecord(Record, frozen=True, kw_only=True):
    """A record of computed numbers, none of which can be a numpy scalar.

    numpy's float64 passes for a float in Python and in mypy, but cannot be encoded. Its scalars
    become Python numbers here, so that no caller has to think of it.
    """

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            # A report has tens of thousands of records, and most fields are plain.
            if type(value) in _PLAIN:
                continue
            plain = _convert_numbers(value)
            if plain is not value:
                msgspec.structs.force_setattr(self, name, plain)


class _Scalar(Protocol):
    def item(self) -> object:
        """Return the Python number."""


_PLAIN = frozenset({float, int, bool, str, type(None)})


def _convert_numbers(value: object) -> object:
    """Replace numpy scalars, also within tuples, lists and dicts; the same object if none."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind.__module__ == "numpy":
        return cast("_Scalar", value).item()
    if isinstance(value, tuple | list):
        converted = [_convert_numbers(part) for part in value]
        if all(new is old for new, old in zip(converted, value, strict=True)):
            return value
        return tuple(converted) if isinstance(value, tuple) else converted
    if isinstance(value, dict):
        pairs = {key: _convert_numbers(part) for key, part in value.items()}
        return value if all(pairs[key] is value[key] for key in pairs) else pairs
    return value


Item = TypeVar("Item")
Key = TypeVar("Key")


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by key, keys in the order they first occur."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
