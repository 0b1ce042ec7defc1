"""What a text holds that can be compared: its values, its names and its content words."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from recall_bench.judging.offline.atoms import ValueAtom
from recall_bench.judging.offline.citations import split_citations
from recall_bench.judging.offline.names import find_names, remove_denied_names
from recall_bench.judging.offline.phrasing import Phrase, PhraseReader
from recall_bench.judging.offline.values import find_values, locate_values, split_values
from recall_bench.judging.offline.wording import STOPWORDS, Stems, split_sentences, split_words

_QUOTED = re.compile(r'"([^"\n]{3,200})"')


@dataclass(frozen=True, slots=True)
class TextContents:
    """The comparable parts of one text."""

    values: tuple[ValueAtom, ...]
    """Amounts, dates, times and identifiers that it claims, each once, in order."""
    names: frozenset[str]
    """The words of the proper names that it claims, lower case."""
    words: frozenset[str]
    """All words outside values and denied names, lower case."""
    stems: frozenset[str]
    """The stems of the content words among them."""

    def holds(self, atom: ValueAtom) -> bool:
        """Whether one of the values may spell the atom."""
        return any(atom.matches(value) for value in self.values)


@dataclass(frozen=True, slots=True)
class AnswerContents:
    """An answer, read as a whole and sentence by sentence."""

    text: str
    """Plain, without its citations."""
    sentences: tuple[str, ...]
    """The sentences and list entries of the text, in order."""
    contents: TextContents
    passages: tuple[TextContents, ...]
    """The values and words of each of them. Names are the whole's."""
    cited: tuple[ValueAtom, ...]
    """The values that occur in citations."""


class ContentReader:
    """Reads contents out of plain texts."""

    def __init__(self) -> None:
        self._stems = Stems()
        self._phrases = PhraseReader(self._stems)

    def read(self, text: str) -> TextContents:
        """The contents of a plain text."""
        whole = self._read_values_and_words(text)
        return replace(whole, names=frozenset(find_names(remove_denied_names(text))))

    def read_answer(self, text: str) -> AnswerContents:
        """What a plain answer tells, and what it cites."""
        body, citations = split_citations(text)
        cut = tuple(split_sentences(body))
        passages = tuple(map(self._read_values_and_words, cut))
        whole = join_contents(passages)
        return AnswerContents(
            text=body,
            sentences=cut,
            contents=replace(whole, names=frozenset(find_names(remove_denied_names(body)))),
            passages=passages,
            cited=tuple(dict.fromkeys(find_values(citations))),
        )

    def _read_values_and_words(self, text: str) -> TextContents:
        claimed, rest = split_values(text)
        said = split_words(remove_denied_names(rest))
        return TextContents(
            values=tuple(dict.fromkeys(claimed)),
            names=frozenset(),
            words=frozenset(said),
            stems=frozenset(self._stems.stem(said)),
        )

    def stem_in_order(self, text: str) -> tuple[str, ...]:
        """The stems of a plain text's content words, in order."""
        return tuple(self._stems.stem(split_words(text)))

    def read_phrase(self, text: str) -> Phrase:
        """A plain text as a row of words, for comparison in order."""
        return self._phrases.read(text)

    def split_parts(self, text: str) -> tuple[list[ValueAtom], list[str]]:
        """The values of a plain text, denied or not, and the content words beside them."""
        found, rest = list(locate_values(text)), []
        end = 0
        for _, start, past in found:
            rest += split_words(text[end:start])
            end = past
        rest += split_words(text[end:])
        return [atom for atom, _, _ in found], [word for word in rest if word not in STOPWORDS]

    def stem(self, found: Iterable[str]) -> frozenset[str]:
        """The stems of the content words among them."""
        return frozenset(self._stems.stem(found))

    def find_key_stems(self, text: str, contents: TextContents) -> frozenset[str]:
        """The stems of the words that a paraphrase would keep: names, and what is in quotes."""
        quoted = " ".join(_QUOTED.findall(text))
        return frozenset(self._stems.stem([*contents.names, *split_words(quoted)])) & contents.stems


def join_contents(parts: Collection[TextContents]) -> TextContents:
    """The contents of several texts together."""
    nothing = frozenset[str]()
    return TextContents(
        values=tuple(dict.fromkeys(value for part in parts for value in part.values)),
        names=nothing.union(*(part.names for part in parts)),
        words=nothing.union(*(part.words for part in parts)),
        stems=nothing.union(*(part.stems for part in parts)),
    )
