"""Refuses to write into a folder that holds files of others."""

from collections.abc import Collection
from pathlib import Path

from recall_bench.core.errors import UsageError


def refuse_other_files(folder: Path, own: Collection[str]) -> None:
    """UsageError if the folder holds anything but these names; hidden files are ignored."""
    if not folder.is_dir():
        return
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    foreign = [name for name in names if name not in own]
    if foreign:
        raise UsageError(
            f"{folder}: holds files that were not written here, such as {foreign[0]}; "
            "name an empty folder, or a new one"
        )
