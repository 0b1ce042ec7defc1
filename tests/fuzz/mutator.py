"""Changes to valid content: of its bytes, its lines, its cells or its tree.

A tree is changed by the text of its file: the value at one place is replaced by text that no
writer would produce, such as a number of 5,000 digits or 100,000 brackets.
"""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from random import Random
from typing import Any

from recall_bench.core.errors import BenchError
from recall_bench.core.yaml12 import Document
from recall_bench.core.yaml_writer import dump_yaml

Tree = Any
Place = tuple[Any, Any]
"""A list or a mapping, and the index or key of one of its values."""


class Format(StrEnum):
    """How the content of a file is to be changed."""

    JSON = "json"
    LINES = "lines of JSON"
    YAML = "yaml"
    CSV = "csv"
    TEXT = "text"
    BYTES = "bytes"


_MOST_BYTES = 1 << 20
"""Changes on top of each other make more of it."""

_MARKER = "@@fuzz@@"
_NUMBER_MARKER = '"@@fuzz@@"'

ODD_VALUES = (
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e308",
    "1e999",
    "-0.0",
    "NaN",
    "Infinity",
    "9223372036854775808",
    "-170141183460469231731687303715884105728",
    "9" * 400,
    "9" * 5000,
    "1" + "0" * 30 + "e-400",
    '""',
    '" "',
    '"0"',
    '"2024-02-30"',
    '"9999-12-31"',
    '"0001-01-01"',
    '"99999999999999999999d"',
    '"../../x"',
    '"/dev/zero"',
    '"\\u0000"',
    '"\\ud800"',
    '"\\u202e\\u0007\\u001b[31m"',
    '"{0} %s ${HOME}"',
    '"' + "x" * 200_000 + '"',
    '"' + "é\\n" * 5000 + '"',
    "[]",
    "{}",
    "[[]]",
    "[null]",
    '{"a": {"a": {}}}',
    "[" + "1," * 5000 + "1]",
    "[" * 70 + "]" * 70,
    "[" * 600 + "]" * 600,
    "[" * 3000 + "]" * 3000,
    "[" * 100_000,
    '{"a":' * 3000 + "1" + "}" * 3000,
    '{"a":' * 100_000,
)
"""Spellings of values, each of which is right in few places."""

_YAML_VALUES = (
    "!!python/object/apply:os.system [id]",
    "!!binary aGVsbG8=",
    "!unknown x",
    "*missing",
    "&a [*a]",
    "{<<: {a: 1}, <<: {b: 2}}",
    "2024-02-30",
    "0o777",
    "0x" + "f" * 5000,
    "1_000",
    "6:30",
    "No",
    "|\n  block\n",
    "? [a]\n: b",
    "@",
    "%",
    "'unclosed",
    '"\\x"',
)


