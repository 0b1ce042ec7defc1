"""One published file: every place tried in turn, checked, and put where it belongs at once."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from recall_bench.datasets.sources import SourceFile
from recall_bench.downloading.digests import digest_file, format_size
from recall_bench.downloading.places import name_part_file
from recall_bench.downloading.transfer import (
    AddressFailed,
    ConnectionCut,
    PartialFile,
    discard_part,
    parse_host,
    receive_file,
)
from recall_bench.errors import DownloadFailed

_REOPENINGS = 20
"""How often a connection that keeps breaking is taken up again, as long as something arrives."""


class DownloadProgress(Protocol):
    """Whoever follows a download."""

    def update(self, what: str, done: int, total: int | None) -> None:
        """So many bytes of something are done, of so many, as far as that is known."""
        ...

    def note(self, line: str) -> None:
        """One line that stays."""
        ...


def fetch_file(
    file: SourceFile, urls: Iterable[str], target: Path, watch: DownloadProgress, *, dataset: str
) -> str:
    """Put the dataset's file at `target`, whole and as pinned; its sha-256.

    DownloadFailed tells what became of each address. What has arrived is kept beside the target.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    for url in urls:
        try:
            digest = _fetch_from(url, file, name_part_file(target), watch)
        except AddressFailed as failure:
            failures.append(f"{parse_host(url)} {failure}")
            watch.note(f"{file.name}: {failures[-1]}")
            continue
        _put_in_place(name_part_file(target), target)
        return digest
    told = "; ".join(failures) or "there is no address for it"
    raise DownloadFailed(
        f"{file.name} of {dataset} could not be downloaded: {told}. {_describe_remainder(name_part_file(target))}; "
        "--from takes a file you have, --mirror another address"
    )


def _put_in_place(part: Path, target: Path) -> None:
    """Make the whole part the file itself; a power cut leaves one or the other."""
    with part.open("r+b") as out:
        os.fsync(out.fileno())
    part.replace(target)
    discard_part(part)


def _fetch_from(url: str, file: SourceFile, part: Path, watch: DownloadProgress) -> str:
    """Make the part whole and check it; a wrong whole that began as an old part is begun anew."""
    was_begun = part.exists()
    _gather(url, file, part, watch)
    digest = digest_file(part, lambda done: watch.update(f"checking {file.name}", done, file.bytes))
    if file.sha256 in (None, digest):
        return digest
    discard_part(part)
    if was_begun:
        watch.note(f"{file.name}: what had arrived earlier does not fit; starting over")
        return _fetch_from(url, file, part, watch)
    raise AddressFailed(f"sends other bytes than those pinned (sha-256 {digest[:12]}…)")


def _gather(url: str, file: SourceFile, part: Path, watch: DownloadProgress) -> None:
    """Bring the part to its full length, taking a broken connection up again."""
    is_pinned = file.sha256 is not None
    # A length without a digest is hearsay: it is shown, and nothing is refused because of it.
    certain = file.bytes if is_pinned else None
    wanted = PartialFile(part=part, bytes=certain, is_pinned=is_pinned)
    if certain is not None and _measure_size(part) >= certain:
        return
    watch.note(f"{file.name}: {_describe_start(part, certain)} from {parse_host(url)}")
    for left in reversed(range(_REOPENINGS)):
        before = _measure_size(part)
        try:
            receive_file(url, wanted, lambda done, total: watch.update(file.name, done, total))
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
        return f"{format_size(kept)} of it are kept, and the same command goes on"
    return "The same command tries again"
