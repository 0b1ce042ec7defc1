"""The script that draws charts in a browser: Vega, Vega-Lite and what embeds them."""

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from recall_bench.errors import UsageError
from recall_bench.replacement import replace_file
from recall_bench.shipped import cache_folder

_EMBEDDED = "window.vegaEmbed = vegaEmbed;"


@cache
def charting_script() -> str:
    """All of it as one script that loads nothing.

    Bundling takes seconds, so the script is kept with what else is kept between runs.
    """
    kept = cache_folder() / "charting" / f"vl-convert-{version('vl-convert-python')}.js"
    known = _kept(kept)
    if known is not None:
        return known
    import vl_convert

    script = str(vl_convert.javascript_bundle(_EMBEDDED))
    try:
        replace_file(kept, f"// {_digest(script)}\n{script}".encode())
    except (OSError, UsageError):
        # A cache that cannot be written costs time and nothing else.
        return script
    return script


def _kept(path: Path) -> str | None:
    """The script if it is whole: one that was cut short would draw nothing."""
    try:
        first, _, script = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if first == f"// {_digest(script)}" else None


def _digest(script: str) -> str:
    return sha256(f"{_EMBEDDED}\n{script}".encode()).hexdigest()
