"""Patterns that few texts match, searched for only where a match is possible."""

import re
from collections.abc import Callable
from functools import cached_property


class CuedPattern:
    """A pattern, in any case, each match of which holds one of a few cues.

    Most texts hold no cue, and a substring search takes a small part of a pattern's time. The
    pattern is compiled for the first text that holds one.
    """

    def __init__(self, pattern: str, *cues: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._source = pattern
        self._flags = flags | re.IGNORECASE
        self._cues = cues
        """ASCII in lower case."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self._source, self._flags)

    def has_cue(self, text: str) -> bool:
        """Whether a text may match."""
        # Outside ASCII, a pattern that ignores case takes some signs for ASCII letters.
        return not text.isascii() or self.has_cue_in(text.lower())

    def has_cue_in(self, lower: str) -> bool:
        """The same for a text that is ASCII in lower case."""
        for cue in self._cues:  # noqa: SIM110 - twice as fast as any()
            if cue in lower:
                return True
        return False

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return self.pattern.search(text) if self.has_cue(text) else None

    def search_between(self, text: str, start: int, end: int) -> re.Match[str] | None:
        """The first match from a place on and up to another; edges of words are the text's."""
        return self.pattern.search(text, start, end) if self.has_cue(text[start:end]) else None

    def count(self, text: str) -> int:
        """The number of matches."""
        return len(self.pattern.findall(text)) if self.has_cue(text) else 0

    def sub(self, instead: str | Callable[[re.Match[str]], str], text: str) -> str:
        """The text with every match replaced."""
        return self.pattern.sub(instead, text) if self.has_cue(text) else text
