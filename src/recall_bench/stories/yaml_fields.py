"""Typed values of a parsed mapping; faults are collected, not raised.

A method that finds a fault adds it to the problems and returns an empty value of its type. Check
`is_sound` before you use a record that was built from them.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date
from functools import cache
from typing import TypeVar, cast

import msgspec

from recall_bench.core.errors import BenchError, Malformed, Problems
from recall_bench.core.plain_text import find_nearest
from recall_bench.core.yaml12 import Document, Key

Shape = TypeVar("Shape", bound=msgspec.Struct)


class Fields:
    """One mapping in a document, read key by key."""

    def __init__(
        self,
        document: Document,
        path: tuple[Key, ...],
        subject: str,
        problems: list[BenchError],
    ) -> None:
        self.document = document
        self.path = path
        self.subject = subject
        """Its name in messages: `question q7`, `arc flood`."""
        self.problems = problems
        self._sound_until = len(problems)
        self._values = cast("Mapping[object, object]", _follow_path(document.content, path))

    @property
    def is_sound(self) -> bool:
        """Whether no problem was added since this mapping was opened."""
        return len(self.problems) == self._sound_until

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys, as text."""
        return tuple(str(key) for key in self._values)

    def locate(self, *path: Key) -> str:
        """Return file and line of this mapping, or of a part of it."""
        return self.document.describe_place(*self.path, *path)

    def note(self, problem: str, *path: Key) -> None:
        """Add a problem at the line of the part."""
        self.problems.append(Malformed(self.locate(*path), problem))

    def has(self, key: str) -> bool:
        """Whether the key exists and is not empty."""
        return self._values.get(key) is not None

    def get(self, key: str) -> object:
        """The value as parsed; None if the key is absent."""
        return self._values.get(key)

    def read_text(self, key: str) -> str:
        """Read a required, non-blank text."""
        return self.read_optional_text(key) or "" if self._is_given(key) else ""

    def read_optional_text(self, key: str) -> str | None:
        """Read an optional text."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            fix = "put it in quotes" if isinstance(value, int | float) else "write plain text"
            self.note(f"{key} of {self.subject} is {describe_value(value)}, not text; {fix}", key)
            return None
        if not value.strip():
            self.note(f"{key} of {self.subject} is blank; fill it in or remove it", key)
            return None
        return value

    def read_int(self, key: str) -> int:
        """Read a required whole number."""
        return self.read_optional_int(key) or 0 if self._is_given(key) else 0

    def read_optional_int(self, key: str) -> int | None:
        """Read an optional whole number."""
        value = self._values.get(key)
        if value is None or is_whole(value):
            return cast("int | None", value)
        self.note(
            f"{key} of {self.subject} is {describe_value(value)}; write a whole number without "
            "quotes",
            key,
        )
        return None

    def read_flag(self, key: str) -> bool:
        """Read a truth value; absent means false."""
        value = self._values.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.note(f"{key} of {self.subject} is {describe_value(value)}; write true or false", key)
        return False

    def read_choice(self, key: str, allowed: Collection[str]) -> str:
        """Read one of the allowed words; it is required."""
        return self.read_optional_choice(key, allowed) or "" if self._is_given(key) else ""

    def read_optional_choice(self, key: str, allowed: Collection[str]) -> str | None:
        """Read one of the allowed words, or None."""
        value = self._values.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value in allowed:
            return value
        near = find_nearest(str(value), allowed)
        fix = f"did you mean {near}?" if near else f"use one of {', '.join(allowed)}"
        self.note(
            f"{key} of {self.subject} is {describe_value(value)}, which does not exist; {fix}", key
        )
        return None

    def read_optional_date(self, key: str) -> date | None:
        """Read a date such as 2026-02-01, or None."""
        value = self._values.get(key)
        if value is None:
            return None
        parsed = parse_iso_date(value) if isinstance(value, str) else None
        if parsed is None:
            self.note(
                f"{key} of {self.subject} is {describe_value(value)}, not a date; "
                "write it as year-month-day, for example 2026-02-01",
                key,
            )
        return parsed

    def read_texts(self, key: str) -> tuple[str, ...]:
        """Read a list of texts; absent means empty."""
        values = self._read_list(key)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.note(
                    f"{key} of {self.subject} holds {describe_value(value)}, not text; put it in "
                    "quotes",
                    *(key, index),
                )
        return tuple(value for value in values if isinstance(value, str))

    def read_ints(self, key: str) -> tuple[int, ...]:
        """Read a required, non-empty list of whole numbers."""
        if not self._is_given(key):
            return ()
        values = self._read_list(key)
        if values == [] and isinstance(self._values[key], list):
            self.note(f"{key} of {self.subject} is an empty list; name at least one day", key)
        for index, value in enumerate(values):
            if not is_whole(value):
                self.note(
                    f"{key} of {self.subject} holds {describe_value(value)}; write whole numbers",
                    *(key, index),
                )
        return tuple(value for value in values if isinstance(value, int) and is_whole(value))

    def read_part(self, key: str, subject: str) -> "Fields | None":
        """Return the mapping under the key, or None."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.note(f"{key} of {self.subject} is {describe_value(value)}; write a mapping", key)
            return None
        return Fields(self.document, (*self.path, key), subject, self.problems)

    def read_parts(self, key: str, noun: str) -> Iterator["Fields"]:
        """Yield the mappings listed under the key; messages name them `noun` and id or number."""
        yield from read_mappings(
            self.document, (*self.path, key), noun, self._read_list(key), self.problems
        )

    def read_record(self, shape: type[Shape], /, **special: Callable[["Fields"], object]) -> Shape:
        """Read every field of a record, by its type or by a function of these fields."""
        return shape(
            **{
                field.name: special[field.name](self)
                if field.name in special
                else _READERS[field.type](self, field.encode_name)
                for field in _list_fields(shape)
            }
        )

    def _is_given(self, key: str) -> bool:
        if self._values.get(key) is not None:
            return True
        state = (
            f"leaves {key} empty; fill it in" if key in self._values else f"has no {key}; add it"
        )
        self.note(f"{self.subject} {state}", key)
        return False

    def _read_list(self, key: str) -> list[object]:
        value = self._values.get(key)
        if value is None or isinstance(value, list):
            return cast("list[object]", value or [])
        self.note(f"{key} of {self.subject} is {describe_value(value)}; write a list", key)
        return []


