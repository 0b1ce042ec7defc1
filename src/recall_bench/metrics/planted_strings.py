"""Find planted strings in answers, listings and the bytes of files.

A planted string is rare: a coined name, a code, an amount. Whether it is there decides a figure
without a judge, so case, blanks, the form of numbers, dashes and apostrophes must not matter, and
parts of longer words must not count.
"""

import base64
import gzip
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

_DIGIT_GROUPS = re.compile(r"(?<=\d)(?:,(?=\d)|[\s.'](?=\d{3}(?!\d)))")
_BLANKS = re.compile(r"\s+")
_SPELLING = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)
"""One dash, one apostrophe, and no invisible characters."""

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Larger files are searched in this many bytes only, and named as searched in part."""
_CHUNK = 64 * 1024 * 1024


def normalise(text: str) -> str:
    """Return the text in one form of case, blanks, dashes, apostrophes and groups of digits.

    >>> normalise("KX\u20112291 costs  £4,318")
    'kx-2291 costs £4318'
    """
    return _DIGIT_GROUPS.sub("", _fold(text))


def contains(text: str, planted: str) -> bool:
    """Whether the text contains the planted string as whole words.

    >>> contains("It is now with Tavenholt.", "tavenholt")
    True
    >>> contains("Tavenholting is a hobby.", "Tavenholt")
    False
    """
    return bool(find_planted(text, (planted,)))


def find_planted(text: str, planted: Iterable[str]) -> tuple[str, ...]:
    """Return the planted strings that the text contains, each once, in their order.

    >>> find_planted("By May 5 120 had left.", ["120"])
    ('120',)
    """
    wanted = tuple(dict.fromkeys(planted))
    if not wanted:
        return ()
    folded = _fold(text)
    joined = _DIGIT_GROUPS.sub("", folded)
    # Digits that stand side by side may be one number, or two.
    forms = (joined,) if joined == folded else (joined, folded)
    return tuple(each for each in wanted if any(_is_in(form, _read_forms(each)) for form in forms))


def _fold(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).translate(_SPELLING).casefold()
    return _BLANKS.sub(" ", plain)


@lru_cache(4096)
def _read_forms(planted: str) -> tuple[str, ...]:
    folded = _fold(planted).strip()
    return tuple(dict.fromkeys(form for form in (_DIGIT_GROUPS.sub("", folded), folded) if form))


def _is_in(text: str, forms: Iterable[str]) -> bool:
    """Whether one of the forms stands in the text as whole words."""
    # Most texts contain none, and a plain search is far quicker.
    found = [form for form in forms if form in text]
    return any(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text) for form in found)


def search_bytes(content: bytes, planted: Sequence[str]) -> tuple[str, ...]:
    """Return the planted strings in some bytes, raw or in a common encoding.

    Encodings are UTF-8 and UTF-16, JSON escapes, base64 at each of its three alignments, hex, and
    gzip and zlib streams, whose content is searched in the same way.

    >>> search_bytes(base64.b64encode(b"with Tavenholt now"), ["Tavenholt"])
    ('Tavenholt',)
    """
    found = {each for each in planted if any(form in content for form in _list_forms(each))}
    for unpacked in _unpack_streams(content):
        left = [each for each in planted if each not in found]
        if not left:
            break
        found.update(each for each in left if any(form in unpacked for form in _list_forms(each)))
    return tuple(each for each in planted if each in found)


@lru_cache(4096)
def _list_forms(planted: str) -> tuple[bytes, ...]:
    """The bytes by which a string is recognised, without those that neighbours change."""
    spellings = dict.fromkeys((planted, planted.casefold(), planted.upper()))
    forms: list[bytes] = []
    for spelling in spellings:
        raw = spelling.encode()
        escaped = "".join(f"\\u{ord(c):04x}" if ord(c) > 127 else c for c in spelling).encode()
        forms += [raw, escaped, spelling.encode("utf-16-le"), spelling.encode("utf-16-be")]
        forms += [raw.hex().encode(), raw.hex().upper().encode()]
        forms += _list_base64(raw)
    return tuple(dict.fromkeys(forms))


def _list_base64(raw: bytes) -> Iterator[bytes]:
    for lead in range(3):
        padded = bytes(lead) + raw
        whole = base64.b64encode(padded[: len(padded) // 3 * 3])
        first = (lead * 4 + 2) // 3
        if len(whole) - first >= 6:
            yield whole[first:]
            yield whole[first:].translate(bytes.maketrans(b"+/", b"-_"))


_ZLIB_HEADS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_GZIP_HEAD = b"\x1f\x8b\x08"
_MAX_STREAMS = 2000
_MAX_UNPACKED = 16 * 1024 * 1024


def _unpack_streams(content: bytes) -> Iterator[bytes]:
    """Yield what gzip and zlib streams in the bytes contain, each up to a limit."""
    heads = re.compile(b"|".join(re.escape(head) for head in (*_ZLIB_HEADS, _GZIP_HEAD)))
    for count, match in enumerate(heads.finditer(content)):
        if count >= _MAX_STREAMS:
            return
        is_gzip = match[0] == _GZIP_HEAD
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16 if is_gzip else zlib.MAX_WBITS)
        try:
            yield unpacker.decompress(content[match.start() :], _MAX_UNPACKED)
        except (zlib.error, gzip.BadGzipFile):
            continue


def search_folder(folder: Path, planted: Sequence[str]) -> tuple[str, ...]:
    """Return the planted strings in any file below the folder; links are not followed."""
    found: set[str] = set()
    for path in sorted(folder.rglob("*")):
        left = [each for each in planted if each not in found]
        if not left:
            break
        if path.is_file() and not path.is_symlink():
            found.update(_search_file(path, left))
    return tuple(each for each in planted if each in found)


def _search_file(path: Path, planted: Sequence[str]) -> set[str]:
    """Search a file chunk by chunk; chunks overlap by more than any form is long."""
    overlap = max((len(form) for each in planted for form in _list_forms(each)), default=0)
    found: set[str] = set()
    tail = b""
    left = MAX_FILE_BYTES
    try:
        with path.open("rb") as file:
            while left > 0 and (chunk := file.read(_CHUNK)):
                found.update(search_bytes(tail + chunk, planted))
                tail, left = chunk[-overlap:], left - len(chunk)
    except FileNotFoundError:
        # The memory may remove a file while it is searched.
        return found
    return found
