"""The values of a usual YAML document: without tags, without anchors, without mistakes.

They are built from the events of PyYAML's parser. The nodes that it can build too have lines for
error messages, but reading them takes half as long again and several times the memory.
"""

import marshal
from collections.abc import Callable
from hashlib import sha256
from threading import Lock
from typing import Any

import yaml

from recall_bench.core.untrusted_json import MAX_DEPTH
from recall_bench.core.yaml_scalars import FIRST, PATTERNS, SCALARS


class NotPlain(Exception):
    """The document has to be read from its nodes."""


_FIRST = frozenset(letter for letters in FIRST.values() for letter in letters)

_ENDS = frozenset([yaml.SequenceEndEvent, yaml.MappingEndEvent])

_NO_KEY = object()
"""The key of a list, and of a mapping that goes on with a key."""


class _KeptContents:
    """The contents of the documents read last, as bytes: each reader gets values of its own.

    A persona is read to be loaded, verified and linted; to copy its content takes a tenth of the
    time.
    """

    _FEWEST, _MOST = 1_000, 16_000_000
    """The characters from which a document is worth keeping, and bytes kept in all."""

    def __init__(self) -> None:
        self._packed: dict[bytes, bytes] = {}
        self._size = 0
        self._lock = Lock()

    def read(self, source: str, parse: Callable[[str], object]) -> object:
        """Copy the content of a document, or parse it."""
        if len(source) < self._FEWEST:
            return parse(source)
        name = sha256(source.encode("utf-8", "surrogatepass")).digest()
        packed = self._packed.get(name)
        if packed is not None:
            return marshal.loads(packed)  # noqa: S302 - packed below, by this process
        content: Any = parse(source)
        self._keep(name, marshal.dumps(content))
        return content

    def _keep(self, name: bytes, packed: bytes) -> None:
        if len(packed) > self._MOST // 4:
            return
        with self._lock:
            self._size += len(packed) - len(self._packed.pop(name, b""))
            self._packed[name] = packed
            while self._size > self._MOST:
                self._size -= len(self._packed.pop(next(iter(self._packed))))


_KEPT = _KeptContents()


def build_plain(source: str) -> object:
    """Build the value of a document, None if it is empty; raises NotPlain."""
    return _KEPT.read(source, _parse)


def _parse(source: str) -> object:
    try:
        parser = (yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader)(source)
        parser.get_event()
        if type(parser.get_event()) is yaml.StreamEndEvent:
            return None
        content = _build_document(parser.get_event)
        is_single = type(parser.get_event()) is yaml.StreamEndEvent
    except (yaml.YAMLError, ValueError):
        raise NotPlain from None
    if not is_single:
        raise NotPlain
    return content


def _build_document(parse: Callable[[], Any]) -> object:
    """Build the value of the next document, in one loop: calls would take a third of the time."""
    scalar, first, no_key = yaml.ScalarEvent, _FIRST, _NO_KEY
    around: list[Any] = []
    document: list[object] = []
    values: Any = document
    key = no_key
    while (kind := type(event := parse())) is not yaml.DocumentEndEvent:
        if kind in _ENDS:
            values = around.pop()
            continue
        if event.anchor is not None or event.tag is not None:
            raise NotPlain
        if kind is scalar:
            value = event.value
            if event.implicit[0] and value[:1] in first:
                value = _read_word(value)
        else:
            value = {} if kind is yaml.MappingStartEvent else []
        if key is not no_key:
            values[key] = value
            key = no_key
        elif type(values) is list:
            values.append(value)
        elif kind is scalar and value not in values:
            key = value
        else:
            raise NotPlain
        if kind is not scalar:
            around.append(values)
            values = value
            if len(around) > MAX_DEPTH:
                raise NotPlain
    return document[0]


def _read_word(word: str) -> object:
    for tag, pattern in PATTERNS.items():
        if pattern.match(word):
            return SCALARS[tag](word)
    return word
