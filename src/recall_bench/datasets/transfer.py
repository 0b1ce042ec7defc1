"""Downloads files over HTTP: resumes partial ones, tries every address, checks the digest."""

import errno
import http.client
import os
import re
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from recall_bench.core.errors import DownloadFailed, Malformed, UsageError
from recall_bench.core.file_digest import CHUNK, digest_file
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.datasets.catalogue import FileListing, SourceFile
from recall_bench.datasets.dataset_folder import format_size, name_part_file

_TIMEOUT_S = 30.0
"""Seconds without data until the connection counts as lost."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

OnBytes = Callable[[int, int | None], None]
"""Receives the number of bytes that have arrived, and the total if it is known."""


class AddressFailed(Exception):
    """One address failed; another may work. The message continues the name of the host."""


class ConnectionCut(AddressFailed):
    """The connection ended before the file did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialFile:
    """A file that is being downloaded."""

    part: Path
    bytes: int | None
    """Its length, if it is certain."""
    is_pinned: bool
    """Whether its digest will be checked, so that any part of it may be resumed."""


def receive_file(url: str, wanted: PartialFile, on_bytes: OnBytes) -> None:
    """Complete the part from this address.

    AddressFailed if the address fails, DownloadFailed if the disk does; the part stays.
    """
    start = _count_kept_bytes(url, wanted)
    request = _build_request(url, start, _read_tag(url, wanted.part) if start else None)
    try:
        with _open_response(request) as response:
            start = _check_start(response, start)
            total = _check_total(response, start, wanted)
            _remember_tag(url, wanted.part, response.headers.get("ETag"))
            _receive(response, wanted.part, start, total, on_bytes)
    except _RangeBeyondEnd as error:
        if start == 0:
            raise AddressFailed(
                "has no such part of the file, though none was asked for"
            ) from error
        if error.total != start:
            discard_part(wanted.part)
            receive_file(url, wanted, on_bytes)


def discard_part(part: Path) -> None:
    """Delete the part."""
    part.unlink(missing_ok=True)
    _locate_tag(part).unlink(missing_ok=True)


def check_address(url: str) -> None:
    """Raise UsageError unless the URL can be downloaded from."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        raise UsageError(f"{url} is a file on this machine; give it with --from")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not an address to download from; it begins with https://")


def parse_host(url: str) -> str:
    """Return the host of a URL for messages."""
    return urlsplit(url).netloc.rpartition("@")[2]


@contextmanager
def open_url(url: str) -> Iterator[http.client.HTTPResponse]:
    """Open a URL; AddressFailed if it cannot be reached."""
    with _open_response(_build_request(url, 0, None)) as response:
        yield response


class _RangeBeyondEnd(Exception):
    """The server has no bytes after the ones we have."""

    def __init__(self, total: int | None) -> None:
        super().__init__()
        self.total = total


def _build_opener() -> urllib.request.OpenerDirector:
    """Build an opener for HTTP and HTTPS only, with the proxies of the environment."""
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


def _build_request(url: str, start: int, tag: str | None) -> urllib.request.Request:
    check_address(url)
    headers = {"User-Agent": "recall-bench", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    if tag is not None:
        headers["If-Range"] = tag
    return urllib.request.Request(url, headers=headers)  # noqa: S310 - its scheme was checked


@contextmanager
def _open_response(request: urllib.request.Request) -> Iterator[http.client.HTTPResponse]:
    try:
        response = _build_opener().open(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise _RangeBeyondEnd(_parse_total(error.headers.get("Content-Range"))) from None
            raise AddressFailed(f"answers {error.code} {error.reason}".rstrip()) from error
    except urllib.error.URLError as error:
        raise AddressFailed(_describe_unreachable(error.reason)) from error
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise AddressFailed(_describe_unreachable(error)) from error
    with response:
        if request.type == "https" and urlsplit(response.url).scheme != "https":
            raise AddressFailed(f"leads to {parse_host(response.url)} without encryption")
        yield response


def _describe_unreachable(reason: object) -> str:
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


def _check_start(response: http.client.HTTPResponse, start: int) -> int:
    """Return the first byte that the server sends: the requested one, or 0."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise AddressFailed("sends the file packed, though asked not to")
    if response.status != HTTPStatus.PARTIAL_CONTENT:
        return 0
    given = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    if given is None or int(given[1]) != start:
        raise AddressFailed("sends another part of the file than it was asked for")
    return start


