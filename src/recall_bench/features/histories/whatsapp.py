"""Chats that WhatsApp exports as text.

Every line `[05.03.24, 14:02:11] Ana: Hello` or `3/5/24, 2:02 PM - Ana: Hello` begins a message;
others continue it. The order of day and month is that of the phone's settings and is written
nowhere, so the whole file is read for it first: a figure above 12 decides, else the order in which
the dates rise. If neither does, the user has to say.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from recall_bench.core.errors import UsageError
from recall_bench.features.histories.history_message import HistoryMessage, ReadingLog, Room
from recall_bench.features.histories.history_source import HistoryFile, HistorySource

_LINE = 1 << 20
_MARKS = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_BLANKS = str.maketrans({"\u202f": " ", "\u00a0": " "})
HEAD = re.compile(
    r"(?P<open>\[)?(?P<a>\d{1,4})[./-] ?(?P<b>\d{1,2})[./-] ?(?P<c>\d{1,4})\.?,? +"
    r"(?:[^\W\d]{1,4} +)?(?P<early>上午|下午|午前|午後)?(?P<hour>\d{1,2})[:.](?P<minute>\d{2})"
    r"(?:[:.](?P<second>\d{2}))? ?(?P<half>[AaPp]\.? ?[Mm]\.?|上午|下午|午前|午後)?"
    r"(?(open)\] ?| - )(?P<rest>.*)",
    re.DOTALL,
)
_OMITTED = re.compile(
    r"<[^<>]{0,80}(?:omitted|attached|weggelassen|ausgeschlossen|omitido|omis|omessi)[^<>]{0,120}>"
    r"|.{0,80}\((?:file attached|Datei angehängt|archivo adjunto|fichier joint)\)",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(r"\+?[\d ()./\u00a0\u2010-\u2015-]{7,}")
_QUOTES = re.compile('["“”„«»]')
_NOTICE = re.compile(
    r"\b(?:changed (?:the|this) (?:subject|group)|created (?:the )?group"
    r"|hat (?:den Betreff|den Gruppennamen|die Gruppe|das Thema)"
    r"|cambió el (?:asunto|nombre)|creó el grupo|a (?:changé|modifié) le|a créé le groupe"
    r"|ha (?:cambiato|modificato) l|ha creato il gruppo|mudou o|criou o grupo)",
    re.IGNORECASE,
)
_CHAT_NAME = re.compile(
    r"(?:whatsapp[ -]?chat|chat de whatsapp|discussion whatsapp|conversa do whatsapp)"
    r"(?: (?:with|mit|con|avec|com))?[ -]*",
    re.IGNORECASE,
)
_BUDDHIST = 543
_AFTERNOON = ("p", "下", "午後")
ORDERS = ("dmy", "mdy", "ymd")


@dataclass(slots=True)
class _DateEvidence:
    """What the dates of a file say about the order of their parts."""

    dates: int = 0
    has_year_first: bool = False
    possible: set[str] = field(default_factory=lambda: {"dmy", "mdy"})
    falls: Counter[str] = field(default_factory=Counter)
    """How often a date is before the one above it, by order."""
    last: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, a: int, b: int, c: int) -> None:
        """Note one date."""
        self.dates += 1
        self.has_year_first = self.has_year_first or a > 31
        for order, day, month in (("dmy", a, b), ("mdy", b, a)):
            if not (1 <= month <= 12 and 1 <= day <= 31):
                self.possible.discard(order)
            now = (c, month, day)
            self.falls[order] += now < self.last.get(order, now)
            self.last[order] = now

    def decide(self, shown: str) -> str:
        """The order; UsageError if the file does not tell."""
        if self.has_year_first:
            return "ymd"
        if len(self.possible) == 1:
            return next(iter(self.possible))
        if self.possible and self.falls["dmy"] != self.falls["mdy"]:
            return min(self.possible, key=lambda order: self.falls[order])
        raise UsageError(
            f"{shown}: its {self.dates:,} dates do not tell day and month apart; say --dates dmy "
            "or --dates mdy"
        )


def read_whatsapp(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every message that a person wrote; media and notices are left out."""
    for file in source.choose_files(r".*\.txt", "text file; name the chat that was exported"):
        order = log.options.date_order or _find_order(file)
        yield from _read_chat(file, order, log)


