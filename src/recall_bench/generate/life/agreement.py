"""Verbs of the sources that do not agree with a value in front of them."""

import re
from collections.abc import Iterator, Mapping

from recall_bench.generate.life.names import get_life_template
from recall_bench.generate.world.templates import Alternatives, Node, Placeholder

_HEAD = re.compile(
    r".+?(?=,| (?:of|that|in|with|for|from|on|without|at|who|which|whom|about|between|to|against"
    r"|under|over|by|behind|after|before|nobody|when|where|as|left|out|than|into)\b)|.+"
)
"""The noun of a phrase, without what follows it."""
_PLURAL = re.compile(r"(?:two|three|four|five|six|seven|eight|nine|ten|both|several|some)\b")
_SINGULAR = re.compile(r"(?:an?|one|each|every|no|somebody|nobody|who|whether|how|why|what|to)\b")
_ONE = ("atlas", "upstairs", "downstairs", "degrees")
_SINGULAR_VERB = re.compile(
    r" (?:is|was|has|does|comes|goes|makes|takes|needs|wants|stands|holds|fills|keeps|stays|gives"
    r"|gets|lies|helps|works|remains|costs|begins|ends|explains|decides|shows|brings|speaks"
    r"|counts|moves|fits|lasts|leaves|runs|turns|waits)\b(?! what)"
)
_CLAUSE = re.compile(r"(?:^|[.:;] |, and |\b(?:but|so|since|because|as|until|that) )$")
"""What stands before the subject of a clause."""
_FAR = 12
"""This many characters hold the verb after a value."""
_PLURAL_VERB = re.compile(r" (?:are|were|have|do)\b")


def is_plural(phrase: str) -> bool:
    """Whether a phrase such as `two wrong labels` or `labels of last year` is a plural."""
    if _SINGULAR.match(phrase):
        return False
    if _PLURAL.match(phrase):
        return True
    head = _HEAD.match(phrase)
    last = head[0].split()[-1] if head is not None else ""
    # A name with a capital is that of one firm, person or thing.
    return re.search(r"[^sui']s$", last) is not None and last.islower() and last not in _ONE


def find_clash(template: str, values: Mapping[str, list[str]]) -> str | None:
    """A value and the verb after it that do not agree, as they would be read; None if all do."""
    for text, name in _list_followed(get_life_template(template).nodes):
        for value in values.get(name, ()):
            verb = (_SINGULAR_VERB if is_plural(value) else _PLURAL_VERB).match(text)
            if verb is not None:
                return f"{value}{verb[0]}"
    return None


def _list_followed(nodes: tuple[Node, ...]) -> Iterator[tuple[str, str]]:
    """Each placeholder without a form that starts a clause, and the texts that may follow it."""
    is_start = True
    for place, node in enumerate(nodes):
        if isinstance(node, Alternatives):
            for piece in node.pieces:
                yield from _list_followed(piece)
        if isinstance(node, Placeholder) and not node.form and is_start:
            for text in _list_texts(nodes[place + 1 :]):
                yield text, node.name
        is_start = isinstance(node, str) and _CLAUSE.search(node) is not None


def _list_texts(nodes: tuple[Node, ...]) -> list[str]:
    """How a text may begin, up to the next value."""
    if not nodes or isinstance(nodes[0], Placeholder):
        return [""]
    firsts = [nodes[0]] if isinstance(nodes[0], str) else []
    if isinstance(nodes[0], Alternatives):
        firsts = [text for piece in nodes[0].pieces for text in _list_texts(piece)]
    if all(len(first) > _FAR for first in firsts):
        return firsts
    return [first + rest for first in firsts for rest in _list_texts(nodes[1:])]
