"""One published file: every place tried in turn, checked, and put where it belongs at once."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from recall_bench.datasets.sources import SourceFile
from recall_bench.downloading.digests import digest_of, size_words
from recall_bench.downloading.places import part_of
from recall_bench.downloading.transfer import (
    Cut,
    PlaceFailed,
    Wanted,
    forget,
    host_of,
    transfer,
)
from recall_bench.errors import DownloadFailed

_REOPENINGS = 20
"""How often a connection that keeps breaking is taken up again, as long as something arrives."""


class Watch(Protocol):
    """Whoever follows a download."""

    def at(self, what: str, done: int, total: int | None) -> None:
        """So many bytes of something are done, of so many, as far as that is known."""
        ...

    def say(self, line: str) -> None:
        """One line that stays."""
        ...


def fetch(
    file: SourceFile, urls: Iterable[str], target: Path, watch: Watch, *, dataset: str
) -> str:
    """Put the dataset's file at `target`, whole and as pinned; its sha-256.

    DownloadFailed tells what became of each address. What has arrived is kept beside the target.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    for url in urls:
        try:
            digest = _fetch_from(url, file, part_of(target), watch)
        except PlaceFailed as failure:
            failures.append(f"{host_of(url)} {failure}")
            watch.say(f"{file.name}: {failures[-1]}")
            continue
        _put_in_place(part_of(target), target)
        return digest
    told = "; ".join(failures) or "there is no address for it"
    raise DownloadFailed(
        f"{file.name} of {dataset} could not be downloaded: {told}. {_keeping(part_of(target))}; "
        "--from takes a file you have, --mirror another address"
    )


def _put_in_place(part: Path, target: Path) -> None:
    """Make the whole part the file itself; a power cut leaves one or the other."""
    with part.open("r+b") as out:
        os.fsync(out.fileno())
    part.replace(target)
    forget(part)


def _fetch_from(url: str, file: SourceFile, part: Path, watch: Watch) -> str:
    """Make the part whole and check it; a wrong whole that began as an old part is begun anew."""
    was_begun = part.exists()
    _gather(url, file, part, watch)
    digest = digest_of(part, lambda done: watch.at(f"checking {file.name}", done, file.bytes))
    if file.sha256 in (None, digest):
        return digest
    forget(part)
    if was_begun:
        watch.say(f"{file.name}: what had arrived earlier does not fit; starting over")
        return _fetch_from(url, file, part, watch)
    raise PlaceFailed(f"sends other bytes than those pinned (sha-256 {digest[:12]}…)")


def _gather(url: str, file: SourceFile, part: Path, watch: Watch) -> None:
    """Bring the part to its full length, taking a broken connection up again."""
    is_pinned = file.sha256 is not None
    # A length without a digest is hearsay: it is shown, and nothing is refused because of it.
    certain = file.bytes if is_pinned else None
    wanted = Wanted(part=part, bytes=certain, is_pinned=is_pinned)
    if certain is not None and _size(part) >= certain:
        return
    watch.say(f"{file.name}: {_beginning(part, certain)} from {host_of(url)}")
    for left in reversed(range(_REOPENINGS)):
        before = _size(part)
        try:
            transfer(url, wanted, lambda done, total: watch.at(file.name, done, total))
            return
        except Cut:
            if left == 0 or _size(part) <= before:
                raise


def _beginning(part: Path, total: int | None) -> str:
    size = size_words(total) if total is not None else "fetching"
    kept = _size(part)
    return f"{size}, going on after {size_words(kept)}," if kept else size


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _keeping(part: Path) -> str:
    if kept := _size(part):
        return f"{size_words(kept)} of it are kept, and the same command goes on"
    return "The same command tries again"
