"""A whole dataset: its files from wherever they may come, one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from recall_bench.datasets.catalogue import find, public_datasets
from recall_bench.datasets.sources import SourceFile, source_of
from recall_bench.downloading.digests import size_words
from recall_bench.downloading.fetching import Watch, fetch
from recall_bench.downloading.own_copies import find_copies, some_of, take
from recall_bench.downloading.places import (
    Presence,
    datasets_folder,
    files_of,
    folder_of,
    give_receipt,
    located,
    presence_of,
    receipt_of,
    remember_files,
)
from recall_bench.downloading.transfer import check_address
from recall_bench.errors import BenchError, DownloadFailed, Problems, UsageError

ALL = "all"
"""Every dataset there is, where names of datasets are given."""

_TOLD = 30
"""Of a dataset with more files than this, files are not told one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Where files may come from, beside where they were published."""

    own: Path | None = None
    """A file or folder the user has; then nothing is fetched."""
    mirror: str | None = None
    """An address with `<dataset>/<file>` below it, tried before the published ones."""
    takes_unpinned: bool = False
    """Whether files are wanted that nobody can vouch for."""


def download(names: tuple[str, ...], ways: Ways, watch: Watch) -> None:
    """Bring every named dataset here. Problems, once all were tried, if any could not be had."""
    if ways.mirror is not None:
        check_address(ways.mirror)
    chosen = _chosen(names)
    failures: list[BenchError] = []
    for name in chosen:
        try:
            _download(name, ways, watch, is_alone=len(chosen) == 1)
        except BenchError as failure:
            failures.append(failure)
            if len(chosen) > 1:
                watch.say(f"{name}: failed")
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise Problems(failures)


def _chosen(names: tuple[str, ...]) -> tuple[str, ...]:
    """The datasets meant, each once; those without a download only if they were named."""
    if ALL not in names:
        return tuple(dict.fromkeys(find(name).name for name in names))
    if len(names) > 1:
        raise UsageError("name datasets or say all, not both")
    return tuple(dataset.name for dataset in public_datasets())


def _download(name: str, ways: Ways, watch: Watch, *, is_alone: bool) -> None:
    source = source_of(name)
    if not source.is_published:
        if is_alone:
            raise UsageError(f"{name} has no download; give your own files with --data")
        watch.say(f"{name}: has no download; its files are your own")
        return
    with _only_here(name, watch):
        files = _files(name, ways, watch)
        missing = [file for file in files if _is_missing(name, file, watch)]
        if missing and ways.own is not None:
            copies = find_copies(name, files, ways.own, is_shared=not is_alone)
            _take(name, missing, copies, ways, watch)
        elif ways.own is not None:
            if not ways.own.exists():
                raise UsageError(f"--from: there is no file or folder {ways.own}")
            watch.say(f"{name}: is here already, so {ways.own} was not looked at")
        elif missing:
            _refuse_unpinned(name, missing, ways)
            for file in missing:
                _fetch(name, file, ways, watch, is_told=len(files) <= _TOLD)
        place = located(name)
        if place is None:
            raise DownloadFailed(_incomplete(name, files))
        watch.say(f"{name}: complete in {place}")


def _files(name: str, ways: Ways, watch: Watch) -> tuple[SourceFile, ...]:
    """The files to be had; of a tree, after asking its host for the list of them."""
    listing = source_of(name).listing
    if listing is None:
        return files_of(name)
    if ways.own is not None:
        raise UsageError(
            f"--from: {name} is a tree of files that are not pinned; give your folder to a "
            "command with --data"
        )
    if not (known := files_of(name)):
        if not ways.takes_unpinned:
            raise UsageError(_unpinned(name, f"the files of {name}"))
        from recall_bench.downloading.listing import listed_files

        known = listed_files(listing)
        if not known:
            raise DownloadFailed(f"{name}: {listing.url} lists no file")
        remember_files(name, listing.url, known)
        watch.say(f"{name}: {len(known):,} files are listed")
    return known


def _is_missing(name: str, file: SourceFile, watch: Watch) -> bool:
    presence = presence_of(name, file)
    if presence is Presence.DIFFERS:
        watch.say(f"{file.name}: is here, and is not the file that was pinned; replacing it")
    return presence is not Presence.COMPLETE


def _take(
    name: str, missing: list[SourceFile], copies: dict[str, Path], ways: Ways, watch: Watch
) -> None:
    """Take over what was given; an optional layer that was not is told, and no failure."""
    given = [file for file in missing if file.name in copies]
    _refuse_unpinned(name, given, ways)
    for file in given:
        digest = take(file, copies[file.name], folder_of(name) / file.name)
        _arrived(name, file, digest, watch)
    for file in missing:
        if file.name not in copies and file.layer is not None:
            watch.say(f"{file.name}: not given, so the layer {file.layer!r} stays absent")


def _fetch(name: str, file: SourceFile, ways: Ways, watch: Watch, *, is_told: bool) -> None:
    mirror = (f"{ways.mirror.rstrip('/')}/{name}/{file.name}",) if ways.mirror else ()
    urls = mirror + source_of(name).urls_of(file)
    digest = fetch(file, urls, folder_of(name) / file.name, watch, dataset=name)
    if is_told:
        _arrived(name, file, digest, watch)
    else:
        give_receipt(name, file, digest)


def _arrived(name: str, file: SourceFile, digest: str, watch: Watch) -> None:
    """Put a file on record and say what it is; an unpinned one so that it can be pinned."""
    give_receipt(name, file, digest)
    size = receipt_of(name, file).bytes
    if file.sha256 is not None:
        watch.say(f"{file.name}: {size_words(size)}, as pinned")
    else:
        hearsay = f", {file.bytes:,} were expected" if file.bytes not in (None, size) else ""
        watch.say(f"{file.name}: not pinned; {size:,} bytes{hearsay}, sha256 = {digest}")


def _refuse_unpinned(name: str, missing: list[SourceFile], ways: Ways) -> None:
    unpinned = [file.name for file in missing if file.sha256 is None]
    if not unpinned or ways.takes_unpinned or source_of(name).listing is not None:
        return
    raise UsageError(_unpinned(name, some_of(unpinned)))


def _unpinned(name: str, what: str) -> str:
    return (
        f"{name}: nobody has published a sha-256 of {what}, so what arrives cannot be checked; "
        "--unpinned takes it as it comes and prints what it is"
    )


def _incomplete(name: str, files: tuple[SourceFile, ...]) -> str:
    absent = [
        file.name
        for file in files
        if file.layer is None and presence_of(name, file) is not Presence.COMPLETE
    ]
    return f"{name}: {some_of(absent)} is still missing; download it, or give it with --from"


@contextmanager
def _only_here(name: str, watch: Watch) -> Iterator[None]:
    """One process at a time; the second finds what the first has fetched."""
    from filelock import FileLock, Timeout

    lock = FileLock(datasets_folder() / f"{name}.lock")
    try:
        datasets_folder().mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        watch.say(f"{name}: another process is downloading it; waiting")
        lock.acquire()
    except OSError as error:
        raise UsageError(
            f"{datasets_folder()} cannot be written ({error.strerror or error}); name another "
            "folder with RECALL_BENCH_CACHE"
        ) from error
    try:
        yield
    finally:
        lock.release()
