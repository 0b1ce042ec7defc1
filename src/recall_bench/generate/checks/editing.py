"""A question file with some of its entries changed, and not another byte."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from recall_bench.errors import Malformed
from recall_bench.generate.checks.checker import QuestionRepair
from recall_bench.generate.checks.repairs import apply_changes
from recall_bench.world.plain_yaml import format_scalar
from recall_bench.yaml12 import Document

if TYPE_CHECKING:
    from yaml import MappingNode, Node, SequenceNode

Cut = tuple[int, int, str]
"""Where a piece of the text begins and ends, and what takes its place."""


def rewrite_questions(name: str, source: str, repairs: Mapping[int, QuestionRepair]) -> str:
    """The text of a list of questions with those at these places repaired.

    Malformed, by the file's name, if its entries hang together so that none can be changed alone.
    """
    content = Document(name, source).content
    rows: Sequence[object] = content if isinstance(content, list) else ()
    root = _compose_nodes(source)
    cuts = [
        cut
        for place, repair in repairs.items()
        for cut in _list_cuts(source, root, place, repair, rows)
    ]
    text = source
    for start, end, new in sorted(cuts, reverse=True):
        text = text[:start] + new + text[end:]
    wanted = [
        apply_changes(row, repairs[place].changes)
        if place in repairs and isinstance(row, dict)
        else row
        for place, row in enumerate(rows)
        if place not in repairs or not repairs[place].removes
    ]
    if not _is_content(name, text, wanted):
        raise Malformed(
            name, "uses anchors or other ties between its entries; write them out to have it mended"
        )
    return text


def _is_content(name: str, text: str, wanted: list[object]) -> bool:
    try:
        return Document(name, text).content == wanted
    except Malformed:
        return False


def _compose_nodes(source: str) -> "SequenceNode":
    import yaml

    loader = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
    root: SequenceNode = yaml.compose(source, Loader=loader)
    return root


def _list_cuts(
    source: str, root: "SequenceNode", place: int, repair: QuestionRepair, rows: Sequence[object]
) -> Iterator[Cut]:
    node = root.value[place]
    row = rows[place]
    if repair.removes:
        yield _cut_entry(source, root, place)
    elif node.flow_style or not isinstance(row, dict) or _is_losing_first_key(node, repair):
        indent = " " * node.start_mark.column
        yield (
            node.start_mark.index,
            _find_end(source, node),
            _render_entry(
                apply_changes(_convert_keys(row), repair.changes),
                None if node.flow_style else indent,
            ),
        )
    else:
        yield from _update_fields(source, node, repair)


def _is_losing_first_key(node: "MappingNode", repair: QuestionRepair) -> bool:
    """Whether the key that stands behind the dash goes."""
    return repair.changes.get(node.value[0][0].value, "") is None


def _convert_keys(row: object) -> dict[str, object]:
    return {str(key): value for key, value in row.items()} if isinstance(row, dict) else {}


def _render_entry(entry: Mapping[str, object], indent: str | None) -> str:
    """A whole entry: on one line as JSON, or a line for each key."""
    if indent is None:
        return format_scalar(entry)
    return f"\n{indent}".join(f"{key}: {format_scalar(value)}" for key, value in entry.items())


def _update_fields(source: str, node: "MappingNode", repair: QuestionRepair) -> Iterator[Cut]:
    added = []
    there = {key.value: (key, value) for key, value in node.value}
    for name, value in repair.changes.items():
        if name not in there:
            added += [] if value is None else [f"{name}: {format_scalar(value)}"]
            continue
        key, old = there[name]
        if value is None:
            start = source.rfind("\n", 0, key.start_mark.index) + 1
            yield start, _find_line_end(source, _find_end(source, old), with_break=True), ""
        else:
            colon = source.index(":", key.end_mark.index) + 1
            yield colon, max(_find_end(source, old), colon), f" {format_scalar(value)}"
    if added:
        at = _find_line_end(source, _find_end(source, node), with_break=False)
        begin = ("\r\n" if "\r\n" in source else "\n") + " " * node.start_mark.column
        yield at, at, "".join(f"{begin}{line}" for line in added)


def _cut_entry(source: str, root: "SequenceNode", place: int) -> Cut:
    node = root.value[place]
    if not root.flow_style:
        dash = source.rindex("-", 0, node.start_mark.index)
        start = source.rfind("\n", 0, dash) + 1
        return start, _find_line_end(source, _find_end(source, node), with_break=True), ""
    if place:
        return _find_end(source, root.value[place - 1]), _find_end(source, node), ""
    return node.start_mark.index, root.value[1].start_mark.index, ""


def _find_end(source: str, node: "Node") -> int:
    """Where the node's own text ends; the parser counts blank lines and comments after it in."""
    from yaml import CollectionNode, MappingNode

    start, end = node.start_mark.index, node.end_mark.index
    if not isinstance(node, CollectionNode):
        return start + len(source[start:end].rstrip())
    if node.flow_style or not node.value:
        return int(end)
    last = node.value[-1]
    return _find_end(source, last[1] if isinstance(node, MappingNode) else last)


def _find_line_end(source: str, at: int, *, with_break: bool) -> int:
    end = source.find("\n", at)
    if end < 0:
        return len(source)
    if with_break:
        return end + 1
    return end - 1 if source[end - 1] == "\r" and end > at else end
