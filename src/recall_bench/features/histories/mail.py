"""Mail in mbox files, as Thunderbird, Apple Mail and Google Takeout write them.

A message begins with a line `From ana@x.example Tue Mar  5 14:00:00 2024` after an empty line, with
a header below it; other lines that begin with "From " are text. Attachments are left out, and so
are quoted lines and signatures, which repeat what earlier messages say. A message that several
labels hold is taken once.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from email.errors import HeaderParseError, MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from html.parser import HTMLParser

from recall_bench.core.errors import UsageError
from recall_bench.features.histories.history_message import (
    HistoryMessage,
    ReadingLog,
    Room,
    assume_utc,
)
from recall_bench.features.histories.history_source import HistoryFile, HistorySource

MAIL = Room("mail", "Mail")
_LINE = 1 << 20
_MAX_MESSAGE = 32 * 1024 * 1024
"""Bytes of a message that are read; what is beyond is the rest of an attachment."""
_SPACE = re.compile(r"\s+")
_REPLY = re.compile(
    r"^\s*(?:(?:re|fwd?|aw|wg|sv|vs|rv|tr|antw)\s*(?:\[\d+\])?:\s*)+", re.IGNORECASE
)
_QUOTE_HEAD = re.compile(
    r"^(?:On|Am|Le|El|Op|Il|Em)\b.{0,200}(?:wrote|schrieb|écrit|escribió|schreef|scritto|escreveu)"
    r".{0,80}:\s*$"
)
_DATED_START = re.compile(rb"From \S+ .*\b\d{4}\b")
_HEADER = re.compile(rb"[!-9;-~]+:")
_DISCARDED = frozenset({"spam", "trash", "papierkorb", "corbeille"})
_MESSAGE_ID = re.compile(r"<[^<>\s]+>")


def read_mbox(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every message with a date and a text."""
    names = r".*\.(?:mbox|mbx)|mbox"
    for file in source.choose_files(names, "mbox file; name the one that is meant"):
        for raw in _split_messages(file):
            message = _read_message(raw, log)
            if message is not None:
                yield message


def _split_messages(file: HistoryFile) -> Iterator[bytes]:
    lines: list[bytes] = []
    size, number, was_blank, is_dated = 0, 0, True, False
    with file.open() as opened:
        line = opened.readline(_LINE)
        while line:
            number += 1
            below = opened.readline(_LINE)
            if not lines and line.startswith(b"From "):
                is_dated = _DATED_START.match(line) is not None
                lines = [line]
            elif not lines:
                if line.strip():
                    raise UsageError(
                        f"{file.shown}, line {number}: a message of an mbox file begins with "
                        "'From '; this is another kind of file"
                    )
            elif was_blank and _is_start(line, below, is_dated):
                yield b"".join(lines)
                lines, size = [line], 0
            elif size < _MAX_MESSAGE:
                lines.append(line[1:] if line.startswith(b">From ") else line)
                size += len(line)
            was_blank = not line.strip()
            line = below
    if not lines:
        raise UsageError(f"{file.shown} holds no message")
    yield b"".join(lines)


def _is_start(line: bytes, below: bytes, is_dated: bool) -> bool:
    """Whether a message begins here; some programs write no date, and then the header decides."""
    if not line.startswith(b"From ") or not _HEADER.match(below):
        return False
    return not is_dated or _DATED_START.match(line) is not None


_PARSER = BytesParser()


