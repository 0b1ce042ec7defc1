"""Episodes cut into passages: short enough to quote, long enough to make sense."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from recall_bench.core.scenario import Episode
from recall_bench.core.sentences import Sentence, read_sentences

CHUNK_CHARS = 300
"""A passage takes in its neighbours while it stays this short. Between 160 and 400 characters the
share of right days found in a real six-month log hardly moves; this is a length one can quote."""

PIECE_CHARS = 600
"""A longer sentence (code, a table on one line) is broken between words."""

_ENDINGS = tuple(".!?:;,…\"'”’)|")

Chunking = Literal["passage", "turn", "session", "paragraph", "window"]
"""Where a passage ends: after about 300 characters of a paragraph, list or turn; with the turn,
paragraph or list entry; with what the session said that day; with the paragraph or the list; or
after so many characters of the session, the next beginning a little before that."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A few neighbouring sentences of one paragraph, list or turn."""

    text: str
    """As it is quoted: word for word, after what introduces it."""
    context: str
    """The session and the headings it stands under: searched, but not quoted."""
    session: str | None
    repeats: int = 0
    """How many characters at its beginning the passage before it holds too."""

    @property
    def search_text(self) -> str:
        """Everything a search may match."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunker:
    """How an episode is cut."""

    chunking: Chunking = "passage"
    window_chars: int = 800
    """Of a window only: how long it may become, a longer sentence excepted."""
    window_overlap: int = 200
    """Of a window only: how much of its end the next one repeats at most."""

    def __call__(self, episode: Episode) -> tuple[Chunk, ...]:
        """The episode's passages in order; no sentence is left out."""
        sentences = _break_long_sentences(read_sentences(episode))
        match self.chunking:
            case "passage":
                return tuple(_build_chunk(group) for group in _group_sentences(sentences))
            case "turn":
                blocks = groupby(sentences, lambda one: (one.session, one.heading, one.block))
                return tuple(_build_mixed_chunk(list(block)) for _, block in blocks)
            case "session":
                return tuple(_build_mixed_chunk(said) for said in _group_by_session(sentences))
            case "paragraph":
                return tuple(_build_chunk(group) for group in _group_sentences(sentences, None))
            case "window":
                return tuple(self._split_windows(sentences))

    def _split_windows(self, sentences: Iterable[Sentence]) -> Iterator[Chunk]:
        for said in _group_by_session(sentences):
            group: list[Sentence] = []
            repeated = 0
            for sentence in said:
                fresh = len(group) > repeated
                if fresh and _count_chars([*group, sentence]) > self.window_chars:
                    yield _build_mixed_chunk(group, repeated)
                    group = _take_overlap(group, self.window_overlap)
                    repeated = len(group)
                group.append(sentence)
            yield _build_mixed_chunk(group, repeated)


def split_chunks(episode: Episode) -> tuple[Chunk, ...]:
    """The episode's passages as they are cut unless another way is asked for."""
    return Chunker()(episode)


def join_chunks(before: str, after: Chunk) -> str:
    """A text and the passage that follows it, what both hold once."""
    rest = after.text[after.repeats :].lstrip()
    return f"{before} {rest}" if rest else before


def _break_long_sentences(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    for sentence in sentences:
        if len(sentence.text) <= PIECE_CHARS:
            yield sentence
        else:
            for piece in textwrap.wrap(sentence.text, PIECE_CHARS, break_on_hyphens=False):
                yield replace(sentence, text=piece)


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
    said: dict[str | None, list[Sentence]] = {}
    for sentence in sentences:
        said.setdefault(sentence.session, []).append(sentence)
    return said.values()


def _is_continuation(sentence: Sentence, before: Sentence) -> bool:
    """Whether the two are of one paragraph or turn, or of one list and its opening line."""
    if (sentence.session, sentence.heading) != (before.session, before.heading):
        return False
    if sentence.block == before.block:
        return True
    is_introduced = before.text.endswith(":") and sentence.lead.endswith(before.text)
    return is_introduced or sentence.lead == before.lead != ""


def _build_chunk(group: list[Sentence]) -> Chunk:
    first = group[0]
    text = first.with_lead
    for sentence in group[1:]:
        text += _choose_separator(text) + sentence.text
    context = "\n".join(part for part in (first.session, first.heading) if part)
    return Chunk(text=text, context=context, session=first.session)


def _build_mixed_chunk(group: list[Sentence], repeated: int = 0) -> Chunk:
    """Of sentences that may stand under several headings, the first so many repeated."""
    places = dict.fromkeys([group[0].session, *(sentence.heading for sentence in group)])
    return Chunk(
        text=_join_sentences(group),
        context="\n".join(part for part in places if part),
        session=group[0].session,
        repeats=len(_join_sentences(group[:repeated])),
    )


def _join_sentences(group: list[Sentence]) -> str:
    """The sentences in a row, each new speaker or list introduced once."""
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


def _take_overlap(group: list[Sentence], most: int) -> list[Sentence]:
    """The last sentences of the group that fit; never all of it, or no window would end."""
    start = len(group)
    while start > 1 and _count_chars(group[start - 1 :]) <= most:
        start -= 1
    return group[start:]
