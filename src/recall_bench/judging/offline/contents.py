"""What a text holds that can be compared: its values, its names and its content words."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from recall_bench.judging.offline.atoms import Atom
from recall_bench.judging.offline.citations import split_citations
from recall_bench.judging.offline.names import names, without_denied_names
from recall_bench.judging.offline.phrasing import Phrase, Phrases
from recall_bench.judging.offline.values import located, split_values, values
from recall_bench.judging.offline.wording import STOPWORDS, Stems, sentences, words

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
    sentences: tuple[str, ...]
    """The sentences and list entries of the text, in order."""
    contents: Contents
    passages: tuple[Contents, ...]
    """The values and words of each of them. Names are the whole's."""
    cited: tuple[Atom, ...]
    """The values that occur in citations."""


class Reader:
    """Reads contents out of plain texts."""

    def __init__(self) -> None:
        self._stems = Stems()
        self._phrases = Phrases(self._stems)

    def read(self, text: str) -> Contents:
        """The contents of a plain text."""
        whole = self._values_and_words(text)
        return replace(whole, names=frozenset(names(without_denied_names(text))))

    def account(self, text: str) -> Account:
        """What a plain answer tells, and what it cites."""
        body, citations = split_citations(text)
        cut = tuple(sentences(body))
        passages = tuple(map(self._values_and_words, cut))
        whole = joined(passages)
        return Account(
            text=body,
            sentences=cut,
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

    def order(self, text: str) -> tuple[str, ...]:
        """The stems of a plain text's content words, in order."""
        return tuple(self._stems.of(words(text)))

    def phrase(self, text: str) -> Phrase:
        """A plain text as a row of words, for comparison in order."""
        return self._phrases.read(text)

    def parts(self, text: str) -> tuple[list[Atom], list[str]]:
        """The values of a plain text, denied or not, and the content words beside them."""
        found, rest = list(located(text)), []
        end = 0
        for _, start, past in found:
            rest += words(text[end:start])
            end = past
        rest += words(text[end:])
        return [atom for atom, _, _ in found], [word for word in rest if word not in STOPWORDS]

    def stems_of(self, found: Iterable[str]) -> frozenset[str]:
        """The stems of the content words among them."""
        return frozenset(self._stems.of(found))

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
