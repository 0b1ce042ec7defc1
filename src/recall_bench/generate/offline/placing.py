"""Files that are put into a persona's folder so that a death at any moment leaves no doubt."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from recall_bench.errors import UsageError
from recall_bench.replacement import replace_file


def remove_sibling_folders(folder: Path) -> None:
    """Remove what a killed run was about to put in the folder's place, or had just taken away."""
    for left in _name_siblings(folder):
        shutil.rmtree(left, ignore_errors=True)


def replace_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put these files, and no others, into the folder: all of them, or it is as before or gone.

    It is gone only if the process dies between two renamings; then the same call makes it anew.
    """
    new, old = _name_siblings(folder)
    remove_sibling_folders(folder)
    try:
        for name, content in files.items():
            replace_file(new / name, content)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror or error})") from error
    remove_sibling_folders(folder)


def _name_siblings(folder: Path) -> tuple[Path, Path]:
    return folder.with_name(f".{folder.name}.new"), folder.with_name(f".{folder.name}.old")


def is_folder_of(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Whether the folder has these files, to the byte; others may be there too."""
    return all(is_file_of(folder / name, content) for name, content in files.items())


def is_file_of(path: Path, content: bytes) -> bool:
    """Whether the file is there and holds just this."""
    try:
        return path.read_bytes() == content
    except OSError:
        return False