def _read_lines(file: HistoryFile) -> Iterator[str]:
    with file.open() as opened:
        while line := opened.readline(_LINE):
            yield line.decode("utf-8", "replace").replace("\0", "").rstrip("\r\n")


def match_head(line: str) -> re.Match[str] | None:
    """The beginning of a message; None for a line that continues one."""
    return HEAD.fullmatch(_MARKS.sub("", line).translate(_BLANKS)) if line[:30] else None


def _find_order(file: HistoryFile) -> str:
    evidence = _DateEvidence()
    for line in _read_lines(file):
        if head := match_head(line):
            evidence.add(int(head["a"]), int(head["b"]), int(head["c"]))
    if not evidence.dates:
        raise UsageError(
            f"{file.shown} has no line like '[05.03.24, 14:02:11] Ana: Hello'; it is not a chat "
            "that WhatsApp exported"
        )
    return evidence.decide(file.shown)


def _read_chat(file: HistoryFile, order: str, log: ReadingLog) -> Iterator[HistoryMessage]:
    stem = PurePosixPath(file.name).stem
    if stem.strip("_").lower() == "chat":
        stem = file.parent or file.source.path.stem
        stem = file.source.path.stem if file.source.path.suffix == ".zip" else stem
    label = _CHAT_NAME.sub("", stem, count=1).strip(" -_") or "chat"
    room = Room(f"whatsapp:{label}", label, is_group=None)
    begun: re.Match[str] | None = None
    # iOS begins its notices with a mark that is not shown.
    lines: list[str] = []
    is_notice, size = False, 0
    for number, line in enumerate(_read_lines(file), start=1):
        head = match_head(line)
        if head is None:
            size += len(line)
            if size < 32 * _LINE:
                lines.append(_MARKS.sub("", line))
            continue
        if begun is not None:
            yield from _make_message(begun, lines, (room, is_notice, order), log)
        begun, lines, size = head, [], 0
        is_notice = ": \u200e" in line
        if _parse_moment(head, order) is None:
            raise UsageError(
                f"{file.shown}, line {number}: {line[:20]!r} is not a date in the order {order}; "
                "say another one with --dates"
            )
    if begun is not None:
        yield from _make_message(begun, lines, (room, is_notice, order), log)


def _make_message(
    begun: re.Match[str], more: list[str], about: tuple[Room, bool, str], log: ReadingLog
) -> Iterator[HistoryMessage]:
    room, is_notice, order = about
    sender, colon, first = begun["rest"].partition(": ")
    text = "\n".join([first, *more]).strip()
    at = _parse_moment(begun, order)
    if not colon or is_notice or at is None or _is_no_sender(sender):
        log.skip("notices")
        return
    if not text or _OMITTED.fullmatch(text):
        log.skip("without text")
        return
    name = sender.strip().lstrip("~ ").strip()
    person = log.add_person(f"whatsapp:{name}", name)
    if _NUMBER.fullmatch(name):
        person.phones.add(name)
    yield HistoryMessage(
        at=at,
        speaker=person.key,
        text=text,
        room=room,
        conversation=room.key,
        title=room.label,
    )


def _is_no_sender(text: str) -> bool:
    """Whether what is before the colon is a notice: Ana changed the subject to "Trip: Rome"."""
    is_inside_quotes = len(_QUOTES.findall(text)) % 2 == 1
    return len(text) > 100 or is_inside_quotes or _NOTICE.search(text) is not None


def _parse_moment(found: re.Match[str], order: str) -> datetime | None:
    parts = dict(zip(order, (int(found["a"]), int(found["b"]), int(found["c"])), strict=True))
    year = parts["y"] + 2000 if parts["y"] < 100 else parts["y"]
    year -= _BUDDHIST if year > 2400 else 0
    hour = int(found["hour"])
    if half := (found["half"] or found["early"] or "").lower():
        hour = hour % 12 + (12 if half.startswith(_AFTERNOON) else 0)
    try:
        return datetime(  # noqa: DTZ001 - the phone's own time, without a zone
            year, parts["m"], parts["d"], hour, int(found["minute"]), int(found["second"] or 0)
        )
    except ValueError:
        return None
