"""One file over HTTP, from where an earlier attempt left off."""

import errno
import http.client
import re
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from recall_bench.downloading.digests import CHUNK, size_words
from recall_bench.errors import DownloadFailed, UsageError

_TIMEOUT_S = 30.0
"""How long a server may keep silent."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Told = Callable[[int, int | None], None]
"""Hears how many bytes have arrived, of how many, as far as that is known."""


class PlaceFailed(Exception):
    """One address did not give the file; another may. Reads on from the name of the host."""


class Cut(PlaceFailed):
    """The connection ended before the file did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to arrive, and where."""

    part: Path
    bytes: int | None
    """Its length, where that is certain."""
    is_pinned: bool
    """Whether its digest will be checked, so that any part of it may be gone on from."""


def transfer(url: str, wanted: Wanted, told: Told) -> None:
    """Make the part whole from this address.

    PlaceFailed if the address cannot give it, DownloadFailed if the disk cannot take it; in both
    cases what has arrived stays.
    """
    start = _kept(url, wanted)
    request = _request(url, start, _tag(url, wanted.part) if start else None)
    try:
        with _opened(request) as response:
            start = _agreed_start(response, start)
            total = _agreed_total(response, start, wanted)
            _remember_tag(url, wanted.part, response.headers.get("ETag"))
            _receive(response, wanted.part, start, total, told)
    except _PastTheEnd as error:
        if start == 0:
            raise PlaceFailed("has no such part of the file, though none was asked for") from error
        if error.total != start:
            forget(wanted.part)
            transfer(url, wanted, told)


def forget(part: Path) -> None:
    """Throw away what has arrived."""
    part.unlink(missing_ok=True)
    _tag_file(part).unlink(missing_ok=True)


def check_address(url: str) -> None:
    """UsageError unless files can be fetched from there."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        raise UsageError(f"{url} is a file on this machine; give it with --from")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is no address to download from; it begins with https://")


def host_of(url: str) -> str:
    """Who is asked, for people."""
    return urlsplit(url).netloc.rpartition("@")[2]


@contextmanager
def opened(url: str) -> Iterator[http.client.HTTPResponse]:
    """The answer to a plain request; PlaceFailed if there is none."""
    with _opened(_request(url, 0, None)) as response:
        yield response


class _PastTheEnd(Exception):
    """The server has nothing beyond what we have."""

    def __init__(self, total: int | None) -> None:
        super().__init__()
        self.total = total


def _opener() -> urllib.request.OpenerDirector:
    """HTTP and HTTPS through the proxies of the environment, and nothing else: no file, no FTP."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _request(url: str, start: int, tag: str | None) -> urllib.request.Request:
    check_address(url)
    headers = {"User-Agent": "recall-bench", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    if tag is not None:
        headers["If-Range"] = tag
    return urllib.request.Request(url, headers=headers)  # noqa: S310 - its scheme was checked


@contextmanager
def _opened(request: urllib.request.Request) -> Iterator[http.client.HTTPResponse]:
    try:
        response = _opener().open(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise _PastTheEnd(_total_in(error.headers.get("Content-Range"))) from None
            raise PlaceFailed(f"answers {error.code} {error.reason}".rstrip()) from error
    except urllib.error.URLError as error:
        raise PlaceFailed(_unreachable(error.reason)) from error
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise PlaceFailed(_unreachable(error)) from error
    with response:
        if request.type == "https" and urlsplit(response.url).scheme != "https":
            raise PlaceFailed(f"leads to {host_of(response.url)} without encryption")
        yield response


def _unreachable(reason: object) -> str:
    if isinstance(reason, ssl.SSLCertVerificationError):
        return (
            f"has a certificate that is not accepted ({reason.verify_message}); where a proxy "
            "has its own, name it in SSL_CERT_FILE"
        )
    if isinstance(reason, TimeoutError):
        return f"did not answer within {_TIMEOUT_S:.0f} s"
    if isinstance(reason, OSError) and reason.strerror:
        return f"cannot be reached ({reason.strerror})"
    return f"cannot be reached ({str(reason) or type(reason).__name__})"


def _agreed_start(response: http.client.HTTPResponse, start: int) -> int:
    """Where the server begins: where we asked it to, or at the start."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise PlaceFailed("sends the file packed, though asked not to")
    if response.status != HTTPStatus.PARTIAL_CONTENT:
        return 0
    given = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    if given is None or int(given[1]) != start:
        raise PlaceFailed("sends another part of the file than it was asked for")
    return start


def _agreed_total(response: http.client.HTTPResponse, start: int, wanted: Wanted) -> int | None:
    """How long the server says the whole file is; refused if that is known to be wrong."""
    length = response.headers.get("Content-Length", "")
    total = start + int(length) if length.isdecimal() else wanted.bytes
    if wanted.bytes is not None and total != wanted.bytes:
        kind = response.headers.get_content_type()
        raise PlaceFailed(f"offers {total:,} bytes of {kind}, not the {wanted.bytes:,} published")
    return total


def _receive(
    response: http.client.HTTPResponse, part: Path, start: int, total: int | None, told: Told
) -> None:
    _check_room(part, start, total)
    done = start
    with _writing(part), part.open("r+b" if start else "wb") as out:
        out.seek(start)
        told(done, total)
        while block := _next_block(response):
            out.write(block)
            done += len(block)
            told(done, total)
    if total is not None and done < total:
        raise Cut(f"ended after {done:,} of {total:,} bytes")


def _next_block(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read1(CHUNK)
    except TimeoutError as error:
        raise Cut(f"fell silent for {_TIMEOUT_S:.0f} s") from error
    except (http.client.HTTPException, OSError) as error:
        raise Cut(f"cut the connection ({error})") from error


def _check_room(part: Path, start: int, total: int | None) -> None:
    free = shutil.disk_usage(part.parent).free
    if total is not None and free < total - start:
        raise DownloadFailed(
            f"{part.parent} has {size_words(free)} left and {size_words(total - start)} are to "
            "come; make room, or name another folder in RECALL_BENCH_CACHE, and the same command "
            "goes on"
        )


@contextmanager
def _writing(part: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = "the disk is full" if error.errno in _FULL else f"writing failed ({error.strerror})"
        kept = part.stat().st_size if part.exists() else 0
        raise DownloadFailed(
            f"{part}: {why}; {size_words(kept)} are kept, and the same command goes on"
        ) from error


def _kept(url: str, wanted: Wanted) -> int:
    """How much of an earlier attempt can be gone on from."""
    if not wanted.part.exists():
        return 0
    if not wanted.is_pinned and _tag(url, wanted.part) is None:
        return 0
    return wanted.part.stat().st_size


def _tag_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.etag")


def _tag(url: str, part: Path) -> str | None:
    """The strong ETag of what has arrived, if it came from this address."""
    path = _tag_file(part)
    if not path.exists():
        return None
    origin, _, tag = path.read_text(encoding="utf-8").partition("\n")
    return tag if origin == url and tag else None


def _remember_tag(url: str, part: Path, tag: str | None) -> None:
    if tag is None or tag.startswith("W/"):
        _tag_file(part).unlink(missing_ok=True)
    else:
        _tag_file(part).write_text(f"{url}\n{tag}", encoding="utf-8")


def _total_in(content_range: str | None) -> int | None:
    found = re.fullmatch(r"bytes \*/(\d+)", content_range or "")
    return int(found[1]) if found else None
