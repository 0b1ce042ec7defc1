"""Episodes split into chunks: short enough to quote, long enough to make sense."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from recall_bench.core.record import group_by
from recall_bench.core.scenario import Episode

if TYPE_CHECKING:
    from recall_bench.systems.builtin.options import Chunking
    from recall_bench.text.sentences import Sentence

CHUNK_CHARS = 300
"""A chunk takes in neighbouring sentences up to this length. Between 160 and 400 characters the
share of right days found in a real six-month log hardly changes; this is a length to quote."""

PIECE_CHARS = 600
"""A longer sentence (code, a table on one line) is split between words."""

_ENDINGS = tuple(".!?:;,…\"'”’“»)|。！？、」』）؟،؛")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A few neighbouring sentences of one paragraph, list or turn."""

    text: str
    """As it is quoted: verbatim, after the speaker or line that introduces it."""
    context: str
    """The session and the headings above it: searched, but not quoted."""
    session: str | None
    overlap: int = 0
    """How many characters at its start also end the chunk before it."""
    turn: int | None = None
    """The number of its turn in the episode; None for a text without turns, and for several."""

    @property
    def search_text(self) -> str:
        """Everything a search may match."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunker:
    """Splits an episode into chunks."""

    chunking: Chunking = "passage"
    window_chars: int = 800
    """For windows: the longest, except for a single longer sentence."""
    window_overlap: int = 200
    """For windows: how much of its end the next one repeats at most."""

    def __call__(self, episode: Episode) -> tuple[Chunk, ...]:
        """The episode's chunks in order; no sentence is left out."""
        from recall_bench.text.sentences import read_sentences

        sentences = _break_long_sentences(read_sentences(episode))
        is_spoken = bool(episode.turns)
        match self.chunking:
            case "passage":
                groups = _group_sentences(sentences)
                return tuple(_build_chunk(group, is_spoken=is_spoken) for group in groups)
            case "turn":
                blocks = groupby(sentences, lambda one: (one.session, one.heading, one.block))
                return tuple(
                    replace(_build_mixed_chunk(list(block)), turn=place[2] if is_spoken else None)
                    for place, block in blocks
                )
            case "session":
                return tuple(_build_mixed_chunk(part) for part in _group_by_session(sentences))
            case "paragraph":
                groups = _group_sentences(sentences, None)
                return tuple(_build_chunk(group, is_spoken=is_spoken) for group in groups)
            case "window":
                return tuple(self._split_windows(sentences))

    def _split_windows(self, sentences: Iterable[Sentence]) -> Iterator[Chunk]:
        for part in _group_by_session(sentences):
            group: list[Sentence] = []
            repeated = 0
            for sentence in part:
                fresh = len(group) > repeated
                if fresh and _count_chars([*group, sentence]) > self.window_chars:
                    yield _build_mixed_chunk(group, repeated)
                    # The last sentences of the group that fit; never all, or windows would not end.
                    most = self.window_overlap
                    start = len(group)
                    while start > 1 and _count_chars(group[start - 1 :]) <= most:
                        start -= 1
                    group = group[start:]
                    repeated = len(group)
                group.append(sentence)
            yield _build_mixed_chunk(group, repeated)


def split_chunks(episode: Episode) -> tuple[Chunk, ...]:
    """The episode's chunks with the default settings."""
    return Chunker()(episode)


def join_chunks(before: str, after: Chunk) -> str:
    """A text and the chunk after it; overlapping text appears once."""
    rest = after.text[after.overlap :].lstrip()
    return f"{before} {rest}" if rest else before


def _break_long_sentences(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    for sentence in sentences:
        if len(sentence.text) <= PIECE_CHARS:
            yield sentence
        else:
            for piece in textwrap.wrap(sentence.text, PIECE_CHARS, break_on_hyphens=False):
                yield sentence.cut(piece)


def _group_sentences(
    sentences: Iterable[Sentence], most: int | None = CHUNK_CHARS
) -> Iterator[list[Sentence]]:
    group: list[Sentence] = []
    size = 0
    for sentence in sentences:
        size += len(sentence.text)
        is_full = most is not None and size > most
        if group and (is_full or not _is_continuation(sentence, group[-1])):
            yield group
            group, size = [], len(sentence.text)
        group.append(sentence)
    if group:
        yield group


def _group_by_session(sentences: Iterable[Sentence]) -> Iterable[list[Sentence]]:
    return group_by(sentences, lambda sentence: sentence.session).values()


def _is_continuation(sentence: Sentence, before: Sentence) -> bool:
    """Whether both belong to one paragraph or turn, or to one list and its opening line."""
    if (sentence.session, sentence.heading) != (before.session, before.heading):
        return False
    if sentence.block == before.block:
        return True
    is_introduced = before.text.endswith(":") and sentence.lead.endswith(before.text)
    return is_introduced or sentence.lead == before.lead != ""


def _build_chunk(group: list[Sentence], *, is_spoken: bool) -> Chunk:
    first = group[0]
    text = first.with_lead
    for sentence in group[1:]:
        text += _choose_separator(text) + sentence.text
    context = "\n".join(part for part in (first.session, first.heading) if part)
    turn = first.block if is_spoken else None
    return Chunk(text=text, context=context, session=first.session, turn=turn)


def _build_mixed_chunk(group: list[Sentence], repeated: int = 0) -> Chunk:
    """A chunk of sentences with several headings; the first `repeated` are overlap."""
    places = dict.fromkeys([group[0].session, *(sentence.heading for sentence in group)])
    return Chunk(
        text=_join_sentences(group),
        context="\n".join(part for part in places if part),
        session=group[0].session,
        overlap=len(_join_sentences(group[:repeated])),
    )


def _join_sentences(group: list[Sentence]) -> str:
    """The sentences joined; each new speaker or list is introduced once."""
    text = ""
    for place, sentence in enumerate(group):
        lead = sentence.lead
        is_introduced = place > 0 and (lead == group[place - 1].lead or text.endswith(lead))
        text += _choose_separator(text) + (sentence.text if is_introduced else sentence.with_lead)
    return text


def _choose_separator(text: str) -> str:
    return "" if not text else " " if text.endswith(_ENDINGS) else "; "


def _count_chars(group: list[Sentence]) -> int:
    return sum(len(sentence.text) + 1 for sentence in group)


def count_bytes(texts: Iterable[str]) -> int:
    """The length of the texts in UTF-8."""
    return sum(len(text) if text.isascii() else len(text.encode()) for text in texts)
