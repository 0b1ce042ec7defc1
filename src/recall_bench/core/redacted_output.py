"""Standard output and standard error without secrets."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from recall_bench.core.redaction import filter_logs, get_redactor


class RedactedStream:
    """A text stream that removes secrets from each text that is written to it."""

    def __init__(self, stream: TextIO, *, is_prose: bool) -> None:
        """`is_prose` if the stream carries answers, which must not change without need."""
        self._stream = stream
        self._is_prose = is_prose

    def write(self, text: str) -> int:
        """Write the text without secrets; TypeError for bytes, as other text streams have it."""
        if isinstance(text, str):
            redact = get_redactor()
            text = redact.redact_keys(text) if self._is_prose else redact(text)
        self._stream.write(text)
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts without secrets."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the stream
        return getattr(self._stream, name)


@contextmanager
def redact_output() -> Iterator[None]:
    """Remove secrets from what this process prints and logs within the context.

    Results go to standard output: they lose known values and unmistakable keys. Messages go to
    standard error, and lose what looks like a key too.
    """
    before = sys.stdout, sys.stderr
    sys.stdout = cast("TextIO", RedactedStream(sys.stdout, is_prose=True))
    sys.stderr = cast("TextIO", RedactedStream(sys.stderr, is_prose=False))
    filter_logs()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