@cache
def _list_fields(shape: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a record; to find their types takes longer than to read them."""
    return msgspec.structs.fields(shape)


_READERS: dict[object, Callable[[Fields, str], object]] = {
    str: Fields.read_text,
    str | None: Fields.read_optional_text,
    int: Fields.read_int,
    int | None: Fields.read_optional_int,
    bool: Fields.read_flag,
    date | None: Fields.read_optional_date,
    tuple[str, ...]: Fields.read_texts,
    tuple[int, ...]: Fields.read_ints,
}
"""The reader of a key, by the type of its field."""


def read_mappings(
    document: Document,
    path: tuple[Key, ...],
    noun: str,
    values: list[object],
    problems: list[BenchError],
) -> Iterator[Fields]:
    """Yield each mapping of a list; other elements become problems."""
    for index, value in enumerate(values):
        place = (*path, index)
        if not isinstance(value, dict):
            problems.append(
                Malformed(
                    document.describe_place(*place),
                    f"{noun} number {index + 1} is {describe_value(value)}; write a mapping of its "
                    "fields",
                )
            )
            continue
        name = value.get("id", value.get("name"))
        subject = f"{noun} {name}" if name is not None else f"{noun} number {index + 1}"
        yield Fields(document, place, subject, problems)


def is_whole(value: object) -> bool:
    """Whether it is a whole number, not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def parse_iso_date(text: str) -> date | None:
    """Parse a date written as year-month-day; None if it is not one."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text.strip()):
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None


def describe_value(value: object) -> str:
    """Describe a value for messages."""
    match value:
        case None:
            return "empty"
        case bool():
            return f"the truth value {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:60]!r}"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _follow_path(content: object, path: tuple[Key, ...]) -> object:
    for key in path:
        content = content[key]  # type: ignore[index]
    return content


def raise_problems(problems: list[BenchError]) -> None:
    """Raise a single problem as itself, and several as Problems."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise Problems(problems)
