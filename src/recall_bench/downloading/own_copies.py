"""Files the user already has: found, checked, and linked or copied to where downloads lie."""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from recall_bench.datasets.sources import SourceFile
from recall_bench.downloading.digests import CHUNK, digest_file, is_gzip, unpack_blocks
from recall_bench.downloading.places import list_digests, name_part_file
from recall_bench.downloading.transfer import discard_part
from recall_bench.errors import DataError, DownloadFailed, UsageError


def find_copies(
    name: str, files: tuple[SourceFile, ...], given: Path, *, is_shared: bool
) -> dict[str, Path]:
    """Which of a dataset's files were given, by name; what is missing is missing.

    A file is recognised by its bytes or, where there is no pin, by its name. In a folder they have
    their published names, with or without `.gz`, perhaps below the dataset's name; a folder that
    is meant for several datasets (`is_shared`) has one below each name.
    """
    if not given.exists():
        raise UsageError(f"--from: there is no {given}")
    if not given.is_dir():
        file = _recognise(name, files, given)
        return {file.name: given}
    folders = [given / name] if is_shared else [given / name, given]
    found: dict[str, Path] = {}
    for file in files:
        place = next((path for path in _list_places(folders, file) if path.is_file()), None)
        if place is not None:
            found[file.name] = place
    if not found:
        looked = " or ".join(str(folder) for folder in folders)
        names = format_names([file.name for file in files])
        raise UsageError(f"--from: nothing of {name} is in {looked}; it is to hold {names}")
    return found


def take_copy(file: SourceFile, given: Path, target: Path) -> str:
    """Put the given file at `target` if it is as pinned; its sha-256. DataError if it is not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.own")
    fresh.unlink(missing_ok=True)
    try:
        if is_gzip(given) and digest_file(given) != file.sha256:
            digest = _copy(unpack_blocks(given), fresh)
        else:
            digest = _link_or_copy(given.resolve(), fresh)
        if file.sha256 not in (None, digest):
            raise DataError(_describe_mismatch(file, given, digest))
        fresh.replace(target)
    except OSError as error:
        why = f"{given} could not be copied to {target} ({error.strerror})"
        raise DownloadFailed(f"{why}; the same command tries again") from error
    finally:
        fresh.unlink(missing_ok=True)
    discard_part(name_part_file(target))
    return digest


def format_names(names: list[str]) -> str:
    """A list of names that fits into a sentence."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest


def _recognise(name: str, files: tuple[SourceFile, ...], given: Path) -> SourceFile:
    digests = list_digests(given)
    for file in files:
        if file.sha256 in digests:
            return file
    named = given.name.removesuffix(".gz")
    for file in files:
        if named == Path(file.name).name or (file.layer is None and len(files) == 1):
            return file
    pinned = [file for file in files if file.sha256 is not None and file.layer is None]
    if len(pinned) == 1:
        raise DataError(_describe_mismatch(pinned[0], given, digests[-1]))
    names = format_names([file.name for file in files])
    raise UsageError(f"--from: {given} is no file of {name}, which has {names}")


def _describe_mismatch(file: SourceFile, given: Path, digest: str) -> str:
    return (
        f"{given} is not {file.name} as it was published: its sha-256 is {digest}, the pin is "
        f"{file.sha256}; give it to a command with --data if you mean this very file"
    )


def _list_places(folders: list[Path], file: SourceFile) -> Iterator[Path]:
    for folder in folders:
        yield folder / file.name
        yield folder / f"{file.name}.gz"


def _link_or_copy(given: Path, part: Path) -> str:
    """A second name for the same bytes where the disk can, which takes no room; else a copy."""
    try:
        part.hardlink_to(given)
    except OSError:
        with given.open("rb") as file:
            return _copy(iter(lambda: file.read(CHUNK), b""), part)
    return digest_file(part)


def _copy(blocks: Iterator[bytes], part: Path) -> str:
    total = sha256()
    with part.open("wb") as out:
        for block in blocks:
            out.write(block)
            total.update(block)
        out.flush()
        os.fsync(out.fileno())
    return total.hexdigest()
