"""The HTML document: its parts in order, and a policy under which nothing else can run.

Scripts run only if their digest is in the policy, there is no `eval`, and no address of any kind
may be loaded: neither the page nor anything a system said can reach a network.
"""

from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files

from recall_bench.pages.markup import Markup, join_markup, make_element
from recall_bench.pages.palette import render_cell_classes

_SCRIPTS = (
    "dom",
    "blocks",
    "settings",
    "trials",
    "address",
    "tooltip",
    "heatmap",
    "charts",
    "filters",
    "table",
    "passages",
    "detail",
    "page",
)
"""In the order they build on each other."""

_STYLES = ("base", "header", "sections", "heatmap", "table", "detail", "print")


def render_document(
    title: str, body: Markup, *, first: Markup, rest: Iterable[Markup], charting: str
) -> Iterable[Markup]:
    """The whole page, piece by piece.

    Of its blocks of data the `first` stand before the script, which needs them to start; it runs
    while the browser still reads the `rest`. `charting` is the script that draws charts.
    """
    style, script = _load_style(), _load_script()
    yield Markup("<!DOCTYPE html>\n")
    yield Markup('<html lang="en" data-colours="standard">\n')
    yield make_element(
        "head",
        make_element("meta", charset="utf-8"),
        make_element(
            "meta",
            http_equiv="Content-Security-Policy",
            content=_build_policy(style, script, charting),
        ),
        make_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make_element("meta", name="referrer", content="no-referrer"),
        make_element("meta", name="color-scheme", content="light dark"),
        make_element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    yield join_markup(Markup("\n<body>\n"), body, Markup("\n"))
    yield join_markup(first, Markup(f"<script>{script}</script>\n"))
    yield from rest
    yield Markup("</body>\n</html>\n")


def _build_policy(style: str, *scripts: str) -> str:
    sources = " ".join(_digest_source(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {sources}; style-src-elem {_digest_source(style)}; "
        # Charts place their words by the style attribute; it can load nothing either.
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def _digest_source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _load_style() -> str:
    return "\n".join([*(_read_static(f"{name}.css") for name in _STYLES), render_cell_classes()])


@cache
def _load_script() -> str:
    parts = "\n".join(_read_static(f"{name}.js") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def _read_static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")
