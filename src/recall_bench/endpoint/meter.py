"""What the products that call the endpoint have spent."""

import threading

from recall_bench.core.usage import Usage


class UsageMeter:
    """Counts every request that was served. Any thread may ask or add.

    Calls, tokens and money are what the product asked for, whatever was remembered: what a cache
    saves is no merit of the product's, and how much it saves differs with the number of workers.
    `cached` counts texts that came from the disk, where a user wanted that: latencies are then
    those of a warm cache.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = Usage()
        self._new = Usage()

    def add(self, usage: Usage) -> None:
        """Count this too."""
        with self._lock:
            self._total += usage
            self._new += usage

    def drain(self) -> Usage:
        """What was added since the last time; everything is handed out once."""
        with self._lock:
            new, self._new = self._new, Usage()
            return new

    @property
    def total(self) -> Usage:
        """All of it, drained or not."""
        with self._lock:
            return self._total
