"""Give up a model server that refuses every connection."""

import time

from recall_bench.core import retry


class CircuitBreaker:
    """Notices a server that refuses every connection, so that no further call waits for it.

    It opens when connections were refused one after another for as long as one call is retried, and
    closes with the first that is not: a server that restarts in that time is not given up.
    """

    def __init__(self) -> None:
        self._refused = 0
        self._since = 0.0

    def note_refusal(self) -> None:
        """Count a connection that was refused."""
        if not self._refused:
            self._since = time.monotonic()
        self._refused += 1

    def note_connection(self) -> None:
        """Forget what was refused before: the server is there."""
        self._refused = 0

    @property
    def is_open(self) -> bool:
        """Whether the server is to be given up."""
        waited_s = time.monotonic() - self._since
        return self._refused > len(retry.RETRY_PAUSES_S) and waited_s >= sum(retry.RETRY_PAUSES_S)

    def describe(self) -> str:
        """What was seen, and what to do, as the end of a message."""
        return (
            f"{self._refused} connections in a row failed, so nothing more is sent; "
            "start the server and run the same command again to continue"
        )
