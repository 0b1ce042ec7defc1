"""The HTML document of a report: head, style sheet, scripts, and a strict content policy.

Scripts run only if their digest is in the policy, there is no `eval`, and nothing can be loaded:
neither the page nor any text of a system can reach a network.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.distribution import get_part_version
from recall_bench.core.errors import BenchError
from recall_bench.core.folders import find_cache_folder
from recall_bench.reporting.heatmap.colours import (
    ColourScale,
    choose_ink,
    colour_rate,
    colour_score,
)
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element

SCORE_STEPS: Final = 60
"""Steps of a tenth of a point."""
RATE_STEPS: Final = 50


def render_cell_classes() -> str:
    """Classes `.s0` to `.s60` for means and `.h0` to `.h50` for rates, in both colour scales."""
    return "".join(_list_classes())


def _list_classes() -> Iterator[str]:
    for scale in ColourScale:
        scope = "" if scale is ColourScale.STANDARD else f'[data-colours="{scale.value}"] '
        for step in range(SCORE_STEPS + 1):
            yield _format_class(f"{scope}.s{step}", colour_score(step / SCORE_STEPS, 1, scale))
        for step in range(RATE_STEPS + 1):
            yield _format_class(f"{scope}.h{step}", colour_rate(step / RATE_STEPS, scale))


def _format_class(selector: str, colour: str) -> str:
    return f"{selector}{{background:{colour};color:{choose_ink(colour)}}}\n"


_EMBED_SCRIPT = "window.vegaEmbed = vegaEmbed;"


@cache
def load_vega_script() -> str:
    """Vega, Vega-Lite and the embedding code as one script.

    Bundling takes seconds, so the script is cached between runs.
    """
    name = f"vl-convert-{get_part_version('vl-convert-python')}.js"
    path = find_cache_folder() / "charting" / name
    script_before = _read_cache(path)
    if script_before is not None:
        return script_before
    import vl_convert

    script = str(vl_convert.javascript_bundle(_EMBED_SCRIPT))
    try:
        replace_file(path, f"// {_digest_script(script)}\n{script}".encode())
    except (OSError, BenchError):
        # The cache is only for speed.
        return script
    return script


def _read_cache(path: Path) -> str | None:
    """The cached script, if it is complete."""
    try:
        first, _, script = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if first == f"// {_digest_script(script)}" else None


def _digest_script(script: str) -> str:
    return sha256(f"{_EMBED_SCRIPT}\n{script}".encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAssets:
    """The static files of a page, in the order of their dependencies: package and name of each."""

    styles: tuple[tuple[str, str], ...]
    scripts: tuple[tuple[str, str], ...]


_PAGES = __package__


def list_page_assets(*names: str) -> tuple[tuple[str, str], ...]:
    """These files among those of reports."""
    return tuple((_PAGES, name) for name in names)


REPORT_ASSETS: Final = PageAssets(
    styles=list_page_assets("base", "header", "sections", "heatmap", "table", "detail", "print"),
    scripts=list_page_assets(
        "dom",
        "blocks",
        "settings",
        "trials",
        "address",
        "tooltip",
        "heatmap",
        "charts",
        "filters",
        "virtual_list",
        "table",
        "passages",
        "trial_parts",
        "detail",
        "page",
    ),
)


def render_document(
    title: str,
    body: Markup,
    *,
    first: Markup,
    rest: Iterable[Markup],
    assets: PageAssets,
    charting: str = "",
    is_served: bool = False,
) -> Iterable[Markup]:
    """The whole page, piece by piece.

    The `first` blocks of data stand before the script, which needs them to start; it runs while the
    browser reads the `rest`. `charting` is the script that draws charts. A page that `is_served`
    may load data from its own server.
    """
    style, script = _load_style(assets), _load_script(assets)
    policy = _build_policy(style, script, charting, is_served=is_served)
    yield Markup("<!DOCTYPE html>\n")
    yield Markup('<html lang="en" data-colours="standard">\n')
    yield make_element(
        "head",
        make_element("meta", charset="utf-8"),
        make_element("meta", http_equiv="Content-Security-Policy", content=policy),
        make_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make_element("meta", name="referrer", content="no-referrer"),
        make_element("meta", name="color-scheme", content="light dark"),
        make_element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    opening = '<body data-served="yes">' if is_served else "<body>"
    yield join_markup(Markup(f"\n{opening}\n"), body, Markup("\n"))
    yield join_markup(first, Markup(f"<script>{script}</script>\n"))
    yield from rest
    yield Markup("</body>\n</html>\n")


def _build_policy(style: str, *scripts: str, is_served: bool = False) -> str:
    """The content policy of a page with these scripts; empty ones do not count."""
    sources = " ".join(_digest_source(script) for script in scripts if script)
    connect = "connect-src 'self'; " if is_served else ""
    return (
        f"default-src 'none'; script-src {sources}; style-src-elem {_digest_source(style)}; "
        # Charts position text by the style attribute, which cannot load anything.
        f"style-src-attr 'unsafe-inline'; {connect}base-uri 'none'; form-action 'none'"
    )


def _digest_source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _load_style(assets: PageAssets) -> str:
    parts = (_read_static(package, f"{name}.css") for package, name in assets.styles)
    return "\n".join([*parts, render_cell_classes()])


@cache
def _load_script(assets: PageAssets) -> str:
    parts = "\n".join(_read_static(package, f"{name}.js") for package, name in assets.scripts)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def _read_static(package: str, name: str) -> str:
    return files(package).joinpath("static", name).read_text(encoding="utf-8")
