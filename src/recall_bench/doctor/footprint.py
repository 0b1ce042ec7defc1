"""What a system leaves on disk while it is examined."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class DiskFootprint:
    """A scratch folder that takes everything written to the place for temporary files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def size(self) -> int:
        """Bytes in it at this moment."""
        total = 0
        for place, _, names in os.walk(self._folder):
            for name in names:
                try:
                    total += Path(place, name).lstat().st_size
                except FileNotFoundError:
                    continue
        return total


@contextmanager
def track_footprint() -> Iterator[DiskFootprint]:
    """While it lasts, temporary files of this process and its children go to one folder."""
    before, chosen = os.environ.get("TMPDIR"), tempfile.tempdir
    with tempfile.TemporaryDirectory(
        prefix="recall-bench-doctor-", ignore_cleanup_errors=True
    ) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield DiskFootprint(Path(folder))
        finally:
            tempfile.tempdir = chosen
            if before is None:
                os.environ.pop("TMPDIR", None)
            else:
                os.environ["TMPDIR"] = before
