"""Templates: text with alternatives and placeholders, and the positions of filled values.

`[a|b]` is one of two, `{fee}` a value, `{owner.they}` a form of it. A bracket without a bar is
plain text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import msgspec

from recall_bench.core.random_stream import RandomStream, ShuffleBag

_PLACEHOLDER = re.compile(
    r"\{(@?[A-Za-z][\w:–-]*)(?:\.([\w-]+(?:\.\w+)?))?\}|\{([nt]:[\d:.-]+|date:\d+)\}"
)
_TEXT = re.compile(r"[^\[\]{|]+")
_STARTS_SENTENCE = re.compile(r"(?:^|[.!?][\"”’)]*\s+|\n(?:[->] )?[\"“]?)$")
_LOOK_BACK = 8
_ARTICLES = ("a ", "A ")
_ARTICLE = re.compile(r"\b[Aa] $")
_LOWER_WORD = re.compile(r"[a-z]+(?:[’'-][a-z]+)*(?=[\s,.;:!?]|$)")
_VOWEL = re.compile(r"[aeio]|u(?!ni|se|su|ti|ro)|8|11\b|18\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder: which value, in which form."""

    name: str
    form: str = ""


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several pieces of text; `number` identifies it within its template."""

    number: int
    pieces: "tuple[tuple[Node, ...], ...]"


Node = str | Placeholder | Alternatives


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A parsed template; equal sources share one sequence of alternatives."""

    source: str
    nodes: tuple[Node, ...]
    placeholders: tuple[Placeholder, ...]
    """Every placeholder, nested ones included."""


# Tens of thousands are made of these three: a struct takes a fifth of the time of a dataclass.
class PlaceholderValue(msgspec.Struct, frozen=True):
    """The text of a placeholder, and the slot it states if it is a fact."""

    text: str
    states: str | None = None
    """The slot whose current value it is."""


class PlaceholderResolver(Protocol):
    """Fills placeholders for one thread on one day."""

    def fill(self, placeholder: Placeholder) -> PlaceholderValue:
        """The text of the placeholder."""
        ...


class ValueMark(msgspec.Struct, frozen=True):
    """The position of a value in a text."""

    slot: str
    start: int
    end: int


class FilledText(msgspec.Struct, frozen=True):
    """A filled template with the positions of its values."""

    text: str
    marks: tuple[ValueMark, ...] = ()


def parse_template(source: str) -> TextTemplate:
    """Parse a template; nothing is malformed: what is no placeholder is text."""
    nodes = _TemplateParser(source).parse_all()
    return TextTemplate(source, nodes, tuple(_iterate_placeholders(nodes)))


class AlternativePicker:
    """Picks alternatives so that all are used before one repeats."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._bags: dict[tuple[str, int, int], ShuffleBag] = {}

    def render(self, template: TextTemplate, resolver: PlaceholderResolver) -> FilledText:
        """The template with every alternative picked and every placeholder filled."""
        renderer = _TemplateRenderer(self, template.source, resolver)
        renderer.render_nodes(template.nodes)
        return FilledText("".join(renderer.pieces), tuple(renderer.marks))

    def pick_index(self, source: str, number: int, size: int) -> int:
        """The next of `size` alternatives at this place."""
        key = (source, number, size)
        bag = self._bags.get(key)
        if bag is None:
            bag = self._bags[key] = ShuffleBag(
                size, RandomStream(self._seed, "deck", source, number)
            )
        return bag.draw()


class _TemplateRenderer:
    def __init__(
        self, picker: AlternativePicker, source: str, resolver: PlaceholderResolver
    ) -> None:
        self._picker = picker
        self._source = source
        self._resolver = resolver
        self._length = 0
        self.pieces: list[str] = []
        self.marks: list[ValueMark] = []

    def render_nodes(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, str):
                # As _append does: most nodes are text, and no text of a template is empty.
                self.pieces.append(node)
                self._length += len(node)
            elif isinstance(node, Placeholder):
                self._fill_placeholder(node)
            else:
                pieces = node.pieces
                picked = self._picker.pick_index(self._source, node.number, len(pieces))
                self.render_nodes(pieces[picked])

    def _fill_placeholder(self, placeholder: Placeholder) -> None:
        filling = self._resolver.fill(placeholder)
        text = filling.text
        # Most placeholders follow a plain word and a space: no pattern needs to look at those.
        last = self.pieces[-1][-3:] if self.pieces else ""
        is_after_word = last[-1:] == " " and last[-2:-1].isalnum() and last[-3:-2].isalnum()
        if not is_after_word:
            text = self._fit(text)
        if filling.states is not None:
            self.marks.append(ValueMark(filling.states, self._length, self._length + len(text)))
        self._append(text)

    def _fit(self, text: str) -> str:
        """The text with a capital where it starts a sentence; an article before it may change."""
        before = "".join(self.pieces[-3:])[-_LOOK_BACK:]
        if _STARTS_SENTENCE.search(before):
            return capitalise(text)
        if before[-2:] in _ARTICLES and _ARTICLE.search(before) and _VOWEL.match(text):
            self.pieces[-1] = self.pieces[-1][:-1] + "n "
            self._length += 1
        return text

    def _append(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self._length += len(text)


def capitalise(text: str) -> str:
    """Capitalise the text unless its first word is an identifier such as `ledger-api2`."""
    return text[0].upper() + text[1:] if _LOWER_WORD.match(text) else text


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
                run = _TEXT.match(self._source, self._at)
                end = run.end() if run else self._at + 1
                nodes.append(self._source[self._at : end])
                self._at = end
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
    """Merge neighbouring text nodes."""
    joined: list[Node] = []
    for node in nodes:
        if isinstance(node, str) and joined and isinstance(joined[-1], str):
            joined[-1] += node
        else:
            joined.append(node)
    return tuple(joined)
