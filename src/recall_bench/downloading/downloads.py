"""A whole dataset: its files from wherever they may come, one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from recall_bench.datasets.catalogue import find_dataset, list_datasets
from recall_bench.datasets.sources import SourceFile, find_source
from recall_bench.downloading.digests import format_size
from recall_bench.downloading.fetching import DownloadProgress, fetch_file
from recall_bench.downloading.own_copies import find_copies, format_names, take_copy
from recall_bench.downloading.places import (
    Presence,
    check_presence,
    find_download,
    get_datasets_folder,
    list_files,
    locate_folder,
    read_receipt,
    record_receipt,
    remember_files,
)
from recall_bench.downloading.transfer import check_address
from recall_bench.errors import BenchError, DownloadFailed, Problems, UsageError

ALL_DATASETS = "all"
"""Every dataset there is, where names of datasets are given."""

_TOLD = 30
"""Of a dataset with more files than this, files are not told one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadOptions:
    """Where files may come from, beside where they were published."""

    own: Path | None = None
    """A file or folder the user has; then nothing is fetched."""
    mirror: str | None = None
    """An address with `<dataset>/<file>` below it, tried before the published ones."""
    takes_unpinned: bool = False
    """Whether files are wanted that nobody can vouch for."""


def download(names: tuple[str, ...], ways: DownloadOptions, watch: DownloadProgress) -> None:
    """Bring every named dataset here. Problems, once all were tried, if any could not be had."""
    if ways.mirror is not None:
        check_address(ways.mirror)
    chosen = _choose_datasets(names)
    failures: list[BenchError] = []
    for name in chosen:
        try:
            _download_dataset(name, ways, watch, is_alone=len(chosen) == 1)
        except BenchError as failure:
            failures.append(failure)
            if len(chosen) > 1:
                watch.note(f"{name}: failed")
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise Problems(failures)


def _choose_datasets(names: tuple[str, ...]) -> tuple[str, ...]:
    """The datasets meant, each once; those without a download only if they were named."""
    if ALL_DATASETS not in names:
        return tuple(dict.fromkeys(find_dataset(name).name for name in names))
    if len(names) > 1:
        raise UsageError("name datasets or say all, not both")
    return tuple(dataset.name for dataset in list_datasets())


def _download_dataset(
    name: str, ways: DownloadOptions, watch: DownloadProgress, *, is_alone: bool
) -> None:
    source = find_source(name)
    if not source.is_published:
        if is_alone:
            raise UsageError(f"{name} has no download; give your own files with --data")
        watch.note(f"{name}: has no download; its files are your own")
        return
    with _lock_dataset(name, watch):
        files = _list_files(name, ways, watch)
        missing = [file for file in files if _is_missing(name, file, watch)]
        if missing and ways.own is not None:
            copies = find_copies(name, files, ways.own, is_shared=not is_alone)
            _take_copies(name, missing, copies, ways, watch)
        elif ways.own is not None:
            if not ways.own.exists():
                raise UsageError(f"--from: there is no file or folder {ways.own}")
            watch.note(f"{name}: is here already, so {ways.own} was not looked at")
        elif missing:
            _refuse_without_pin(name, missing, ways)
            for file in missing:
                _fetch(name, file, ways, watch, is_told=len(files) <= _TOLD)
        place = find_download(name)
        if place is None:
            raise DownloadFailed(_describe_missing(name, files))
        watch.note(f"{name}: complete in {place}")


def _list_files(
    name: str, ways: DownloadOptions, watch: DownloadProgress
) -> tuple[SourceFile, ...]:
    """The files to be had; of a tree, after asking its host for the list of them."""
    listing = find_source(name).listing
    if listing is None:
        return list_files(name)
    if ways.own is not None:
        raise UsageError(
            f"--from: {name} is a tree of files that are not pinned; give your folder to a "
            "command with --data"
        )
    if not (known := list_files(name)):
        if not ways.takes_unpinned:
            raise UsageError(_format_pin_error(name, f"the files of {name}"))
        from recall_bench.downloading.listing import fetch_listing

        known = fetch_listing(listing)
        if not known:
            raise DownloadFailed(f"{name}: {listing.url} lists no file")
        remember_files(name, listing.url, known)
        watch.note(f"{name}: {len(known):,} files are listed")
    return known


def _is_missing(name: str, file: SourceFile, watch: DownloadProgress) -> bool:
    presence = check_presence(name, file)
    if presence is Presence.DIFFERS:
        watch.note(f"{file.name}: is here, and is not the file that was pinned; replacing it")
    return presence is not Presence.COMPLETE


def _take_copies(
    name: str,
    missing: list[SourceFile],
    copies: dict[str, Path],
    ways: DownloadOptions,
    watch: DownloadProgress,
) -> None:
    """Take over what was given; an optional layer that was not is told, and no failure."""
    given = [file for file in missing if file.name in copies]
    _refuse_without_pin(name, given, ways)
    for file in given:
        digest = take_copy(file, copies[file.name], locate_folder(name) / file.name)
        _record_arrival(name, file, digest, watch)
    for file in missing:
        if file.name not in copies and file.layer is not None:
            watch.note(f"{file.name}: not given, so the layer {file.layer!r} stays absent")


def _fetch(
    name: str, file: SourceFile, ways: DownloadOptions, watch: DownloadProgress, *, is_told: bool
) -> None:
    mirror = (f"{ways.mirror.rstrip('/')}/{name}/{file.name}",) if ways.mirror else ()
    urls = mirror + find_source(name).list_urls(file)
    digest = fetch_file(file, urls, locate_folder(name) / file.name, watch, dataset=name)
    if is_told:
        _record_arrival(name, file, digest, watch)
    else:
        record_receipt(name, file, digest)


def _record_arrival(name: str, file: SourceFile, digest: str, watch: DownloadProgress) -> None:
    """Put a file on record and say what it is; an unpinned one so that it can be pinned."""
    record_receipt(name, file, digest)
    size = read_receipt(name, file).bytes
    if file.sha256 is not None:
        watch.note(f"{file.name}: {format_size(size)}, as pinned")
    else:
        hearsay = f", {file.bytes:,} were expected" if file.bytes not in (None, size) else ""
        watch.note(f"{file.name}: not pinned; {size:,} bytes{hearsay}, sha256 = {digest}")


def _refuse_without_pin(name: str, missing: list[SourceFile], ways: DownloadOptions) -> None:
    unpinned = [file.name for file in missing if file.sha256 is None]
    if not unpinned or ways.takes_unpinned or find_source(name).listing is not None:
        return
    raise UsageError(_format_pin_error(name, format_names(unpinned)))


def _format_pin_error(name: str, what: str) -> str:
    return (
        f"{name}: nobody has published a sha-256 of {what}, so what arrives cannot be checked; "
        "--unpinned takes it as it comes and prints what it is"
    )


def _describe_missing(name: str, files: tuple[SourceFile, ...]) -> str:
    absent = [
        file.name
        for file in files
        if file.layer is None and check_presence(name, file) is not Presence.COMPLETE
    ]
    return f"{name}: {format_names(absent)} is still missing; download it, or give it with --from"


@contextmanager
def _lock_dataset(name: str, watch: DownloadProgress) -> Iterator[None]:
    """One process at a time; the second finds what the first has fetched."""
    from filelock import FileLock, Timeout

    lock = FileLock(get_datasets_folder() / f"{name}.lock")
    try:
        get_datasets_folder().mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        watch.note(f"{name}: another process is downloading it; waiting")
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
