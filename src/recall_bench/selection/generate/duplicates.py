"""Which tests ask the same."""

import re
from collections.abc import Iterable

from recall_bench.selection.files.bench_file import BenchTest
from recall_bench.selection.generate.draft import SuiteDraft

NEARLY = 0.8
"""The share of words in common, of all words of both, from which two prompts that expect the same
are one."""

_WORD = re.compile(r"\w+")


class KnownTests:
    """The tests that a new one must not repeat."""

    def __init__(self) -> None:
        self._by_prompt: dict[tuple[str, ...], str] = {}
        self._by_expected: dict[frozenset[str], list[tuple[frozenset[str], str]]] = {}

    def add(self, name: str, test: BenchTest | SuiteDraft) -> None:
        """Remember a test under its name."""
        words = _split_words(test.prompt)
        self._by_prompt.setdefault(words, name)
        self._by_expected.setdefault(frozenset(test.expected), []).append((frozenset(words), name))

    def find_repeat(self, draft: SuiteDraft) -> str | None:
        """The test that the draft repeats; None if it is new.

        Case, punctuation and blanks make no difference.
        """
        words = _split_words(draft.prompt)
        if words in self._by_prompt:
            return self._by_prompt[words]
        said = frozenset(words)
        alike = self._by_expected.get(frozenset(draft.expected), ())
        return next(
            (name for other, name in alike if _measure_overlap(said, other) >= NEARLY), None
        )


def _split_words(prompt: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(prompt.casefold()))


def _measure_overlap(some: Iterable[str], others: Iterable[str]) -> float:
    one, two = frozenset(some), frozenset(others)
    return len(one & two) / len(one | two) if one or two else 1.0