def mutate(content: bytes, kind: Format, random: Random) -> bytes:
    """Change the content in one to three ways."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        change = random.choice(_CHANGES[kind])
        content = change(content, random)[:_MOST_BYTES]
    return content


def _flip_bits(content: bytes, random: Random) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _change_span(content: bytes, random: Random) -> bytes:
    start, end = sorted(random.randint(0, len(content)) for _ in range(2))
    end = min(end, start + random.choice((1, 4, 64, 4096)))
    span = content[start:end]
    inserted = random.choice(
        (b"", span * 2, span[::-1], b"\0" * len(span), random.randbytes(len(span)), b"\xff\xfe")
    )
    return content[:start] + inserted + content[end:]


def _truncate(content: bytes, random: Random) -> bytes:
    return content[: random.randint(0, len(content))]


def _encode_otherwise(content: bytes, random: Random) -> bytes:
    text = content.decode("utf-8", "replace")
    return random.choice(
        (
            b"\xef\xbb\xbf" + content,
            text.encode("utf-16"),
            text.encode("latin-1", "replace"),
            content.replace(b"\n", b"\r\n"),
            content.replace(b"\n", b"\r"),
            content.replace(b" ", b"\t", random.randint(1, 50)),
            content.replace(b"e", "é".encode("latin-1"), 1),
            gzip.compress(content, 1),
            b"",
            b"\n",
            content + b"\0",
            content + content,
            content + b"\n---\n" + content,
        )
    )


def _change_lines(content: bytes, random: Random) -> bytes:
    lines = content.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(7):
        case 0:
            lines[one], lines[other] = lines[other], lines[one]
        case 1:
            lines[one:one] = [lines[other]] * random.choice((1, 1, 2, 500))
        case 2:
            del lines[one]
        case 3:
            lines[one] = lines[one] * random.choice((2, 1000))
        case 4:
            lines[one] += b"x" * 150_000
        case 5:
            lines[one] = lines[one][: len(lines[one]) // 2]
        case _:
            lines[one] = random.choice((b"", b"\t", b"---", b"...", b"#", b" " * 2000, b"[" * 2000))
    return b"\n".join(lines)


def _swap_blocks(content: bytes, random: Random) -> bytes:
    """Change the order of blocks of 512 bytes, which is what an archive is made of."""
    blocks = [content[start : start + 512] for start in range(0, len(content), 512)] or [b""]
    one, other = random.randrange(len(blocks)), random.randrange(len(blocks))
    if random.random() < 0.5:
        blocks[one], blocks[other] = blocks[other], blocks[one]
    else:
        blocks.insert(one, blocks[other])
    return b"".join(blocks)


def _change_json(content: bytes, random: Random) -> bytes:
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return _change_span(content, random)
    return _write_changed(tree, random, ODD_VALUES, _dump_json)


def _change_json_line(content: bytes, random: Random) -> bytes:
    lines = content.split(b"\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if filled:
        number = random.choice(filled)
        lines[number] = _change_json(lines[number], random).replace(b"\n", b" ")
    return b"\n".join(lines)


def _change_yaml(content: bytes, random: Random) -> bytes:
    if b"*" in content:
        return _change_span(content, random)
    try:
        tree = Document("seed", content.decode()).content
    except (BenchError, UnicodeDecodeError):
        return _change_span(content, random)
    dump = _dump_json if random.random() < 0.3 else _dump_yaml
    return _write_changed(tree, random, ODD_VALUES + _YAML_VALUES, dump)


def _dump_json(tree: Tree) -> str:
    return json.dumps(tree, ensure_ascii=True)


def _dump_yaml(tree: Tree) -> str:
    try:
        return dump_yaml(tree)
    except (BenchError, TypeError, ValueError, UnicodeError):
        return _dump_json(tree)


def _write_changed(
    tree: Tree, random: Random, values: tuple[str, ...], dump: Callable[[Tree], str]
) -> bytes:
    places = list(_list_places(tree))
    if not places:
        return random.choice(values).encode("utf-8", "surrogatepass")
    owner, key = random.choice(places)
    spelled = random.choice(values)
    match random.randrange(10):
        case 0 | 1 | 2 | 3:
            owner[key] = _MARKER
        case 7 | 8:
            owner[key] = _vary(owner[key], random)
        case 4:
            spelled = _rearrange(owner, key, places, random)
        case 5:
            _add_unknown(owner, random)
        case 6:
            spelled = _repeat_key(owner, key, random, values)
        case _:
            owner[key] = [owner[key]] if random.random() < 0.5 else {"value": owner[key]}
    return _replace_marker(dump(tree), spelled).encode("utf-8", "surrogatepass")


def _vary(value: Tree, random: Random) -> Tree:
    """Another value of the same type, which a reader may well accept."""
    match value:
        case bool():
            return not value
        case int():
            return value + random.choice((-1, 1, 1000, -value))
        case float():
            return value * random.choice((-1, 0.5, 1e9))
        case str():
            words = [*value.split(" "), "é", "\u2028", "no", "\u200b", ""]
            return " ".join(random.sample(words, random.randint(0, len(words))))
        case list():
            return random.sample(value, random.randint(0, len(value))) + value[:1]
        case _:
            return value


def _replace_marker(text: str, spelled: str) -> str:
    for marker in (_NUMBER_MARKER, f"'{_MARKER}'", _MARKER):
        text = text.replace(marker, spelled)
    return text


def _rearrange(owner: Tree, key: Any, places: list[Place], random: Random) -> str:
    """Remove a value, swap two, or put one into another place."""
    other, there = random.choice(places)
    kept = json.dumps(owner[key])
    match random.randrange(3):
        case 0:
            del owner[key]
        case 1 if isinstance(owner, list):
            owner.insert(random.randint(0, len(owner)), owner[key])
        case _:
            other[there] = _MARKER
    return kept


def _add_unknown(owner: Tree, random: Random) -> None:
    name = random.choice(("unknown", "", "id", "type", "\x00", "é", "__class__", "x" * 5000))
    if isinstance(owner, dict):
        owner[name] = _MARKER
    else:
        owner.append(_MARKER)


def _repeat_key(owner: Tree, key: Any, random: Random, values: tuple[str, ...]) -> str:
    """Give a key twice, with another value the second time."""
    if not isinstance(owner, dict):
        owner[key] = _MARKER
        return random.choice(values)
    value = json.dumps(owner.pop(key))
    owner[key] = _MARKER
    again = random.choice((value, *values[:16]))
    return f"{value}, {json.dumps(key)}: {again}"


def _list_places(tree: Tree) -> Iterator[Place]:
    """The places of a tree, without recursion; aliases may make a small file a huge tree."""
    waiting, seen = [tree], set[int]()
    while waiting:
        owner = waiting.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        keys: Iterator[Any] = iter(())
        if isinstance(owner, dict):
            keys = iter(list(owner))
        elif isinstance(owner, list):
            keys = iter(range(min(len(owner), 50)))
        for key in keys:
            yield owner, key
            waiting.append(owner[key])


def _nest_yaml(content: bytes, random: Random) -> bytes:
    """Add what makes parsers of YAML slow, or values huge."""
    bomb = b"a: &a [x, x]\n" + b"".join(
        b"k%d: &b%d [*%s, *%s]\n" % (n, n, *((b"a", b"a") if not n else (b"b%d" % (n - 1),) * 2))
        for n in range(40)
    )
    return random.choice(
        (
            bomb + content,
            content + b"\n" + bomb,
            b"%YAML 1.1\n---\n" + content,
            b"? " * 1000 + content,
            b"- " * 1000 + content,
            b"[" * 20_000,
            b"{a: " * 20_000,
            b"".join(b" " * n + b"- a:\n" for n in range(300)),
            b"x: " + b"word " * 5000,
            b"x: [" + b"a, " * 5000 + b"]",
            b"x: '" + b"'' " * 5000 + b"'",
            b"".join(b"k%d: 1\n" % n for n in range(3000)),
            re.sub(rb"(?m)^(\s*)(\w+):", rb"\1&x \2:", content, count=3),
            content.replace(b": ", b":\t", 2),
        )
    )


def _change_cells(content: bytes, random: Random) -> bytes:
    csv.field_size_limit(10**9)
    try:
        rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    except (csv.Error, UnicodeDecodeError):
        return _change_span(content, random)
    if not rows or not rows[0]:
        return _change_span(content, random)
    row = random.choice(rows)
    cell = random.randrange(len(row)) if row else 0
    odd = random.choice((*ODD_VALUES, "", "\0", '"', 'a"b', "x\ny", "1" * 5000, "-1", "é" * 100))
    match random.randrange(5):
        case 0 | 1 if row:
            row[cell] = odd
        case 2 if row:
            del row[cell]
        case 3:
            row.append(odd)
        case _:
            rows.insert(random.randrange(len(rows) + 1), random.choice(rows))
    written = io.StringIO(newline="")
    csv.writer(written).writerows(rows)
    return written.getvalue().encode("utf-8", "surrogatepass")


Change = Callable[[bytes, Random], bytes]

_PLAIN: tuple[Change, ...] = (_flip_bits, _change_span, _truncate)
_TEXTUAL: tuple[Change, ...] = (*_PLAIN, _encode_otherwise, _change_lines)

_CHANGES: dict[Format, tuple[Change, ...]] = {
    Format.JSON: (*_TEXTUAL, *(_change_json,) * 7),
    Format.LINES: (*_TEXTUAL, _change_lines, *(_change_json_line,) * 6),
    Format.YAML: (*_TEXTUAL, _nest_yaml, *(_change_yaml,) * 6),
    Format.CSV: (*_TEXTUAL, *(_change_cells,) * 5),
    Format.TEXT: _TEXTUAL,
    Format.BYTES: (*_PLAIN, _swap_blocks),
}
