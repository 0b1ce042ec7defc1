"""The names of threads, found in a text however many there are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from recall_bench.proof.values import FoundValue, ValueReader

_WORD = re.compile(r"\w+")


class NameIndex:
    """Finds names word for word, the longest that fits; a first letter may be a capital."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Map each name to what it names."""
        self._named: dict[str, str] = {}
        widths: dict[str, set[tuple[int, int]]] = {}
        for name, thread in names.items():
            for spelling in {name, name[:1].upper() + name[1:]}:
                first = _WORD.search(spelling)
                if first:
                    self._named[spelling] = thread
                    widths.setdefault(first[0], set()).add((len(spelling), first.start()))
        # A thousand names that begin alike have few lengths: each is one look-up.
        self._widths = {word: sorted(sizes, reverse=True) for word, sizes in widths.items()}

    def find(self, text: str, today: date | None = None) -> list[FoundValue]:  # noqa: ARG002
        """Every name in the text; the key is what it names."""
        return self.find_between(text, 0, len(text))

    def find_between(self, text: str, start: int, end: int) -> list[FoundValue]:
        """Every name between two offsets."""
        found: list[FoundValue] = []
        widths = self._widths
        reached = start
        for word in _WORD.finditer(text, start, end):
            sizes = widths.get(word[0])
            if sizes and word.start() >= reached:
                value = self._find_at(text, word.start(), sizes)
                if value is not None and reached <= value.start and value.end <= end:
                    found.append(value)
                    reached = value.end
        return found

    def _find_at(self, text: str, place: int, sizes: list[tuple[int, int]]) -> FoundValue | None:
        for length, lead in sizes:
            start = place - lead
            thread = self._named.get(text[start : start + length]) if start >= 0 else None
            if thread is not None and _is_alone(text, start, start + length):
                return FoundValue(thread, text[start : start + length], start, start + length)
        return None


@dataclass(frozen=True, slots=True)
class UnnamedValueReader:
    """Finds the values of another reader that are no part of a thread's name."""

    reader: ValueReader
    names: NameIndex

    def find(self, text: str, today: date) -> list[FoundValue]:
        """Every such value in the text."""
        found = self.reader.find(text, today)
        taken = [(name.start, name.end) for name in self.names.find(text)] if found else []
        return [value for value in found if not value.is_within(taken)]


def _is_alone(text: str, start: int, end: int) -> bool:
    return not (_is_inner(text, start - 1, start) or _is_inner(text, end - 1, end))


def _is_inner(text: str, left: int, right: int) -> bool:
    """Whether a word goes on from one place to the next."""
    return left >= 0 and right < len(text) and _is_word(text[left]) and _is_word(text[right])


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
