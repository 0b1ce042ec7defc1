"""YAML 1.2: dates, clock times, `No` and `on` are text.

PyYAML reads version 1.1, where a bare `2026-01-01` is a date, `6:30` is 390 and `017` is 15. Its C
parser is ten times faster than the available 1.2 parser, so it parses here, and the core schema of
1.2 decides what a plain scalar means.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recall_bench.core.errors import Malformed
from recall_bench.core.runtime import pause_collector
from recall_bench.core.untrusted_json import MAX_DEPTH, read_regular_file

if TYPE_CHECKING:
    from yaml import Node, ScalarNode, YAMLError

TAG = "tag:yaml.org,2002:"

_FLOAT = (
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
PATTERNS = {
    TAG + "null": re.compile(r"(?:null|Null|NULL|~|)\Z"),
    TAG + "bool": re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"),
    TAG + "int": re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z"),
    TAG + "float": re.compile(rf"(?:{_FLOAT})\Z"),
}
"""The plain scalars that are not text. Integers are tried before floats."""

FIRST = {
    TAG + "null": ["n", "N", "~", ""],
    TAG + "bool": list("tTfF"),
    TAG + "int": list("-+0123456789"),
    TAG + "float": list("-+.0123456789"),
}
"""How they begin."""

_LONGEST_NUMBER = 1000
"""Digits. Python prints no number of more than 4,300, and reads hexadecimal ones of any length."""


def _parse_integer(word: str) -> int:
    if len(word) > _LONGEST_NUMBER:
        raise ValueError("too many digits")
    return int(word, 0) if word[:2] in {"0o", "0x"} else int(word)


SCALARS: dict[str, Callable[[str], object]] = {
    TAG + "str": str,
    TAG + "null": lambda _: None,
    TAG + "bool": lambda word: word[0] in "tT",
    TAG + "int": _parse_integer,
    TAG + "float": lambda word: float(re.sub(r"\.(?=[iInN])", "", word)),
}
"""How the value of a word is read; raises ValueError for a number of too many digits."""

Key = str | int
"""One step into a document: the key of a mapping or the index of a list."""

_DEEPEST = 500
"""Collections within collections that the C parser can compose without overflowing its stack."""


_LARGEST = 2_000_000
"""Values of a file, those that aliases repeat included: a few lines can stand for billions."""


class Document:
    """A file's content, with the line of every part of it."""

    def __init__(self, name: str, source: str, *, keeps_lines: bool = False) -> None:
        self.name = name
        self._source = source
        self._children: dict[int, dict[object, tuple[int, Node]]] = {}
        self._root: Node | None = None
        with pause_collector():
            root = _compose(name, source)
            self.content = _Builder(name).build(root)
        # Nodes take several times the memory of values, and most documents are asked for no line.
        self._root = root if keeps_lines else None

    def find_line(self, *keys: Key) -> int:
        """Find the line of the part at these keys, or of the last part on the way that exists."""
        if self._root is None:
            with pause_collector():
                self._root = _compose(self.name, self._source)
        if self._root is None:
            return 1
        line: int = self._root.start_mark.line + 1
        node = self._root
        for key in keys:
            step = self._index_children(node).get(key)
            if step is None:
                break
            line, node = step
        return line

    def _index_children(self, node: "Node") -> "dict[object, tuple[int, Node]]":
        """The lines and nodes of a node's parts; a file may have problems in thousands of them."""
        if id(node) not in self._children:
            self._children[id(node)] = _index_children(node)
        return self._children[id(node)]

    def describe_place(self, *keys: Key) -> str:
        """Describe file and line for error messages."""
        return f"{self.name}, line {self.find_line(*keys)}"


def load_yaml(path: Path) -> object:
    """Load a YAML document; raises Malformed, with the line, if it is none."""
    return read_document(path).content


def read_document(path: Path, *, name: str | None = None, keeps_lines: bool = False) -> Document:
    """Parse a file; `name` is used in messages instead of the path.

    `keeps_lines` is for callers that need line numbers: otherwise the first such call parses the
    file again.
    """
    label = name or str(path)
    return Document(label, read_source(path, label), keeps_lines=keeps_lines)


def read_source(path: Path, name: str) -> str:
    """Read the text of a file; raises Malformed if it cannot be read."""
    try:
        raw = read_regular_file(path)
    except FileNotFoundError:
        raise Malformed(name, "the file does not exist; check the path") from None
    except OSError as error:
        raise Malformed(name, f"cannot be read ({error.strerror}); check the file") from error
    return decode_text(raw, name, "utf-8-sig")


