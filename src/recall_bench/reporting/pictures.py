"""Pictures on disk: Vega-Lite charts drawn as PNG, SVG or PDF, with a text alternative."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any, Final
from unicodedata import east_asian_width
from xml.etree import ElementTree

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import clean_text

FONT: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
VEGA_LITE_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"

PICTURE_KINDS: Final = (".png", ".svg", ".pdf")

_PNG_SCALE = 2
"""Pixels of a PNG for each point of the drawing."""
_LETTER = 0.54
"""The mean width of a letter, as a share of the type size."""
_SVG = "http://www.w3.org/2000/svg"
_ARIA = ("role", "aria-label", "aria-roledescription", "aria-hidden")


def check_picture_path(path: Path) -> None:
    """Raise UsageError unless the name ends in a kind of picture that can be drawn."""
    if path.suffix.lower() not in PICTURE_KINDS:
        raise UsageError(f"{path}: a picture ends in .png, .svg or .pdf")


def write_picture(
    spec: Mapping[str, object],
    *paths: Path,
    title: str,
    summary: str,
    config: Mapping[str, object] | None = None,
) -> None:
    """Draw a Vega-Lite chart once, into files of the kinds that their names say."""
    import vl_convert

    for path in paths:
        check_picture_path(path)
    options: dict[str, Any] = {} if config is None else {"config": dict(config)}
    svg = vl_convert.vegalite_to_svg(dict(spec), allowed_base_urls=[], **options)
    for path in paths:
        match path.suffix.lower():
            case ".png":
                image = vl_convert.svg_to_png(svg, scale=_PNG_SCALE)
            case ".pdf":
                image = vl_convert.svg_to_pdf(svg)
            case _:
                image = describe_svg(svg, title, summary)
        replace_file(path, image)


def describe_svg(svg: str, title: str, summary: str) -> bytes:
    """Give a drawing its title and text alternative, and each labelled mark a tooltip.

    Vega writes the description of a mark as an ARIA label, which is read out and never shown.
    """
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own drawing
    for mark in root.iter():
        label = mark.attrib.get("aria-label")
        if label is not None and mark.attrib.get("role") == "graphics-symbol":
            ElementTree.SubElement(mark, f"{{{_SVG}}}title").text = label
        if mark.attrib.get("class", "").startswith(("mark-text", "mark-symbol")):
            # What lies on a cell must not hide its tooltip.
            mark.set("pointer-events", "none")
        for name in _ARIA:
            mark.attrib.pop(name, None)
    root.set("role", "img")
    for place, (tag, text) in enumerate((("title", title), ("desc", summary))):
        described = ElementTree.Element(f"{{{_SVG}}}{tag}")
        described.text = clean_text(text)
        root.insert(place, described)
    drawing: bytes = ElementTree.tostring(root, encoding="utf-8")
    return drawing


def estimate_width(text: str, size: float) -> float:
    """About how wide a text is in this type size."""
    letters = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    return letters * size * _LETTER


def wrap_lines(text: str, *, size: float, width: float) -> list[str]:
    """Break a text into lines of about this width; a separating dot never ends a line."""
    lines = wrap(clean_text(text), max(1, int(width / (size * _LETTER))), break_on_hyphens=False)
    return [line.removesuffix(" ·") for line in lines]
