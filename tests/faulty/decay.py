"""A memory that forgets at a known rate, to check that reports find the rate.

recall-bench run --adapter tests.faulty.decay:Decaying --config half_life=90
"""

import math
from hashlib import sha256
from typing import ClassVar

from recall_bench.core.errors import UsageError
from recall_bench.features.doctor.honest import Honest
from recall_bench.systems.python.adapter import DayMetadata

_BYTES = 7
"""The bytes of a digest that fit into a float."""


class Decaying(Honest):
    """Ingests everything, and forgets each line after a random lifetime.

    The lifetime depends on the day, the words and the seed: in `half_life` days half of all lines
    are forgotten, whatever their age. A question that rests on one line has this half-life; one
    that rests on several has a shorter one.
    """

    name: ClassVar[str] = "Decaying"

    def __init__(self, half_life: float = 60.0, seed: int = 42) -> None:
        if not half_life > 0:
            raise UsageError(f"half_life: {half_life!r} is not a number of days above 0")
        super().__init__()
        self._half_life = half_life
        self._seed = seed
        self._kept_until: list[float] = []

    def setup(self) -> None:
        """Start empty."""
        super().setup()
        self._kept_until = []

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Keep every line of the day, and decide when each is forgotten."""
        super().ingest_day(day, content, metadata)
        for line in self.lines[len(self._kept_until) :]:
            self._kept_until.append(day + self._draw_lifetime(day, line.text))

    def finalize_ingestion(self) -> None:
        """Forget what is due."""
        super().finalize_ingestion()
        kept = [
            (line, until)
            for line, until in zip(self.lines, self._kept_until, strict=True)
            if until > self.last_day
        ]
        self.lines = [line for line, _ in kept]
        self._kept_until = [until for _, until in kept]

    def _draw_lifetime(self, day: int, text: str) -> float:
        """Draw a lifetime in days from the exponential distribution."""
        digest = sha256(f"{self._seed}\0{day}\0{text}".encode()).digest()
        lot = (int.from_bytes(digest[:_BYTES], "big") + 1) / 256**_BYTES
        return -math.log2(lot) * self._half_life