def _check_total(response: http.client.HTTPResponse, start: int, wanted: PartialFile) -> int | None:
    """Return the server's total length; AddressFailed if it is known to be wrong."""
    length = response.headers.get("Content-Length", "")
    total = start + int(length) if length.isdecimal() else wanted.bytes
    if wanted.bytes is not None and total != wanted.bytes:
        kind = response.headers.get_content_type()
        raise AddressFailed(f"offers {total:,} bytes of {kind}, not the {wanted.bytes:,} published")
    return total


def _receive(
    response: http.client.HTTPResponse, part: Path, start: int, total: int | None, on_bytes: OnBytes
) -> None:
    _check_room(part, start, total)
    done = start
    with _translate_write_errors(part), part.open("r+b" if start else "wb") as out:
        out.seek(start)
        on_bytes(done, total)
        while block := _read_block(response):
            out.write(block)
            done += len(block)
            on_bytes(done, total)
    if total is not None and done < total:
        raise ConnectionCut(f"ended after {done:,} of {total:,} bytes")


def _read_block(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read1(CHUNK)
    except TimeoutError as error:
        raise ConnectionCut(f"fell silent for {_TIMEOUT_S:.0f} s") from error
    except (http.client.HTTPException, OSError) as error:
        raise ConnectionCut(f"cut the connection ({error})") from error


def _check_room(part: Path, start: int, total: int | None) -> None:
    free = shutil.disk_usage(part.parent).free
    if total is not None and free < total - start:
        raise DownloadFailed(
            f"{part.parent} has {format_size(free)} left and {format_size(total - start)} are "
            "missing; make room, or name another folder in RECALL_BENCH_CACHE; then run the same "
            "command again to resume"
        )


@contextmanager
def _translate_write_errors(part: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = "the disk is full" if error.errno in _FULL else f"writing failed ({error.strerror})"
        kept = part.stat().st_size if part.exists() else 0
        raise DownloadFailed(
            f"{part}: {why}; {format_size(kept)} are kept; run the same command again to resume"
        ) from error


def _count_kept_bytes(url: str, wanted: PartialFile) -> int:
    """Return the bytes of an earlier attempt that can be resumed."""
    if not wanted.part.exists():
        return 0
    if not wanted.is_pinned and _read_tag(url, wanted.part) is None:
        return 0
    return wanted.part.stat().st_size


def _locate_tag(part: Path) -> Path:
    return part.with_name(f"{part.name}.etag")


def _read_tag(url: str, part: Path) -> str | None:
    """Return the strong ETag of the part, if it came from this address."""
    path = _locate_tag(part)
    if not path.exists():
        return None
    origin, _, tag = path.read_text(encoding="utf-8").partition("\n")
    return tag if origin == url and tag else None


def _remember_tag(url: str, part: Path, tag: str | None) -> None:
    if tag is None or tag.startswith("W/"):
        _locate_tag(part).unlink(missing_ok=True)
    else:
        _locate_tag(part).write_text(f"{url}\n{tag}", encoding="utf-8")


def _parse_total(content_range: str | None) -> int | None:
    found = re.fullmatch(r"bytes \*/(\d+)", content_range or "")
    return int(found[1]) if found else None


_REOPENINGS = 20
"""How often a broken connection is resumed, as long as data arrives."""


class DownloadProgress(Protocol):
    """Receives the progress of a download."""

    def update(self, what: str, done: int, total: int | None) -> None:
        """Show the number of bytes done, and the total if it is known."""
        ...

    def note(self, line: str) -> None:
        """Print a line."""
        ...


def fetch_file(
    file: SourceFile, urls: Iterable[str], target: Path, progress: DownloadProgress, *, dataset: str
) -> str:
    """Download the dataset's file to `target`, check its pin and return its sha-256.

    DownloadFailed names the failure of each address. A partial download is kept beside the target.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    for url in urls:
        try:
            digest = _fetch_from(url, file, name_part_file(target), progress)
        except AddressFailed as failure:
            failures.append(f"{parse_host(url)} {failure}")
            progress.note(f"{file.name}: {failures[-1]}")
            continue
        _put_in_place(name_part_file(target), target)
        return digest
    problem = "; ".join(failures) or "there is no address for it"
    remainder = _describe_remainder(name_part_file(target))
    raise DownloadFailed(
        f"{file.name} of {dataset} could not be downloaded: {problem}. {remainder}; "
        "--from takes a file you have, --mirror another address"
    )


def _put_in_place(part: Path, target: Path) -> None:
    """Move the complete part to its target, atomically."""
    with part.open("r+b") as out:
        os.fsync(out.fileno())
    part.replace(target)
    discard_part(part)


def _fetch_from(url: str, file: SourceFile, part: Path, progress: DownloadProgress) -> str:
    """Complete the part and check it; if an old part does not fit, start over."""
    was_begun = part.exists()
    _gather(url, file, part, progress)
    digest = digest_file(
        part, lambda done: progress.update(f"checking {file.name}", done, file.bytes)
    )
    if file.sha256 in (None, digest):
        return digest
    discard_part(part)
    if was_begun:
        progress.note(f"{file.name}: what had arrived earlier does not fit; starting over")
        return _fetch_from(url, file, part, progress)
    raise AddressFailed(f"sends other bytes than those pinned (sha-256 {digest[:12]}…)")


def _gather(url: str, file: SourceFile, part: Path, progress: DownloadProgress) -> None:
    """Download the part to its full length, resuming broken connections."""
    is_pinned = file.sha256 is not None
    # A length without a digest is only shown, never checked.
    certain = file.bytes if is_pinned else None
    wanted = PartialFile(part=part, bytes=certain, is_pinned=is_pinned)
    if certain is not None and _measure_size(part) >= certain:
        return
    progress.note(f"{file.name}: {_describe_start(part, certain)} from {parse_host(url)}")
    for left in reversed(range(_REOPENINGS)):
        before = _measure_size(part)
        try:
            receive_file(url, wanted, lambda done, total: progress.update(file.name, done, total))
            return
        except ConnectionCut:
            if left == 0 or _measure_size(part) <= before:
                raise


def _describe_start(part: Path, total: int | None) -> str:
    size = format_size(total) if total is not None else "fetching"
    kept = _measure_size(part)
    return f"{size}, going on after {format_size(kept)}," if kept else size


def _measure_size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _describe_remainder(part: Path) -> str:
    if kept := _measure_size(part):
        return f"{format_size(kept)} of it are kept; run the same command again to resume"
    return "Run the same command again to retry"


_PAGES = 1_000
"""More than any tree has: a bound for hosts whose pages form a circle."""


class _LfsPointer(msgspec.Struct, kw_only=True):
    oid: str
    """The sha-256 of a large file."""


class _ListingEntry(msgspec.Struct, kw_only=True):
    type: str
    path: str
    size: int | None = None
    lfs: _LfsPointer | None = None


def fetch_listing(listing: FileListing) -> tuple[SourceFile, ...]:
    """Return every file of the tree by name, with the host's digest if it has one.

    The host's digest only proves that the download is complete: it is not a pin. DownloadFailed
    if there is no list.
    """
    url: str | None = listing.url
    files: list[SourceFile] = []
    for _ in range(_PAGES):
        if url is None:
            return tuple(sorted(files, key=lambda file: file.name))
        entries, url = _fetch_page(url)
        files += [_parse_entry(listing, entry) for entry in entries if entry.type == "file"]
    raise DownloadFailed(f"the list of files at {parse_host(listing.url)} does not end")


def _fetch_page(url: str) -> tuple[list[_ListingEntry], str | None]:
    try:
        with open_url(url) as response:
            entries = decode_untrusted_json(response.read(), list[_ListingEntry])
            return entries, _find_next_page(url, response.headers.get("Link", ""))
    except (AddressFailed, http.client.HTTPException, OSError) as failure:
        raise DownloadFailed(
            f"the list of files could not be fetched: {parse_host(url)} {failure}; run the same "
            "command again to retry"
        ) from failure
    except msgspec.MsgspecError as error:
        raise Malformed(url, f"is not a list of files ({error})") from error


def _find_next_page(url: str, link: str) -> str | None:
    """Return the address of the next page; Malformed if it is on another host."""
    found = re.search(r'<([^>]+)>\s*;\s*rel="?next"?', link)
    if found is None:
        return None
    following: str = urljoin(url, found[1])
    if urlsplit(following)[:2] != urlsplit(url)[:2]:
        raise Malformed(url, f"goes on at another host ({parse_host(following)})")
    return following


def _parse_entry(listing: FileListing, entry: _ListingEntry) -> SourceFile:
    path = PurePosixPath(entry.path)
    # Backslashes and colons can leave the folder on Windows.
    is_odd = path.is_absolute() or ".." in path.parts or re.search(r"[\\:]", entry.path)
    if is_odd or not path.is_relative_to(listing.folder):
        raise Malformed(listing.url, f"lists {entry.path!r}, which is not in {listing.folder}")
    return SourceFile(
        name=path.relative_to(listing.folder).as_posix(),
        urls=(f"{listing.place}/{quote(entry.path)}",),
        bytes=entry.size,
        sha256=entry.lfs.oid if entry.lfs is not None else None,
    )
