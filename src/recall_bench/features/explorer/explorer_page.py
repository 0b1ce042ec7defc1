"""The page of the explorer: one document, whose script shows the sections."""

from collections.abc import Iterable, Sequence
from typing import Final

from recall_bench.reporting.pages.document import PageAssets, list_page_assets, render_document
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element
from recall_bench.reporting.pages.page_body import render_navigation

INDEX: Final = "index.html"

_SECTIONS = (
    ("runs", "Runs"),
    ("compare", "Compare"),
    ("travel", "Time travel"),
    ("label", "Label"),
)

_OWN = tuple(
    (__package__, name)
    for name in ("runs", "panel", "question_list", "compare", "travel", "label", "explorer")
)

EXPLORER_ASSETS: Final = PageAssets(
    styles=(
        *list_page_assets("base", "header", "sections", "table", "detail"),
        (__package__, "explorer"),
    ),
    scripts=(
        *list_page_assets(
            *("dom", "blocks", "settings", "trials", "address", "tooltip", "passages"),
            *("trial_parts", "virtual_list"),
        ),
        *_OWN,
    ),
)


def render_explorer(
    title: str, *, is_served: bool, blocks: Iterable[Markup] = ()
) -> Iterable[Markup]:
    """The document, piece by piece; `blocks` are the data of one that has no server."""
    return render_document(
        f"{title} · Recall Bench",
        _render_body(title, _SECTIONS, is_served=is_served),
        first=Markup(""),
        rest=blocks,
        assets=EXPLORER_ASSETS,
        is_served=is_served,
    )


def render_reason(name: str, reason: str) -> Iterable[Markup]:
    """A document in place of the report of a run, which says why there is none."""
    body = make_element(
        "main",
        make_element("p", make_element("a", "All runs", href=f"../../{INDEX}#runs")),
        make_element("h1", name, class_="untrusted-text"),
        make_element("p", f"There is no report: {reason}", class_="notice loud untrusted-text"),
    )
    styles = EXPLORER_ASSETS.styles
    return render_document(
        f"{name} · Recall Bench",
        body,
        first=Markup(""),
        rest=(),
        assets=PageAssets(styles=styles, scripts=()),
        is_served=False,
    )


def _render_body(title: str, sections: Sequence[tuple[str, str]], *, is_served: bool) -> Markup:
    source = (
        "Served on this machine alone; nothing is loaded from elsewhere."
        if is_served
        else "This page loads nothing and sends nothing."
    )
    return join_markup(
        make_element("a", "Skip to the content", href="#view", class_="skip"),
        make_element(
            "header",
            make_element("p", "Recall Bench", class_="kicker"),
            make_element("p", title, class_="folder untrusted-text"),
            class_="masthead explorer",
        ),
        render_navigation(sections),
        make_element(
            "main",
            make_element(
                "noscript",
                make_element("p", "The explorer needs JavaScript.", class_="notice"),
            ),
            make_element("p", id="script-error", class_="notice loud", hidden=True, role="alert"),
            make_element("div", id="view", tabindex="-1"),
        ),
        make_element("footer", make_element("p", source)),
        make_element("div", id="tooltip", role="tooltip", hidden=True),
    )