def _read_message(raw: bytes, log: ReadingLog) -> HistoryMessage | None:
    try:
        message = _PARSER.parsebytes(raw.partition(b"\n")[2])
    except (MessageError, ValueError, LookupError, RecursionError):
        log.skip("unreadable")
        return None
    labels = {label.strip().lower() for label in _decode(message, "X-Gmail-Labels").split(",")}
    if labels & _DISCARDED:
        log.skip("in spam or trash")
        return None
    at = _parse_date(message)
    text = _clean_body(_find_body(message), log)
    if at is None or not text:
        log.skip("without text" if at else "without a date")
        return None
    senders = _add_people(message, ("From",), log) or [log.add_person("unknown sender").key]
    subject = _SPACE.sub(" ", _decode(message, "Subject")).strip()
    title = _REPLY.sub("", subject) or "no subject"
    own = "".join(_MESSAGE_ID.findall(_decode(message, "Message-ID"))[:1])
    above = _MESSAGE_ID.findall(
        f"{_decode(message, 'References')} {_decode(message, 'In-Reply-To')}"
    )
    thread = _decode(message, "X-GM-THRID").strip()
    return HistoryMessage(
        at=at,
        speaker=senders[0],
        text=text,
        room=MAIL,
        conversation=thread or (above[0] if above else own) or title,
        title=title,
        recipients=tuple(_add_people(message, ("To", "Cc"), log)),
        identity=own or None,
    )


def _decode(message: Message, name: str) -> str:
    """A header as text; whatever cannot be decoded stays as it is written."""
    raw = str(message.get(name, ""))
    try:
        return str(make_header(decode_header(raw)))
    except (HeaderParseError, UnicodeError, LookupError, ValueError):
        return raw.encode("utf-8", "replace").decode()


def _parse_date(message: Message) -> datetime | None:
    try:
        moment = parsedate_to_datetime(str(message.get("Date", "")))
        # An offset of a day and more is no time zone, and shows in arithmetic alone.
        moment.utcoffset()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    # An offset of -0000 is UTC, and is read as a time without a zone.
    return assume_utc(moment) if moment.year > 1980 else None


def _add_people(message: Message, names: tuple[str, ...], log: ReadingLog) -> list[str]:
    keys = []
    headers = [str(header) for name in names for header in message.get_all(name, [])]
    for display_name, address in getaddresses(headers):
        key = address.strip().lower()
        if "@" not in key or len(key) > 254:
            continue
        name = _decode_name(display_name)
        person = log.add_person(key, "" if "@" in name else name)
        person.addresses.add(key)
        keys.append(log.add_person(key).key)
    return keys


def _decode_name(raw: str) -> str:
    try:
        name = str(make_header(decode_header(raw)))
    except (HeaderParseError, UnicodeError, LookupError, ValueError):
        name = raw
    name = _SPACE.sub(" ", name.strip(" '\"")).strip()
    last, comma, first = name.partition(", ")
    return f"{first} {last}" if comma and " " not in first and len(first) > 1 else name


def _find_body(message: Message) -> str:
    """The first plain text, else the first HTML without its tags."""
    pages = []
    for part in message.walk():
        if part.get_content_disposition() == "attachment" or part.is_multipart():
            continue
        kind = part.get_content_type()
        if kind == "text/plain" and (text := _decode_part(part)).strip():
            return text
        if kind == "text/html":
            pages.append(part)
    return _strip_tags(_decode_part(pages[0])) if pages else ""


def _decode_part(part: Message) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    charset = part.get_content_charset("utf-8")
    try:
        return content.decode(charset, "replace").replace("\0", "")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace").replace("\0", "")


class _PageText(HTMLParser):
    """The words of an HTML page."""

    _BREAKS = frozenset({"p", "br", "div", "tr", "li", "h1", "h2", "h3", "blockquote"})
    _SILENT = frozenset({"style", "script", "head", "title"})

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self._silent += tag in self._SILENT
        if tag in self._BREAKS:
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in self._SILENT and self._silent > 0

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)


def _strip_tags(page: str) -> str:
    reader = _PageText()
    try:
        reader.feed(page)
        reader.close()
    except (AssertionError, ValueError):
        return ""
    lines = (_SPACE.sub(" ", line).strip() for line in "".join(reader.words).split("\n"))
    return "\n".join(line for line in lines if line)


def _clean_body(text: str, log: ReadingLog) -> str:
    """The text without quoted lines, their introduction, and the signature."""
    body: list[str] = []
    for line in text.splitlines():
        if line.rstrip() == "--" or line == "-- ":
            break
        if line.startswith(">"):
            log.skip("quoted lines of mail")
            if body and _QUOTE_HEAD.match(body[-1]):
                body.pop()
            continue
        body.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(body)).strip()
