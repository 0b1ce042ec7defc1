"""Templates: text with alternatives and placeholders, and the marks a filled one leaves.

`[a|b]` is one of two, `{fee}` a value, `{owner.they}` a form of it. A bracket without a bar is
just a bracket.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from recall_bench.generate.world.random_stream import RandomStream, ShuffleBag

_PLACEHOLDER = re.compile(r"\{(@?[A-Za-z][\w:–-]*)(?:\.(\w+))?\}|\{([nt]:[\d:.-]+|date:\d+)\}")
_STARTS_SENTENCE = re.compile(r"(?:^|[.!?][\"”’)]*\s+|\n(?:[->] )?[\"“]?)$")
_LOOK_BACK = 8
_VOWEL = re.compile(r"[aeio]|u(?!ni|se|su|ti|ro)|8|11\b|18\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A hole in the text: which value, and in which form."""

    name: str
    form: str = ""


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several pieces of text; `number` tells them apart within their template."""

    number: int
    pieces: "tuple[tuple[Node, ...], ...]"


Node = str | Placeholder | Alternatives


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A parsed template. Two with equal source draw their alternatives alike."""

    source: str
    nodes: tuple[Node, ...]

    def list_placeholders(self) -> Iterator[Placeholder]:
        """Every hole anywhere in it."""
        return _iterate_placeholders(self.nodes)


@dataclass(frozen=True, slots=True)
class PlaceholderValue:
    """What goes into a hole: the text, and what it states, if it is a fact."""

    text: str
    states: str | None = None
    """The slot it is the current value of."""


class PlaceholderResolver(Protocol):
    """Knows what the holes mean at one moment of one thread."""

    def fill(self, hole: Placeholder) -> PlaceholderValue:
        """What goes into the hole."""
        ...


@dataclass(frozen=True, slots=True)
class ValueMark:
    """Where a value stands in a piece of text."""

    slot: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FilledText:
    """A filled template."""

    text: str
    marks: tuple[ValueMark, ...] = ()


def parse_template(source: str) -> TextTemplate:
    """The template this text is; it has no wrong form: what is not a placeholder is text."""
    return TextTemplate(source, _TemplateParser(source).parse_all())


class AlternativePicker:
    """Draws alternatives so that all are used before one comes back."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._bags: dict[tuple[str, int, int], ShuffleBag] = {}

    def render(self, template: TextTemplate, filler: PlaceholderResolver) -> FilledText:
        """The template with every choice made and every hole filled."""
        teller = _TemplateRenderer(self, template.source, filler)
        teller.render_nodes(template.nodes)
        return FilledText("".join(teller.pieces), tuple(teller.marks))

    def pick_index(self, source: str, number: int, size: int) -> int:
        """Which of `size` alternatives comes next at this place."""
        key = (source, number, size)
        bag = self._bags.get(key)
        if bag is None:
            bag = self._bags[key] = ShuffleBag(
                size, RandomStream(self._seed, "deck", source, number)
            )
        return bag.draw()


class _TemplateRenderer:
    def __init__(self, deck: AlternativePicker, source: str, filler: PlaceholderResolver) -> None:
        self._deck = deck
        self._source = source
        self._filler = filler
        self._length = 0
        self.pieces: list[str] = []
        self.marks: list[ValueMark] = []

    def render_nodes(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, str):
                self._append(node)
            elif isinstance(node, Placeholder):
                self._fill_placeholder(node)
            else:
                size = len(node.pieces)
                self.render_nodes(
                    node.pieces[self._deck.pick_index(self._source, node.number, size)]
                )

    def _fill_placeholder(self, hole: Placeholder) -> None:
        filling = self._filler.fill(hole)
        text = filling.text
        before = "".join(self.pieces[-3:])[-_LOOK_BACK:]
        if _STARTS_SENTENCE.search(before):
            text = capitalise(text)
        elif re.search(r"\b[Aa] $", before) and _VOWEL.match(text):
            self.pieces[-1] = self.pieces[-1][:-1] + "n "
            self._length += 1
        if filling.states is not None:
            self.marks.append(ValueMark(filling.states, self._length, self._length + len(text)))
        self._append(text)

    def _append(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self._length += len(text)


def capitalise(text: str) -> str:
    """The text with a capital, unless its first word is an identifier: `ledger-api2` stays."""
    is_word = re.match(r"[a-z]+(?:[’'-][a-z]+)*(?=[\s,.;:!?]|$)", text)
    return text[0].upper() + text[1:] if is_word else text


def _iterate_placeholders(nodes: tuple[Node, ...]) -> Iterator[Placeholder]:
    for node in nodes:
        if isinstance(node, Placeholder):
            yield node
        elif isinstance(node, Alternatives):
            for piece in node.pieces:
                yield from _iterate_placeholders(piece)


class _TemplateParser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._count = 0

    def parse_all(self) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while self._at < len(self._source):
            nodes += self._parse_until(stop="")
        return _join_text(nodes)

    def _parse_until(self, stop: str) -> list[Node]:
        """Nodes up to one of the stop characters or the end."""
        nodes: list[Node] = []
        while self._at < len(self._source):
            char = self._source[self._at]
            if char in stop:
                break
            if char == "[":
                nodes += self._parse_bracket()
            elif char == "{" and (match := _PLACEHOLDER.match(self._source, self._at)):
                nodes.append(Placeholder(match[1] or match[3], match[2] or ""))
                self._at = match.end()
            else:
                nodes.append(char)
                self._at += 1
        return nodes

    def _parse_bracket(self) -> list[Node]:
        opened = self._at
        self._at += 1
        number = self._count
        self._count += 1
        pieces = [self._parse_until(stop="|]")]
        while self._at < len(self._source) and self._source[self._at] == "|":
            self._at += 1
            pieces.append(self._parse_until(stop="|]"))
        if self._at >= len(self._source):
            self._at = opened + 1
            return ["["]
        self._at += 1
        if len(pieces) == 1:
            return ["[", *pieces[0], "]"]
        return [Alternatives(number, tuple(_join_text(piece) for piece in pieces))]


def _join_text(nodes: list[Node]) -> tuple[Node, ...]:
    """The nodes with neighbouring text run together."""
    joined: list[Node] = []
    for node in nodes:
        if isinstance(node, str) and joined and isinstance(joined[-1], str):
            joined[-1] += node
        else:
            joined.append(node)
    return tuple(joined)
