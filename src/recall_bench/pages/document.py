"""The HTML document: its parts in order, and a policy under which nothing else can run.

Scripts run only if their digest is in the policy, there is no `eval`, and no address of any kind
may be loaded: neither the page nor anything a system said can reach a network.
"""

from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files

from recall_bench.pages.markup import Markup, element, joined
from recall_bench.pages.palette import cell_classes

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


def document(
    title: str, body: Markup, *, first: Markup, rest: Iterable[Markup], charting: str
) -> Iterable[Markup]:
    """The whole page, piece by piece.

    Of its blocks of data the `first` stand before the script, which needs them to start; it runs
    while the browser still reads the `rest`. `charting` is the script that draws charts.
    """
    style, script = _style(), _script()
    yield Markup("<!DOCTYPE html>\n")
    yield Markup('<html lang="en" data-colours="standard">\n')
    yield element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta", http_equiv="Content-Security-Policy", content=_policy(style, script, charting)
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    yield joined(Markup("\n<body>\n"), body, Markup("\n"))
    yield joined(first, Markup(f"<script>{script}</script>\n"))
    yield from rest
    yield Markup("</body>\n</html>\n")


def _policy(style: str, *scripts: str) -> str:
    sources = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {sources}; style-src-elem {_digest(style)}; "
        # Charts place their words by the style attribute; it can load nothing either.
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _style() -> str:
    return "\n".join([*(_static(f"{name}.css") for name in _STYLES), cell_classes()])


@cache
def _script() -> str:
    parts = "\n".join(_static(f"{name}.js") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def _static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")
