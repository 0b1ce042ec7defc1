"""Which of two things an answer puts earlier: "first the one, then the other"."""

import re
from collections.abc import Sequence

from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.relations import Span, find_mentions
from recall_bench.judging.offline.required_part import RequiredPart

_BREAK = re.compile(
    r"[,;:\n]|[.!?](?=\s|$)|\s(?:and|but|then|while|whereas|before|after|until)\s|->|=>|[→>]",
    re.IGNORECASE,
)
_EARLY_BEFORE = re.compile(
    r"(?:\b(?:at first|first(?:ly)?|initial(?:ly)?|original(?:ly)?|to begin with|(?:be(?:gan|gins)"
    r"|start(?:ed|s)"
    r"|open(?:ed|s))(?: out| off)?(?: with| at| as| on)?|former(?:ly)?|previous(?:ly)?|earlier"
    r"|used to be"
    r"|before (?:that|this|then|the \w+|\w+ing)|until (?:then|\w+))\b[^,;]*|\b(?:from|after"
    r"|replac(?:ed|ing|es)"
    r"|instead of|in place of|succeed(?:ed|ing|s)|follow(?:ed|ing|s)|took over from|up from"
    r"|down from))"
    r"\s?(?:[\w']+\s){0,2}$",
    re.IGNORECASE,
)
_LATE_BEFORE = re.compile(
    r"(?:\b(?:then|now(?! that)|next|finally|lastly|last(?! (?:week|month|year))|later|afterwards?"
    r"|eventually|currently|today|since(?: then)?"
    r"|in the end|at last|after (?:that|this|it|the \w+|\w+ing)|ended(?: up)?|most recently"
    r"|these days"
    r"|correct(?:ed|ion)|followed by)\b[^;]*"
    r"|(?:\bnew|\brevised|\bto|\binto|\bbefore|\bbecame|\breplaced by|\bsucceeded by|->|=>"
    r"|[→>]))\s?(?:[\w']+\s){0,2}$",
    re.IGNORECASE,
)
_EARLY_AFTER = re.compile(
    r"^(?:'s)?(?:\s[\w'-]+){0,4}?\s\(?(?:at first|first(?! of)|initially|originally"
    r"|before(?:hand)?|to begin with|formerly"
    r"|previously|earlier|until then|at the (?:start|beginning|outset)|to start with|came first)\b",
    re.IGNORECASE,
)
_LATE_AFTER = re.compile(
    r"^(?:'s)?(?:\s[\w'-]+){0,4}?\s\(?(?:now|after(?:wards?)?(?! (?:all|\w+ing))|later(?! than)"
    r"|in the end|at last|today|currently|since"
    r"|eventually|finally|last|at the end|corrected)\b",
    re.IGNORECASE,
)
_ASKS_BOTH = re.compile(
    r"\b(?:at first|first|originally|initially|before|to begin with)\b.{0,80}?"
    r"\b(?:after(?:wards?)?|then|now|later|in the end|finally|at last|eventually|today)\b",
    re.IGNORECASE,
)


def is_order_exchanged(
    parts: Sequence[RequiredPart], texts: tuple[str, str], answer: str, reader: ContentReader
) -> bool:
    """Whether an answer puts two things in the other order than the question and the reference."""
    if len(parts) != 2:
        return False
    question, reference = texts
    wanted = read_time_order(parts, reference, reader)
    if wanted is None:
        if not _ASKS_BOTH.search(question):
            return False
        wanted = _order_mentions(parts, reference, reader)
    if wanted is None:
        return False
    time_order = read_time_order(parts, answer, reader)
    return time_order == wanted[::-1]


def read_time_order(parts: Sequence[RequiredPart], text: str, reader: ContentReader) -> Span | None:
    """The earlier and the later of two things by number; None if a text does not say it."""
    order = _order_mentions(parts, text, reader)
    if order is None:
        return None
    spans = [find_mentions(part, text, reader) for part in parts]
    if any(len(span) > 1 for span in spans):
        return None
    one, other = (spans[number][0] for number in order)
    between = text[one[1] : other[0]]
    cut = _BREAK.search(between)
    middle = one[1] + (cut.start() if cut else 0)
    opens = max((found.end() for found in _SENTENCE.finditer(text, 0, one[0])), default=0)
    closes = _SENTENCE.search(text, other[1])
    late = [
        _read_cue(text[opens : one[0]], text[one[1] : middle]),
        _read_cue(
            text[middle : other[0]], text[other[1] : closes.start() if closes else len(text)]
        ),
    ]
    if late[0] == late[1]:
        return None
    is_kept = late[0] is False or late[1] is True
    is_turned = late[0] is True or late[1] is False
    if is_kept is is_turned:
        return None
    return order if is_kept else order[::-1]


_SENTENCE = re.compile(r"[.!?;](?=\s|$)|\n")


def _read_cue(before: str, after: str) -> bool | None:
    """Whether the words around a thing say that it came later; None if they do not say."""
    if _EARLY_AFTER.match(after):
        return False
    if _LATE_AFTER.match(after):
        return True
    late, early = _find_last(_LATE_BEFORE, before), _find_last(_EARLY_BEFORE, before)
    return None if late == early == -1 else late >= early


def _find_last(cue: re.Pattern[str], text: str) -> int:
    """Where the cue that is nearest to the end begins; -1 if there is none."""
    place, found = -1, cue.search(text)
    while found:
        place = found.start()
        found = cue.search(text, place + 1)
    return place


def _order_mentions(parts: Sequence[RequiredPart], text: str, reader: ContentReader) -> Span | None:
    """The two things in the order in which a text first mentions them."""
    spans = [find_mentions(part, text, reader)[:1] for part in parts]
    if not all(spans) or spans[0] == spans[1]:
        return None
    return (0, 1) if spans[0] < spans[1] else (1, 0)
