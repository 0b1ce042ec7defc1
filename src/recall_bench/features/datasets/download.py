"""Downloads datasets, or takes over files that the user has, one process at a time."""

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

from recall_bench.core.errors import (
    DISK_FULL,
    BenchError,
    DataError,
    DownloadFailed,
    Malformed,
    Problems,
    UsageError,
)
from recall_bench.core.folders import CHUNK, digest_file
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.stories.catalogue import (
    FileListing,
    SourceFile,
    find_dataset,
    find_source,
    list_datasets,
)
from recall_bench.stories.dataset_folder import (
    Presence,
    check_presence,
    find_download,
    format_size,
    get_datasets_folder,
    list_digests,
    list_files,
    locate_folder,
    name_part_file,
    read_receipt,
    record_receipt,
    remember_files,
    unpack_blocks,
)

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
    if size := _measure_size(part):
        rest = f"{format_size(size)} of it are kept; run the same command again to resume"
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
    for attempts_left in reversed(range(_REOPENINGS)):
        before = _measure_size(part) if file.sha256 is not None else 0
        try:
            _receive(
                url, part, before, certain, lambda *so_far: progress.update(file.name, *so_far)
            )
            return
        except _RangeBeyondEnd:
            return  # the digest tells whether the part is whole
        except ConnectionCut:
            if attempts_left == 0 or file.sha256 is None or _measure_size(part) <= before:
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
        is_full = error.errno in DISK_FULL or error.errno == errno.EFBIG  # a limit of the user
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
        *(urllib.request.ProxyHandler, urllib.request.UnknownHandler),
        *(urllib.request.HTTPHandler, urllib.request.HTTPSHandler),
        *(urllib.request.HTTPDefaultErrorHandler, urllib.request.HTTPRedirectHandler),
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
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


def find_copies(
    name: str, files: tuple[SourceFile, ...], given: Path, *, is_shared: bool
) -> dict[str, Path]:
    """Return the given files of a dataset by name; some may be missing.

    A file is recognised by its digest or, without a pin, by its name. In a folder files have their
    published names, with or without `.gz`, perhaps below the dataset's name; a folder for several
    datasets (`is_shared`) has a folder for each.
    """
    if not given.exists():
        raise UsageError(f"--from: there is no {given}")
    if not given.is_dir():
        return {_recognise(name, files, given).name: given}
    folders = [given / name] if is_shared else [given / name, given]
    copies: dict[str, Path] = {}
    for file in files:
        spellings = (folder / f"{file.name}{end}" for folder in folders for end in ("", ".gz"))
        if (place := next((path for path in spellings if path.is_file()), None)) is not None:
            copies[file.name] = place
    if not copies:
        places = " or ".join(str(folder) for folder in folders)
        names = format_names([file.name for file in files])
        raise UsageError(f"--from: nothing of {name} is in {places}; it needs {names}")
    return copies


def _recognise(name: str, files: tuple[SourceFile, ...], given: Path) -> SourceFile:
    digests = list_digests(given)
    named = given.name.removesuffix(".gz")
    for file in files:
        if file.sha256 in digests or named == Path(file.name).name:
            return file
    data = [file for file in files if file.layer is None]
    if len(data) != 1:
        names = format_names([file.name for file in files])
        raise UsageError(f"--from: {given} is not a file of {name}, which has {names}")
    return data[0]


def take_copy(file: SourceFile, given: Path, target: Path) -> str:
    """Link or copy the given file to `target` and return its sha-256; DataError if the pin differs.

    A packed file is unpacked unless it was published so.
    """
    digests = list_digests(given)
    digest = digests[0] if file.sha256 == digests[0] else digests[-1]
    if file.sha256 not in (None, digest):
        raise DataError(
            f"{given} is not {file.name} as it was published: its sha-256 is {digest}, the pin is "
            f"{file.sha256}; give it to a command with --data if you mean this very file"
        )
    fresh = target.with_name(f"{target.name}.own")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)
        if digest != digests[0]:
            with fresh.open("wb") as out:
                out.writelines(unpack_blocks(given))
        else:
            try:
                fresh.hardlink_to(given.resolve())
            except OSError:
                shutil.copyfile(given, fresh)
        fresh.replace(target)
    except OSError as error:
        why = f"{given} could not be copied to {target} ({error.strerror})"
        raise DownloadFailed(f"{why}; run the same command again to retry") from error
    finally:
        fresh.unlink(missing_ok=True)
    name_part_file(target).unlink(missing_ok=True)
    return digest


def format_names(names: list[str]) -> str:
    """Format at most three names for a sentence."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest


ALL_DATASETS = "all"
"""The name that stands for all datasets."""

_MAX_REPORTED_FILES = 30
"""With more files than this, single files are not reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadOptions:
    """Other origins of files than their published addresses."""

    own: Path | None = None
    """A file or folder of the user; then nothing is downloaded."""
    mirror: str | None = None
    """An address with `<dataset>/<file>` below it, tried first."""
    takes_unpinned: bool = False
    """Whether to accept files without a pinned digest."""


def download(names: tuple[str, ...], options: DownloadOptions, progress: DownloadProgress) -> None:
    """Download the named datasets; Problems, after trying all, if any failed."""
    if options.mirror is not None:
        check_address(options.mirror)
    if ALL_DATASETS not in names:
        chosen = tuple(dict.fromkeys(find_dataset(name).name for name in names))
    elif len(names) > 1:
        raise UsageError("name datasets or all, not both")
    else:
        chosen = tuple(dataset.name for dataset in list_datasets())
    failures: list[BenchError] = []
    for name in chosen:
        try:
            _download_dataset(name, options, progress, is_alone=len(chosen) == 1)
        except BenchError as failure:
            failures.append(failure)
            if len(chosen) > 1:
                progress.note(f"{name}: failed")
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise Problems(failures)


