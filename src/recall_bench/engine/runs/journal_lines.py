"""The lines of a journal: events, each text of a passage written once.

A system returns the same passages for many questions. The first line with a passage holds its text;
a later one has `text_at` in place of `text`: the offset and the length, in bytes, of that text as a
JSON string in an earlier line of the same file. So a text is always there before the reference to
it, wherever the file is cut off. Journals of earlier versions have all texts in place.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from recall_bench.core.append_log import LineChain, split_link
from recall_bench.core.event import Answered, Event, decode_event, encode_event
from recall_bench.core.event_redaction import redact_answer, redact_event
from recall_bench.core.memory import Answer, Passage
from recall_bench.core.plan import Trial
from recall_bench.core.record import Record
from recall_bench.core.scenario import WallTime
from recall_bench.core.untrusted_json import MAX_REPLY_BYTES, decode_untrusted_line

_Place = Annotated[int, Meta(ge=0)]
TextSpan = tuple[_Place, _Place]
"""Where a text is in the file: the offset and the length of its JSON string, in bytes."""

ANSWER_OPENING = b'{"type":"answered"'
"""How the line of an answer begins."""

_REFERENCE = b'"text_at":['
_PASSAGES = b'"passages":['
_TEXT_KEY = b'"text":"'
_SHORTEST = 32
"""A text of fewer characters takes less room than a reference to it."""
_MOST_TEXTS = 1 << 17
"""How many texts the writer keeps, of some 170 bytes each; then the oldest are forgotten, and
written again."""
_KEPT_CHARACTERS = 1 << 24
"""How many characters of texts a reader keeps."""
_RECENT_CHARACTERS = 1 << 22
"""How many characters of texts the writer keeps."""
_DIGEST_BYTES = 16


class StoredPassage(Passage, frozen=True, kw_only=True, omit_defaults=True):
    """A passage in a line, with its text or where that is."""

    text: str | None = None  # type: ignore[assignment]
    text_at: TextSpan | None = None


class _StoredAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    passages: tuple[StoredPassage, ...] = ()


class StoredAnswered(Answered, frozen=True, kw_only=True, omit_defaults=True, tag="answered"):
    """The event `answered` as its line has it."""

    answer: _StoredAnswer


class _OutlinedAnswer(Answer, frozen=True, kw_only=True):
    passages: msgspec.Raw = msgspec.Raw()  # type: ignore[assignment]


class _OutlinedAnswered(Answered, frozen=True, kw_only=True, tag="answered"):
    """The event `answered` with its passages unread, which are most of it."""

    answer: _OutlinedAnswer


R = TypeVar("R", bound=Record)


def _restore(kind: type[R], stored: Record, **changes: object) -> R:
    """Return a stored record as what it was before, with other values for some fields."""
    fields = {name: getattr(stored, name) for name in kind.__struct_fields__}
    return kind(**(fields | changes))


def _restore_answered(stored: Answered, passages: tuple[Passage, ...]) -> Answered:
    return _restore(Answered, stored, answer=_restore(Answer, stored.answer, passages=passages))


class TrialLine(msgspec.Struct):
    """As much of an event as says whose it is, and when it happened."""

    trial: Trial
    at: WallTime


_STORED = msgspec.json.Decoder(StoredAnswered)
_OUTLINE = msgspec.json.Decoder(_OutlinedAnswered)
_TRIAL = msgspec.json.Decoder(TrialLine)
_TEXT = msgspec.json.Decoder(str)
_encode = msgspec.json.Encoder().encode


def decode_outline(line: bytes) -> Event:
    """Decode a line, with or without its link; an answer comes without its passages.

    msgspec.DecodeError if it is no event.
    """
    if not line.startswith(ANSWER_OPENING):
        return decode_event(line)
    answered = decode_untrusted_line(_OUTLINE, split_link(line.removesuffix(b"\n"))[0])
    return _restore_answered(answered, ())


def decode_stored(line: bytes) -> StoredAnswered:
    """Decode the line of an answer, with or without its link; references stay as they are.

    msgspec.DecodeError if it is no answer.
    """
    return decode_untrusted_line(_STORED, split_link(line.removesuffix(b"\n"))[0])


def decode_trial_line(line: bytes) -> TrialLine:
    """Decode only the trial and the time of a line; msgspec.DecodeError if it has none."""
    return decode_untrusted_line(_TRIAL, line)


class JournalDecoder:
    """Decodes lines of one journal, with the texts that they refer to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts: dict[int, tuple[int, str]] = {}
        self._kept = 0

    def decode(self, line: bytes, offset: int) -> Event:
        """Decode the line at this offset, with or without its link.

        msgspec.DecodeError if it is no event, or refers to anything but a text before it.
        """
        if not (line.startswith(ANSWER_OPENING) and _REFERENCE in line):
            return decode_event(line)
        stored = decode_stored(line)
        return _restore_answered(stored, self._restore(stored.answer.passages, offset))

    def _restore(self, stored: tuple[StoredPassage, ...], before: int) -> tuple[Passage, ...]:
        passages, size = [], 0
        for passage in stored:
            text = passage.text
            if text is None:
                text = self.read_text(passage.text_at, before)
                size += len(text)
            passages.append(_restore(Passage, passage, text=text))
        if size > MAX_REPLY_BYTES:
            # Otherwise a small file could make an answer of any size.
            raise msgspec.DecodeError("its passages are longer than any reply")
        return tuple(passages)

    def read_text(self, span: TextSpan | None, before: int) -> str:
        """Read the text that a line at the offset `before` refers to.

        msgspec.DecodeError if there is no reference, or it is to anything but a text before.
        """
        if span is None:
            raise msgspec.DecodeError("a passage has neither text nor text_at")
        start, length = span
        if start + length > before:
            raise msgspec.DecodeError("refers to a text that is not before it")
        recent = self._texts.get(start)
        if recent is not None and recent[0] == length:
            return recent[1]
        text = decode_untrusted_line(_TEXT, self._read_bytes(start, length))
        if self._kept + len(text) > _KEPT_CHARACTERS:
            self._texts.clear()
            self._kept = 0
        self._texts[start] = length, text
        self._kept += len(text)
        return text

    def _read_bytes(self, start: int, length: int) -> bytes:
        # Not by a file object, which takes four times as long: there are thousands of texts.
        file = os.open(self._path, os.O_RDONLY)
        try:
            return os.pread(file, length, start)
        finally:
            os.close(file)


