"""What a text holds that can be compared: its values, its names and its content words."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from recall_bench.judging.offline.atoms import Atom
from recall_bench.judging.offline.citations import split_citations
from recall_bench.judging.offline.names import names, without_denied_names
from recall_bench.judging.offline.values import split_values, values
from recall_bench.judging.offline.wording import Stems, sentences, words

_QUOTED = re.compile(r'"([^"\n]{3,200})"')


@dataclass(frozen=True, slots=True)
class Contents:
    """The comparable parts of one text."""

    values: tuple[Atom, ...]
    """Amounts, dates, times and identifiers that it claims, each once, in order."""
    names: frozenset[str]
    """The words of the proper names that it claims, lower case."""
    words: frozenset[str]
    """All words outside values and denied names, lower case."""
    stems: frozenset[str]
    """The stems of the content words among them."""

    def holds(self, atom: Atom) -> bool:
        """Whether one of the values may spell the atom."""
        return any(atom.matches(value) for value in self.values)


@dataclass(frozen=True, slots=True)
class Account:
    """An answer, read as a whole and sentence by sentence."""

    text: str
    """Plain, without its citations."""
    contents: Contents
    passages: tuple[Contents, ...]
    """The values and words of each sentence and list entry, in order. Names are the whole's."""
    cited: tuple[Atom, ...]
    """The values that occur in citations."""


class Reader:
    """Reads contents out of plain texts."""

    def __init__(self) -> None:
        self._stems = Stems()

    def read(self, text: str) -> Contents:
        """The contents of a plain text."""
        whole = self._values_and_words(text)
        return replace(whole, names=frozenset(names(without_denied_names(text))))

    def account(self, text: str) -> Account:
        """What a plain answer tells, and what it cites."""
        body, citations = split_citations(text)
        passages = tuple(map(self._values_and_words, sentences(body)))
        whole = joined(passages)
        return Account(
            text=body,
            contents=replace(whole, names=frozenset(names(without_denied_names(body)))),
            passages=passages,
            cited=tuple(dict.fromkeys(values(citations))),
        )

    def _values_and_words(self, text: str) -> Contents:
        claimed, rest = split_values(text)
        said = words(without_denied_names(rest))
        return Contents(
            values=tuple(dict.fromkeys(claimed)),
            names=frozenset(),
            words=frozenset(said),
            stems=frozenset(self._stems.of(said)),
        )

    def key_stems(self, text: str, contents: Contents) -> frozenset[str]:
        """The stems of the words that a paraphrase would keep: names, and what is in quotes."""
        quoted = " ".join(_QUOTED.findall(text))
        return frozenset(self._stems.of([*contents.names, *words(quoted)])) & contents.stems


def joined(parts: Collection[Contents]) -> Contents:
    """The contents of several texts together."""
    nothing = frozenset[str]()
    return Contents(
        values=tuple(dict.fromkeys(value for part in parts for value in part.values)),
        names=nothing.union(*(part.names for part in parts)),
        words=nothing.union(*(part.words for part in parts)),
        stems=nothing.union(*(part.stems for part in parts)),
    )
