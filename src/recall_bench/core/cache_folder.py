"""Where what can be made again is kept between runs."""

import os
import sys
from pathlib import Path

from recall_bench.core.errors import UsageError


def find_cache_folder() -> Path:
    """Where played personas are kept: `RECALL_BENCH_CACHE`, or the platform's cache folder."""
    if named := os.environ.get("RECALL_BENCH_CACHE"):
        return Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "recall-bench"


def make_cache_folder(folder: Path) -> None:
    """Make a folder of the cache; where that is impossible, say what to set."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileNotFoundError, NotADirectoryError, FileExistsError, PermissionError) as error:
        raise UsageError(
            f"{folder}: cannot be made ({error.strerror}); set RECALL_BENCH_CACHE to a folder that "
            "can be written to"
        ) from None
