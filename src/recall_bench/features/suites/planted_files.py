"""Find planted strings in the bytes of files, raw or in a common encoding."""

import base64
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Larger files are searched in this many bytes only, and named as searched in part."""
_CHUNK = 64 * 1024 * 1024


def search_bytes(content: bytes, planted: Sequence[str]) -> tuple[str, ...]:
    """Return the planted strings in some bytes, raw or in a common encoding.

    Encodings are UTF-8 and UTF-16, JSON escapes, base64 at each of its three alignments, hex, and
    gzip and zlib streams, whose content is searched in the same way.

    >>> search_bytes(base64.b64encode(b"with Tavenholt now"), ["Tavenholt"])
    ('Tavenholt',)
    """
    matches = {string for string in planted if any(form in content for form in _list_forms(string))}
    for unpacked in _unpack_streams(content):
        missing = [string for string in planted if string not in matches]
        if not missing:
            break
        matches.update(
            string for string in missing if any(form in unpacked for form in _list_forms(string))
        )
    return tuple(string for string in planted if string in matches)


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
    matches: set[str] = set()
    for path in sorted(folder.rglob("*")):
        missing = [string for string in planted if string not in matches]
        if not missing:
            break
        if path.is_file() and not path.is_symlink():
            matches.update(_search_file(path, missing))
    return tuple(string for string in planted if string in matches)


def _search_file(path: Path, planted: Sequence[str]) -> set[str]:
    """Search a file chunk by chunk; chunks overlap by more than any form is long."""
    overlap = max((len(form) for string in planted for form in _list_forms(string)), default=0)
    matches: set[str] = set()
    tail = b""
    remaining = MAX_FILE_BYTES
    try:
        with path.open("rb") as file:
            while remaining > 0 and (chunk := file.read(_CHUNK)):
                matches.update(search_bytes(tail + chunk, planted))
                tail, remaining = chunk[-overlap:], remaining - len(chunk)
    except FileNotFoundError:
        # The memory may remove a file while it is searched.
        return matches
    return matches