_TextReference = tuple[bytes, int]
"""The field `text_at` of a passage, and the length of the field `text` that it replaces."""


class _KnownTexts:
    """Where the texts of a journal are, up to a number of texts."""

    def __init__(self) -> None:
        self._spans: dict[bytes, TextSpan] = {}
        self._recent: dict[str, _TextReference] = {}
        """References that were made lately: a digest takes ten times as long to find."""
        self._recent_size = 0

    def refer(self, event: Answered) -> tuple[list[_TextReference | None], list[str]]:
        """The reference for each passage, None where there is none, and the texts of those."""
        recent, find = self._recent.get, self._find
        texts = [passage.text for passage in event.answer.passages]
        references = [recent(text) or find(text) for text in texts]
        pairs = zip(texts, references, strict=True)
        return references, [text for text, reference in pairs if reference is None]

    def _find(self, text: str) -> _TextReference | None:
        span = self._spans.get(_digest(text)) if len(text) >= _SHORTEST else None
        if span is None:
            return None
        if self._recent_size + len(text) > _RECENT_CHARACTERS:
            self._forget_recent()
        self._recent_size += len(text)
        reference = b'"text_at":[%d,%d]' % span, len(_TEXT_KEY) - 1 + span[1]
        self._recent[text] = reference
        return reference

    def _forget_recent(self) -> None:
        self._recent.clear()
        self._recent_size = 0

    def note_line(self, content: bytes, texts: Iterable[str], offset: int) -> None:
        """Note the texts that stand in this line, in their order."""
        place = content.find(_PASSAGES)
        for text in texts:
            if len(text) < _SHORTEST:
                continue
            string = _encode(text)
            start = content.find(string, place)
            # Other programs may have escaped it in another way.
            if start >= 0:
                place = start + len(string)
                span = (offset + start, len(string))
                if (
                    self._spans.setdefault(_digest(text), span) is span
                    and len(self._spans) > _MOST_TEXTS
                ):
                    del self._spans[next(iter(self._spans))]
                    self._forget_recent()


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()


class JournalEncoder:
    """Encodes events as the next lines of one journal."""

    def __init__(
        self,
        offset: int = 0,
        last_link: bytes = b"",
        read_lines: Callable[[], Iterable[tuple[int, bytes]]] = tuple,
    ) -> None:
        """Continue at this offset, after a line with this link.

        `read_lines` reads the lines before it; this is done for the first answer with passages.
        """
        self._offset = offset
        self.chain = LineChain(last_link)
        self._read_lines = read_lines
        self._known: _KnownTexts | None = None

    def encode(self, event: Event) -> bytes:
        """Encode an event as the next line, without secrets and without its newline."""
        if isinstance(event, Answered) and event.answer.passages:
            return self.add(self._encode_answer(event))
        return self.add(encode_event(redact_event(event)))

    def add(self, content: bytes) -> bytes:
        """Return the next line for a JSON object that refers to no text."""
        line = self.chain.add(content)
        self._offset += len(line) + 1
        return line

    def _encode_answer(self, event: Answered) -> bytes:
        if self._known is None:
            self._known = _read_known_texts(self._read_lines())
        texts = self._known
        references, new = texts.refer(event)
        # A reference writes no text, so only the others are searched for keys.
        if (clean := redact_answer(event, new)) is not event:
            event, (references, new) = clean, texts.refer(clean)
        content = _replace_texts(encode_event(event), references)
        if new:
            texts.note_line(content, new, self._offset)
        return content


def _replace_texts(content: bytes, references: Iterable[_TextReference | None]) -> bytes:
    """Put a reference in place of the text of each passage that has one."""
    pieces, start, place = list[bytes](), 0, content.index(_PASSAGES)
    for reference in references:
        # Within a string every quotation mark is escaped, so this is the start of a passage.
        place = content.index(_TEXT_KEY, place)
        if reference is not None:
            field, length = reference
            pieces += content[start:place], field
            start = place + length
        place += len(_TEXT_KEY)
    return b"".join((*pieces, content[start:])) if pieces else content


def _read_known_texts(lines: Iterable[tuple[int, bytes]]) -> _KnownTexts:
    texts = _KnownTexts()
    for offset, line in lines:
        if line.startswith(ANSWER_OPENING) and _PASSAGES in line:
            texts.note_line(line, _list_texts(line), offset)
    return texts


def _list_texts(line: bytes) -> Iterator[str]:
    for passage in decode_untrusted_line(_STORED, split_link(line)[0]).answer.passages:
        if passage.text is not None:
            yield passage.text
