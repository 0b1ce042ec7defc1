"""One of the equal shares that a run is cut into where nobody hands out the work."""

import re
from typing import Self

from recall_bench.core.record import Record
from recall_bench.errors import UsageError


class Shard(Record, frozen=True, kw_only=True):
    """The share with this number, counted from one, of so many."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, word: str) -> Self:
        """The share that `2/8` names."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", word.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"--shard: {word!r} is no share of a run; say for example 2/8, from 1/8 to 8/8"
            )
        return cls(number=int(match[1]), of=int(match[2]))
