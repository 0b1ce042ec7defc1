"""A question file with some of its entries changed, and not another byte."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from recall_bench.errors import Malformed
from recall_bench.generate.checks.checker import Repair
from recall_bench.generate.checks.repairs import applied
from recall_bench.world.plain_yaml import scalar
from recall_bench.yaml12 import Document

if TYPE_CHECKING:
    from yaml import MappingNode, Node, SequenceNode

Cut = tuple[int, int, str]
"""Where a piece of the text begins and ends, and what takes its place."""


def edited(name: str, source: str, repairs: Mapping[int, Repair]) -> str:
    """The text of a list of questions with those at these places repaired.

    Malformed, by the file's name, if its entries hang together so that none can be changed alone.
    """
    content = Document(name, source).content
    rows: Sequence[object] = content if isinstance(content, list) else ()
    root = _composed(source)
    cuts = [
        cut for place, repair in repairs.items() for cut in _cuts(source, root, place, repair, rows)
    ]
    text = source
    for start, end, new in sorted(cuts, reverse=True):
        text = text[:start] + new + text[end:]
    wanted = [
        applied(row, repairs[place].changes) if place in repairs and isinstance(row, dict) else row
        for place, row in enumerate(rows)
        if place not in repairs or not repairs[place].removes
    ]
    if not _holds(name, text, wanted):
        raise Malformed(
            name, "uses anchors or other ties between its entries; write them out to have it mended"
        )
    return text


def _holds(name: str, text: str, wanted: list[object]) -> bool:
    try:
        return Document(name, text).content == wanted
    except Malformed:
        return False


def _composed(source: str) -> "SequenceNode":
    import yaml

    loader = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
    root: SequenceNode = yaml.compose(source, Loader=loader)
    return root


def _cuts(
    source: str, root: "SequenceNode", place: int, repair: Repair, rows: Sequence[object]
) -> Iterator[Cut]:
    node = root.value[place]
    row = rows[place]
    if repair.removes:
        yield _removal(source, root, place)
    elif node.flow_style or not isinstance(row, dict) or _loses_first(node, repair):
        indent = " " * node.start_mark.column
        yield (
            node.start_mark.index,
            _end(source, node),
            _written(applied(_texts(row), repair.changes), None if node.flow_style else indent),
        )
    else:
        yield from _changed(source, node, repair)


def _loses_first(node: "MappingNode", repair: Repair) -> bool:
    """Whether the key that stands behind the dash goes."""
    return repair.changes.get(node.value[0][0].value, "") is None


def _texts(row: object) -> dict[str, object]:
    return {str(key): value for key, value in row.items()} if isinstance(row, dict) else {}


def _written(entry: Mapping[str, object], indent: str | None) -> str:
    """A whole entry: on one line as JSON, or a line for each key."""
    if indent is None:
        return scalar(entry)
    return f"\n{indent}".join(f"{key}: {scalar(value)}" for key, value in entry.items())


def _changed(source: str, node: "MappingNode", repair: Repair) -> Iterator[Cut]:
    added = []
    there = {key.value: (key, value) for key, value in node.value}
    for name, value in repair.changes.items():
        if name not in there:
            added += [] if value is None else [f"{name}: {scalar(value)}"]
            continue
        key, old = there[name]
        if value is None:
            start = source.rfind("\n", 0, key.start_mark.index) + 1
            yield start, _line_end(source, _end(source, old), with_break=True), ""
        else:
            colon = source.index(":", key.end_mark.index) + 1
            yield colon, max(_end(source, old), colon), f" {scalar(value)}"
    if added:
        at = _line_end(source, _end(source, node), with_break=False)
        begin = ("\r\n" if "\r\n" in source else "\n") + " " * node.start_mark.column
        yield at, at, "".join(f"{begin}{line}" for line in added)


def _removal(source: str, root: "SequenceNode", place: int) -> Cut:
    node = root.value[place]
    if not root.flow_style:
        dash = source.rindex("-", 0, node.start_mark.index)
        start = source.rfind("\n", 0, dash) + 1
        return start, _line_end(source, _end(source, node), with_break=True), ""
    if place:
        return _end(source, root.value[place - 1]), _end(source, node), ""
    return node.start_mark.index, root.value[1].start_mark.index, ""


def _end(source: str, node: "Node") -> int:
    """Where the node's own text ends; the parser counts blank lines and comments after it in."""
    from yaml import CollectionNode, MappingNode

    start, end = node.start_mark.index, node.end_mark.index
    if not isinstance(node, CollectionNode):
        return start + len(source[start:end].rstrip())
    if node.flow_style or not node.value:
        return int(end)
    last = node.value[-1]
    return _end(source, last[1] if isinstance(node, MappingNode) else last)


def _line_end(source: str, at: int, *, with_break: bool) -> int:
    end = source.find("\n", at)
    if end < 0:
        return len(source)
    if with_break:
        return end + 1
    return end - 1 if source[end - 1] == "\r" and end > at else end
