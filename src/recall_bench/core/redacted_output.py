"""Standard output and standard error without secrets."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from typing import Any, TextIO, cast

from recall_bench.core.redaction import filter_logs, get_redactor


class OutputFull(Exception):
    """There is no space where standard output goes."""


class RedactedStream:
    """A text stream that removes secrets from each text that is written to it."""

    def __init__(self, stream: TextIO, *, is_prose: bool) -> None:
        """`is_prose` if the stream carries answers, which must not change without need."""
        self._stream = stream
        self._is_prose = is_prose
        """Standard output holds the result, so that a failure matters; progress must not."""
        self._held: list[str] | None = None

    def write(self, text: str) -> int:
        """Write the text without secrets; TypeError for bytes, as other text streams have it."""
        if isinstance(text, str):
            redact = get_redactor()
            text = redact.redact_keys(text) if self._is_prose else redact(text)
        # click tests streams with empty texts, and swallows what goes wrong.
        if text != "":
            if self._held is not None and isinstance(text, str):
                self._held.append(text)
                return len(text)
            with self._note_failure():
                self._stream.write(text)
        return len(text)

    def hold(self) -> None:
        """Keep what is written from here on until `release`."""
        self._held = []

    def release(self, *, is_dropped: bool = False) -> None:
        """Write what was held, or drop it; nothing is held any more."""
        texts, self._held = self._held or [], None
        if texts and not is_dropped:
            with self._note_failure():
                self._stream.write("".join(texts))

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        with self._note_failure():
            self._stream.flush()

    def writelines(self, lines: list[str]) -> None:
        """Write several texts without secrets."""
        for line in lines:
            self.write(line)

    @contextmanager
    def _note_failure(self) -> Iterator[None]:
        """Drop messages that cannot be written: no run may end for them."""
        try:
            yield
        except OSError as error:
            if not self._is_prose:
                _discard_output(self._stream)
            elif error.errno == ENOSPC:
                _discard_output(self._stream)
                raise OutputFull from error
            else:
                raise

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the stream
        return getattr(self._stream, name)


def _discard_output(stream: TextIO) -> None:
    """Send everything from here on nowhere, also what is in the buffer."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def redact_output() -> Iterator[RedactedStream]:
    """Remove secrets from what this process prints and logs; yields standard output.

    Results go to standard output: they lose known values and unmistakable keys. Messages go to
    standard error, and lose what looks like a key too.
    """
    # Of a process that was started with closed streams, the next files to be opened would take
    # their numbers, and receive what is printed.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)  # noqa: FBT003 - its own signature
    os.close(number)
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
    before = sys.stdout, sys.stderr
    stdout = RedactedStream(sys.stdout, is_prose=True)
    sys.stdout = cast("TextIO", stdout)
    sys.stderr = cast("TextIO", RedactedStream(sys.stderr, is_prose=False))
    filter_logs()
    try:
        yield stdout
    finally:
        sys.stdout, sys.stderr = before
