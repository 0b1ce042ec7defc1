"""The script that draws charts in a browser: Vega, Vega-Lite and what embeds them."""

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from recall_bench.errors import UsageError
from recall_bench.replacement import replace_file
from recall_bench.shipped import find_cache_folder

_EMBED_SCRIPT = "window.vegaEmbed = vegaEmbed;"


@cache
def load_vega_script() -> str:
    """All of it as one script that loads nothing.

    Bundling takes seconds, so the script is kept with what else is kept between runs.
    """
    kept = find_cache_folder() / "charting" / f"vl-convert-{version('vl-convert-python')}.js"
    known = _read_cache(kept)
    if known is not None:
        return known
    import vl_convert

    script = str(vl_convert.javascript_bundle(_EMBED_SCRIPT))
    try:
        replace_file(kept, f"// {_digest_script(script)}\n{script}".encode())
    except (OSError, UsageError):
        # A cache that cannot be written costs time and nothing else.
        return script
    return script


def _read_cache(path: Path) -> str | None:
    """The script if it is whole: one that was cut short would draw nothing."""
    try:
        first, _, script = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if first == f"// {_digest_script(script)}" else None


def _digest_script(script: str) -> str:
    return sha256(f"{_EMBED_SCRIPT}\n{script}".encode()).hexdigest()