def _download_dataset(
    name: str, options: DownloadOptions, progress: DownloadProgress, *, is_alone: bool
) -> None:
    source = find_source(name)
    if not source.is_published:
        if is_alone:
            raise UsageError(f"{name} has no download; give your own files with --data")
        progress.note(f"{name}: has no download; its files are your own")
        return
    with _lock_dataset(name, progress):
        files = _list_files(name, options, progress)
        missing = []
        for file in files:
            presence = check_presence(name, file)
            if presence is not Presence.COMPLETE:
                missing.append(file)
            if presence is Presence.DIFFERS:
                progress.note(
                    f"{file.name}: is here, and is not the file that was pinned; replacing it"
                )
        if options.own is not None and not missing:
            if not options.own.exists():
                raise UsageError(f"--from: there is no file or folder {options.own}")
            progress.note(f"{name}: is here already, so {options.own} was not looked at")
        elif options.own is not None:
            copies = find_copies(name, files, options.own, is_shared=not is_alone)
            _take_copies(name, missing, copies, options, progress)
        else:
            _refuse_without_pin(name, missing, options)
            for file in missing:
                urls = source.list_urls(file)
                if options.mirror:
                    urls = (f"{options.mirror.rstrip('/')}/{name}/{file.name}", *urls)
                target = locate_folder(name) / file.name
                digest = fetch_file(file, urls, target, progress, dataset=name)
                is_reported = len(files) <= _MAX_REPORTED_FILES
                _record_arrival(name, file, digest, progress if is_reported else None)
        place = find_download(name)
        if place is None:
            absent = [
                file.name
                for file in files
                if file.layer is None and check_presence(name, file) is not Presence.COMPLETE
            ]
            raise DownloadFailed(
                f"{name}: {format_names(absent)} is still missing; download it, or give it with "
                "--from"
            )
        progress.note(f"{name}: complete in {place}")


def _list_files(
    name: str, options: DownloadOptions, progress: DownloadProgress
) -> tuple[SourceFile, ...]:
    """List the files to download; those of a tree are listed by its host."""
    listing, files = find_source(name).listing, list_files(name)
    if listing is not None and options.own is not None:
        raise UsageError(
            f"--from: {name} is a tree of files that are not pinned; give your folder to a "
            "command with --data"
        )
    if listing is None or files:
        return files
    if not options.takes_unpinned:
        raise _make_pin_error(name, f"the files of {name}")
    files = fetch_listing(listing)
    if not files:
        raise DownloadFailed(f"{name}: {listing.url} lists no file")
    remember_files(name, listing.url, files)
    progress.note(f"{name}: {len(files):,} files are listed")
    return files


def _take_copies(
    name: str,
    missing: list[SourceFile],
    copies: dict[str, Path],
    options: DownloadOptions,
    progress: DownloadProgress,
) -> None:
    """Take over the given files; a missing optional layer is reported, not a failure."""
    own = [file for file in missing if file.name in copies]
    _refuse_without_pin(name, own, options)
    for file in own:
        digest = take_copy(file, copies[file.name], locate_folder(name) / file.name)
        _record_arrival(name, file, digest, progress)
    for file in missing:
        if file.name not in copies and file.layer is not None:
            progress.note(f"{file.name}: not given, so the layer {file.layer!r} stays absent")


def _record_arrival(
    name: str, file: SourceFile, digest: str, progress: DownloadProgress | None
) -> None:
    """Record and report a file; the report of an unpinned one has its digest, for pinning."""
    record_receipt(name, file, digest)
    if progress is None:
        return
    size = read_receipt(name, file).bytes
    if file.sha256 is not None:
        progress.note(f"{file.name}: {format_size(size)}, as pinned")
    else:
        expected = f", {file.bytes:,} were expected" if file.bytes not in (None, size) else ""
        progress.note(f"{file.name}: not pinned; {size:,} bytes{expected}, sha256 = {digest}")


def _refuse_without_pin(name: str, files: list[SourceFile], options: DownloadOptions) -> None:
    unpinned = [file.name for file in files if file.sha256 is None]
    if unpinned and not options.takes_unpinned and find_source(name).listing is None:
        raise _make_pin_error(name, format_names(unpinned))


def _make_pin_error(name: str, what: str) -> UsageError:
    return UsageError(
        f"{name}: no sha-256 of {what} was published, so the download cannot be checked; "
        "--unpinned takes it as it comes and prints what it is"
    )


@contextmanager
def _lock_dataset(name: str, progress: DownloadProgress) -> Iterator[None]:
    """Let one process at a time download; the next finds its files."""
    from filelock import FileLock, Timeout

    lock = FileLock(get_datasets_folder() / f"{name}.lock")
    try:
        get_datasets_folder().mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        progress.note(f"{name}: another process is downloading it; waiting")
        lock.acquire()
    except OSError as error:
        raise UsageError(
            f"{get_datasets_folder()} cannot be written ({error.strerror or error}); name another "
            "folder with RECALL_BENCH_CACHE"
        ) from error
    try:
        yield
    finally:
        lock.release()
