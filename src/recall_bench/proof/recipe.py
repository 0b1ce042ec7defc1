"""`derive`: how a question says its answer follows from the text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from recall_bench.datasets.fields import is_whole, shown
from recall_bench.proof.account import Underivable
from recall_bench.proof.finding import Code

_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The keys of one `derive`, typed as they are asked for."""

    keys: Mapping[object, object]

    @property
    def op(self) -> str:
        """What to compute."""
        return self.text("op")

    def text(self, key: str) -> str:
        """A text that must be there."""
        value = self.keys.get(key)
        if not isinstance(value, str):
            raise _unreadable(key, value)
        return value

    def day_or_none(self, key: str) -> int | None:
        """A story day that may be left out."""
        value = self.keys.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or not is_whole(value):
            raise _unreadable(key, value)
        return value

    def month(self) -> tuple[int, int]:
        """The year and the month asked about."""
        value = self.text("month")
        match = _MONTH.fullmatch(value)
        if match is None:
            raise _unreadable("month", value)
        return int(match[1]), int(match[2])

    def pair(self, key: str) -> tuple[str, str]:
        """A thread and one of its slots."""
        thread, slot = _texts(key, self.keys.get(key), 2)
        return thread, slot

    def rows(self, key: str, width: int) -> list[tuple[str, ...]]:
        """Two or more lists of so many texts each."""
        value = self.keys.get(key)
        if not isinstance(value, list) or len(value) < 2:
            raise _unreadable(key, value)
        return [_texts(key, row, width) for row in value]


def _texts(key: str, value: object, width: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) != width:
        raise _unreadable(key, value)
    if not all(isinstance(part, str) for part in value):
        raise _unreadable(key, value)
    return tuple(value)


def _unreadable(key: str, value: object) -> Underivable:
    problem = "derive has no" if value is None else f"derive has {shown(value)} as"
    return Underivable(Code.DERIVE, f"{problem} {key}")
