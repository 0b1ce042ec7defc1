"""A system by name: a function that takes its settings."""

from collections.abc import Mapping

from recall_bench import MemorySystem
from recall_bench.systems.python.system import build_python_system


class SilentMemory:
    """A memory of one day that answers every second question."""

    def __init__(self) -> None:
        self._last = ""
        self._count = 0

    def ingest_day(self, day: int, content: str, metadata: Mapping[str, object]) -> None:
        """Keep the newest day alone."""
        self._last = content

    def query(self, question: str) -> str:
        """Answer with the day's beginning, or say nothing."""
        self._count += 1
        return "" if self._count % 2 else self._last[:80]


def build_silent(config: Mapping[str, object]) -> MemorySystem:
    """Build the system `silent`."""
    return build_python_system(SilentMemory, dict(config))