def decode_text(raw: bytes, name: str, encoding: str = "utf-8") -> str:
    """Decode UTF-8; raises Malformed, with the line, where it is none."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise Malformed(
            f"{name}, line {line}",
            f"byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8",
        ) from None


@cache
def _make_loader() -> type:
    import yaml

    bare = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
    members = {"depth": 0, "descend_resolver": _descend, "ascend_resolver": _ascend}
    loader: type[yaml.resolver.BaseResolver] = type("CoreLoader", (bare,), members)
    for tag, pattern in PATTERNS.items():
        loader.add_implicit_resolver(tag, pattern, FIRST[tag])
    return loader


class _DepthCounter(Protocol):
    depth: int


def _descend(loader: _DepthCounter, _parent: object, _index: object) -> None:
    """Count the depth before a node is composed; C does not check whether its stack overflows."""
    loader.depth += 1
    if loader.depth > _DEEPEST:
        raise RecursionError


def _ascend(loader: _DepthCounter) -> None:
    loader.depth -= 1


def _compose(name: str, source: str) -> "Node | None":
    import yaml

    try:
        root: Node | None = _make_loader()(source).get_single_node()
    except yaml.YAMLError as error:
        raise _make_syntax_error(name, source, error) from None
    except RecursionError:
        raise _make_depth_error(name) from None
    return root


def _make_depth_error(name: str) -> Malformed:
    return Malformed(name, "is nested too deeply to be read; flatten it")


def _make_syntax_error(name: str, source: str, error: "YAMLError") -> Malformed:
    import yaml
    from yaml.reader import ReaderError

    if isinstance(error, ReaderError):
        line = source.count("\n", 0, error.position) + 1
        return Malformed(f"{name}, line {line}", "holds a control character; remove it")
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Malformed(name, f"is not YAML ({error}); correct it")
    problem = error.problem or "unreadable"
    if error.context and error.context_mark is not None:
        began = error.context_mark.line + 1
        problem = f"{error.context} that begins on line {began}, {problem}"
    # The end of the file counts as a line of its own, which no editor shows.
    line = min(error.problem_mark.line + 1, len(source.splitlines()) or 1)
    return Malformed(f"{name}, line {line}", f"is not YAML: {problem}; correct it there")


class _Builder:
    """Builds values from nodes. An alias shares the value of its anchor."""

    def __init__(self, name: str) -> None:
        from yaml import MappingNode, ScalarNode

        self._name = name
        self._built: dict[int, tuple[object, int]] = {}
        """Collections by their node, each with the number of values in it."""
        self._open: set[int] = set()
        self._size = 0
        self._scalar_node = ScalarNode
        self._mapping_node = MappingNode

    def build(self, root: "Node | None") -> object:
        """Build the value of a node; None for an empty file."""
        try:
            return None if root is None else self._build_value(root)
        except RecursionError:
            raise _make_depth_error(self._name) from None

    def _build_value(self, node: "Node") -> object:
        self._size += 1
        if isinstance(node, self._scalar_node):
            return self._build_scalar(node)
        place = id(node)
        if place in self._built:
            value, size = self._built[place]
            self._size += size
            if self._size > _LARGEST:
                raise self._make_error(node, f"aliases make more than {_LARGEST:,} values of it")
            return value
        if place in self._open:
            raise self._make_error(node, "an alias refers to what contains it; write the value out")
        if len(self._open) >= MAX_DEPTH:
            raise _make_depth_error(self._name)
        before = self._size
        self._open.add(place)
        value = self._build_collection(node)
        self._open.discard(place)
        self._built[place] = value, self._size - before
        return value

    def _build_collection(self, node: "Node") -> object:
        is_mapping = isinstance(node, self._mapping_node)
        if node.tag != TAG + ("map" if is_mapping else "seq"):
            raise self._make_tag_error(node)
        if isinstance(node, self._mapping_node):
            value: dict[object, object] = {}
            for key_node, value_node in node.value:
                if not isinstance(key_node, self._scalar_node):
                    raise self._make_error(
                        key_node, "a key is a list or a mapping; use a plain word"
                    )
                key = self._build_scalar(key_node)
                if key in value:
                    first, _ = _index_children(node)[key]
                    raise self._make_error(
                        key_node, f"the key {key!r} is given twice, first on line {first}; keep one"
                    )
                value[key] = self._build_value(value_node)
            return value
        return [self._build_value(part) for part in node.value]

    def _build_scalar(self, node: "ScalarNode") -> object:
        make = SCALARS.get(node.tag)
        if make is None:
            raise self._make_tag_error(node)
        pattern = PATTERNS.get(node.tag)
        try:
            if pattern is None or pattern.match(node.value):
                return make(node.value)
        except ValueError:
            pass  # more digits than an int may have; said below like any other bad number
        kind = node.tag.removeprefix(TAG)
        raise self._make_error(node, f"{node.value[:40]!r} cannot be read as {kind}; correct it")

    def _make_tag_error(self, node: "Node") -> Malformed:
        tag = node.tag.replace(TAG, "!!")
        return self._make_error(node, f"the tag {tag} is not supported here; remove it")

    def _make_error(self, node: "Node", problem: str) -> Malformed:
        return Malformed(f"{self._name}, line {node.start_mark.line + 1}", problem)


def _index_children(node: "Node") -> "dict[object, tuple[int, Node]]":
    from yaml import MappingNode, SequenceNode

    children: dict[object, tuple[int, Node]] = {}
    if isinstance(node, SequenceNode):
        children |= {
            place: (part.start_mark.line + 1, part) for place, part in enumerate(node.value)
        }
    if isinstance(node, MappingNode):
        for key_node, value_node in node.value:
            key = SCALARS[key_node.tag](key_node.value)
            children.setdefault(key, (key_node.start_mark.line + 1, value_node))
    return children
