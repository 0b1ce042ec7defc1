"""`derive`: how a question says its answer follows from the text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from recall_bench.datasets.fields import describe_value, is_whole
from recall_bench.proof.account import Underivable
from recall_bench.proof.finding import VerificationCode

_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class DerivationRecipe:
    """The keys of one `derive`, typed as they are asked for."""

    keys: Mapping[object, object]

    @property
    def op(self) -> str:
        """What to compute."""
        return self.get_text("op")

    def get_text(self, key: str) -> str:
        """A text that must be there."""
        value = self.keys.get(key)
        if not isinstance(value, str):
            raise _build_error(key, value)
        return value

    def get_day(self, key: str) -> int | None:
        """A story day that may be left out."""
        value = self.keys.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or not is_whole(value):
            raise _build_error(key, value)
        return value

    def parse_month(self) -> tuple[int, int]:
        """The year and the month asked about."""
        value = self.get_text("month")
        match = _MONTH.fullmatch(value)
        if match is None:
            raise _build_error("month", value)
        return int(match[1]), int(match[2])

    def get_pair(self, key: str) -> tuple[str, str]:
        """A thread and one of its slots."""
        thread, slot = _require_texts(key, self.keys.get(key), 2)
        return thread, slot

    def list_rows(self, key: str, width: int) -> list[tuple[str, ...]]:
        """Two or more lists of so many texts each."""
        value = self.keys.get(key)
        if not isinstance(value, list) or len(value) < 2:
            raise _build_error(key, value)
        return [_require_texts(key, row, width) for row in value]


def _require_texts(key: str, value: object, width: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) != width:
        raise _build_error(key, value)
    if not all(isinstance(part, str) for part in value):
        raise _build_error(key, value)
    return tuple(value)


def _build_error(key: str, value: object) -> Underivable:
    problem = "derive has no" if value is None else f"derive has {describe_value(value)} as"
    return Underivable(VerificationCode.DERIVE, f"{problem} {key}")
