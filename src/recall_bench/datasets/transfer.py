"""Downloads files over HTTP: resumes partial ones, tries every address, checks the digest."""

import http.client
import os
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from recall_bench.core.errors import DISK_FULL, DownloadFailed, Malformed, UsageError
from recall_bench.core.file_digest import CHUNK, digest_file
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.datasets.catalogue import FileListing, SourceFile
from recall_bench.datasets.dataset_folder import format_size, name_part_file

_TIMEOUT_S = 30.0
"""Seconds without data until the connection counts as lost."""

_REOPENINGS = 20
"""How often a broken connection is resumed, as long as data arrives."""

_PAGES = 1_000
"""More than any tree has: a bound for hosts whose pages form a circle."""


OnBytes = Callable[[int, int | None], None]
"""Receives the number of bytes that have arrived, and the total if it is known."""


class DownloadProgress(Protocol):
    """Receives the progress of a download."""

    def update(self, what: str, done: int, total: int | None) -> None:
        """So many bytes of a file have arrived or were checked; the total is None if unknown."""

    def note(self, line: str) -> None:
        """Something worth a line of its own happened."""


class AddressFailed(Exception):
    """One address failed; another may work. The message continues the name of the host."""


class ConnectionCut(AddressFailed):
    """The connection ended before the file did."""


class _RangeBeyondEnd(AddressFailed):
    """The server has no bytes after the ones we have."""


def fetch_file(
    file: SourceFile,
    urls: Iterable[str],
    target: Path,
    progress: DownloadProgress,
    *,
    dataset: str,
) -> str:
    """Download a file from the first address that works, and return its sha-256.

    DownloadFailed, with the reason for every address, if none does. What arrived of a file with a
    pinned digest is kept beside the target, and resumed by the next attempt.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = name_part_file(target)
    failures: list[str] = []
    for url in urls:
        try:
            digest = _fetch_from(url, file, part, progress)
        except AddressFailed as failure:
            failures.append(f"{parse_host(url)} {failure}")
            progress.note(f"{file.name}: {failures[-1]}")
            continue
        with part.open("r+b") as out:
            os.fsync(out.fileno())
        part.replace(target)
        return digest
    rest = "Run the same command again to retry"
    if kept := _measure_size(part):
        rest = f"{format_size(kept)} of it are kept; run the same command again to resume"
    raise DownloadFailed(
        f"{file.name} of {dataset} could not be downloaded: "
        f"{'; '.join(failures) or 'there is no address for it'}. {rest}; "
        "--from takes a file you have, --mirror another address"
    )


def _fetch_from(url: str, file: SourceFile, part: Path, progress: DownloadProgress) -> str:
    """Complete the part and check it; if an old part does not fit, start over."""
    check_address(url)
    if file.sha256 is None:
        # Nothing would tell whether the two halves are of one file.
        part.unlink(missing_ok=True)
    was_begun = part.exists()
    if file.bytes is None or file.sha256 is None or _measure_size(part) < file.bytes:
        _gather(url, file, part, progress)
    digest = digest_file(
        part, lambda done: progress.update(f"checking {file.name}", done, file.bytes)
    )
    if file.sha256 in (None, digest):
        return digest
    part.unlink(missing_ok=True)
    if was_begun:
        progress.note(f"{file.name}: what had arrived earlier does not fit; starting over")
        return _fetch_from(url, file, part, progress)
    raise AddressFailed(f"sends other bytes than those pinned (sha-256 {digest[:12]}…)")


def _gather(url: str, file: SourceFile, part: Path, progress: DownloadProgress) -> None:
    """Download the part to its full length, resuming broken connections."""
    # A length without a digest is only shown, never checked.
    certain = file.bytes if file.sha256 is not None else None
    size = format_size(certain) if certain is not None else "fetching"
    kept = _measure_size(part)
    begin = f"{size}, going on after {format_size(kept)}," if kept else size
    progress.note(f"{file.name}: {begin} from {parse_host(url)}")
    for left in reversed(range(_REOPENINGS)):
        before = _measure_size(part) if file.sha256 is not None else 0
        try:
            _receive(
                url, part, before, certain, lambda *so_far: progress.update(file.name, *so_far)
            )
            return
        except _RangeBeyondEnd:
            return  # the digest tells whether the part is whole
        except ConnectionCut:
            if left == 0 or file.sha256 is None or _measure_size(part) <= before:
                raise


def _receive(url: str, part: Path, start: int, certain: int | None, on_bytes: OnBytes) -> None:
    """Receive the file from `start` on, or all of it if the server sends no parts."""
    with open_url(url, start) as response:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise AddressFailed("sends the file packed, though asked not to")
        if response.status != HTTPStatus.PARTIAL_CONTENT:
            start = 0
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            raise AddressFailed("sends another part of the file than it was asked for")
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdecimal() else certain
        if certain is not None and total != certain:
            kind = response.headers.get_content_type()
            raise AddressFailed(f"offers {total:,} bytes of {kind}, not the {certain:,} published")
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


@contextmanager
def _translate_write_errors(part: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        is_full = error.errno in DISK_FULL or error.errno == 27  # EFBIG, a limit of the user
        why = "the disk is full" if is_full else f"writing failed ({error.strerror})"
        raise DownloadFailed(
            f"{part}: {why}; {format_size(_measure_size(part))} are kept; run the same command "
            "again to resume"
        ) from error


def _measure_size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


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


@contextmanager
def open_url(url: str, start: int = 0) -> Iterator[http.client.HTTPResponse]:
    """Open a URL, from a byte on; AddressFailed if it cannot be reached."""
    headers = {"User-Agent": "recall-bench", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - its scheme was checked
    try:
        response = _build_opener().open(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        with error:
            if start and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise _RangeBeyondEnd("has nothing beyond what is here") from None
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
    url = listing.url
    files: list[SourceFile] = []
    for _ in range(_PAGES):
        try:
            with open_url(url) as response:
                entries = decode_untrusted_json(response.read(), list[_ListingEntry])
                link = response.headers.get("Link", "")
        except (AddressFailed, http.client.HTTPException, OSError) as failure:
            raise DownloadFailed(
                f"the list of files could not be fetched: {parse_host(url)} {failure}; run the "
                "same command again to retry"
            ) from failure
        except msgspec.MsgspecError as error:
            raise Malformed(url, f"is not a list of files ({error})") from error
        files += [_parse_entry(listing, entry) for entry in entries if entry.type == "file"]
        following = re.search(r'<([^>]+)>\s*;\s*rel="?next"?', link)
        if following is None:
            return tuple(sorted(files, key=lambda file: file.name))
        page = urljoin(url, following[1])
        if urlsplit(page)[:2] != urlsplit(url)[:2]:
            raise Malformed(url, f"goes on at another host ({parse_host(page)})")
        url = page
    raise DownloadFailed(f"the list of files at {parse_host(listing.url)} does not end")


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
