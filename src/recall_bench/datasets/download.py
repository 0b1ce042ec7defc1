"""Downloads datasets, or takes over files that the user has, one process at a time."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from recall_bench.core.errors import BenchError, DataError, DownloadFailed, Problems, UsageError
from recall_bench.datasets.catalogue import SourceFile, find_dataset, find_source, list_datasets
from recall_bench.datasets.dataset_folder import (
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
from recall_bench.datasets.transfer import DownloadProgress, check_address, fetch_file


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
    chosen = _choose_datasets(names)
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


def _choose_datasets(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the chosen datasets, each once."""
    if ALL_DATASETS not in names:
        return tuple(dict.fromkeys(find_dataset(name).name for name in names))
    if len(names) > 1:
        raise UsageError("name datasets or all, not both")
    return tuple(dataset.name for dataset in list_datasets())


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
        missing = [file for file in files if _is_missing(name, file, progress)]
        if missing and options.own is not None:
            copies = find_copies(name, files, options.own, is_shared=not is_alone)
            _take_copies(name, missing, copies, options, progress)
        elif options.own is not None:
            if not options.own.exists():
                raise UsageError(f"--from: there is no file or folder {options.own}")
            progress.note(f"{name}: is here already, so {options.own} was not looked at")
        elif missing:
            _refuse_without_pin(name, missing, options)
            for file in missing:
                is_reported = len(files) <= _MAX_REPORTED_FILES
                mirror = (
                    (f"{options.mirror.rstrip('/')}/{name}/{file.name}",) if options.mirror else ()
                )
                urls = mirror + find_source(name).list_urls(file)
                digest = fetch_file(
                    file, urls, locate_folder(name) / file.name, progress, dataset=name
                )
                if is_reported:
                    _record_arrival(name, file, digest, progress)
                else:
                    record_receipt(name, file, digest)
        place = find_download(name)
        if place is None:
            raise DownloadFailed(_describe_missing(name, files))
        progress.note(f"{name}: complete in {place}")


def _list_files(
    name: str, options: DownloadOptions, progress: DownloadProgress
) -> tuple[SourceFile, ...]:
    """List the files to download; those of a tree are listed by its host."""
    listing = find_source(name).listing
    if listing is None:
        return list_files(name)
    if options.own is not None:
        raise UsageError(
            f"--from: {name} is a tree of files that are not pinned; give your folder to a "
            "command with --data"
        )
    if not (known := list_files(name)):
        if not options.takes_unpinned:
            raise UsageError(_format_pin_error(name, f"the files of {name}"))
        from recall_bench.datasets.transfer import fetch_listing

        known = fetch_listing(listing)
        if not known:
            raise DownloadFailed(f"{name}: {listing.url} lists no file")
        remember_files(name, listing.url, known)
        progress.note(f"{name}: {len(known):,} files are listed")
    return known


def _is_missing(name: str, file: SourceFile, progress: DownloadProgress) -> bool:
    presence = check_presence(name, file)
    if presence is Presence.DIFFERS:
        progress.note(f"{file.name}: is here, and is not the file that was pinned; replacing it")
    return presence is not Presence.COMPLETE


def _take_copies(
    name: str,
    missing: list[SourceFile],
    copies: dict[str, Path],
    options: DownloadOptions,
    progress: DownloadProgress,
) -> None:
    """Take over the given files; a missing optional layer is reported, not a failure."""
    given = [file for file in missing if file.name in copies]
    _refuse_without_pin(name, given, options)
    for file in given:
        digest = take_copy(file, copies[file.name], locate_folder(name) / file.name)
        _record_arrival(name, file, digest, progress)
    for file in missing:
        if file.name not in copies and file.layer is not None:
            progress.note(f"{file.name}: not given, so the layer {file.layer!r} stays absent")


def _record_arrival(name: str, file: SourceFile, digest: str, progress: DownloadProgress) -> None:
    """Record and report a file; the report of an unpinned one has its digest, for pinning."""
    record_receipt(name, file, digest)
    size = read_receipt(name, file).bytes
    if file.sha256 is not None:
        progress.note(f"{file.name}: {format_size(size)}, as pinned")
    else:
        expected = f", {file.bytes:,} were expected" if file.bytes not in (None, size) else ""
        progress.note(f"{file.name}: not pinned; {size:,} bytes{expected}, sha256 = {digest}")


def _refuse_without_pin(name: str, missing: list[SourceFile], options: DownloadOptions) -> None:
    unpinned = [file.name for file in missing if file.sha256 is None]
    if not unpinned or options.takes_unpinned or find_source(name).listing is not None:
        return
    raise UsageError(_format_pin_error(name, format_names(unpinned)))


def _format_pin_error(name: str, what: str) -> str:
    return (
        f"{name}: no sha-256 of {what} was published, so the download cannot be checked; "
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
