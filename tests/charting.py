"""The script that draws the charts of pages: to put it together takes seconds."""

import shutil
from pathlib import Path

from recall_bench.core.folders import find_cache_folder
from recall_bench.reporting.pages.document import load_vega_script


def copy_vega_script(cache: Path) -> None:
    """Give a cache of its own the script of the cache that tests share."""
    # Not what this process remembers: it may have put it together for another cache.
    load_vega_script.__wrapped__()
    shutil.copytree(find_cache_folder() / "charting", cache / "charting")
