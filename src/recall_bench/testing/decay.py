"""A memory that forgets at a rate that is known, to see whether the rate is found again.

recall-bench run --adapter recall_bench.testing.decay:Decaying --config half_life=90
"""

import math
from hashlib import sha256
from typing import ClassVar

from recall_bench.core.errors import UsageError
from recall_bench.testing.honest import Honest, HonestDay

_BYTES = 7
"""Of a digest: as many as a float holds."""


class Decaying(Honest):
    """Takes everything in, and forgets each line at a time of its own.

    How long a line is kept is drawn by its day, its words and the seed: in `half_life` days half of
    all lines are forgotten, however old they were. A question that rests on one line has this
    half-life; one that rests on several a shorter one.
    """

    name: ClassVar[str] = "Decaying"

    def __init__(self, half_life: float = 60.0, seed: int = 42) -> None:
        if not half_life > 0:
            raise UsageError(f"half_life: {half_life!r} is no number of days; give one above 0")
        super().__init__()
        self._half_life = half_life
        self._seed = seed
        self._kept_until: list[float] = []

    def setup(self) -> None:
        """Begin with nothing."""
        super().setup()
        self._kept_until = []

    def ingest_day(self, day: int, content: str, metadata: HonestDay) -> None:
        """Keep every line of the day, and lay down when each will be forgotten."""
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
        """Days, drawn from the exponential distribution."""
        digest = sha256(f"{self._seed}\0{day}\0{text}".encode()).digest()
        lot = (int.from_bytes(digest[:_BYTES], "big") + 1) / 256**_BYTES
        return -math.log2(lot) * self._half_life
