"""Episodes cut into passages: short enough to quote, long enough to make sense."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from recall_bench.core.history import Episode
from recall_bench.core.sentences import Sentence, read

PASSAGE_CHARS = 300
"""A passage takes in its neighbours while it stays this short. Between 160 and 400 characters the
share of right days found in a real six-month log hardly moves; this is a length one can quote."""

PIECE_CHARS = 600
"""A longer sentence (code, a table on one line) is broken between words."""

_ENDINGS = tuple(".!?:;,…\"'”’)|")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A few neighbouring sentences of one paragraph, list or turn."""

    text: str
    """As it is quoted: word for word, after what introduces it."""
    context: str
    """The session and the headings it stands under: searched, but not quoted."""
    session: str | None

    @property
    def searched(self) -> str:
        """Everything a search may match."""
        return f"{self.context}\n{self.text}" if self.context else self.text


def excerpts(episode: Episode) -> tuple[Excerpt, ...]:
    """The episode's passages in order; no sentence is left out."""
    return tuple(_excerpt(group) for group in _groups(_pieces(read(episode))))


def _pieces(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    for sentence in sentences:
        if len(sentence.text) <= PIECE_CHARS:
            yield sentence
        else:
            for piece in textwrap.wrap(sentence.text, PIECE_CHARS, break_on_hyphens=False):
                yield replace(sentence, text=piece)


def _groups(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    group: list[Sentence] = []
    size = 0
    for sentence in sentences:
        size += len(sentence.text)
        if group and (size > PASSAGE_CHARS or not _belongs(sentence, group[-1])):
            yield group
            group, size = [], len(sentence.text)
        group.append(sentence)
    if group:
        yield group


def _belongs(sentence: Sentence, before: Sentence) -> bool:
    """Whether the two are of one paragraph or turn, or of one list and its opening line."""
    if (sentence.session, sentence.heading) != (before.session, before.heading):
        return False
    if sentence.block == before.block:
        return True
    is_introduced = before.text.endswith(":") and sentence.lead.endswith(before.text)
    return is_introduced or sentence.lead == before.lead != ""


def _excerpt(group: list[Sentence]) -> Excerpt:
    first = group[0]
    text = first.quoted
    for sentence in group[1:]:
        text += (" " if text.endswith(_ENDINGS) else "; ") + sentence.text
    context = "\n".join(part for part in (first.session, first.heading) if part)
    return Excerpt(text=text, context=context, session=first.session)
