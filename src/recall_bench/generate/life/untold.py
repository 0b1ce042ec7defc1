"""What the sources call untold or never happened, and tell after all in some wording."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product

from recall_bench.core.sentences import split_sentences
from recall_bench.generate.life.names import flatten, get_life_template
from recall_bench.generate.life.sources import EntityKind, LifeSources, LifeValue, UnansweredTopic
from recall_bench.generate.world.sources import Variants
from recall_bench.generate.world.templates import Alternatives, Node, Placeholder
from recall_bench.generate.written.checks import SourceFinding

_MOST_TEXTS = 48
"""Texts of one template that are looked at."""

Phrases = Mapping[str, list[str]]


def find_told_matters(sources: LifeSources) -> Iterator[SourceFinding]:
    """Every matter of `unknown` and `never` whose words some sentence of the sources holds."""
    texts = fold_texts(_list_texts(sources))
    for section in ("unknown", "never"):
        for index, matter in enumerate(getattr(sources.entities, section)):
            sentence = find_telling(split_words(matter), texts)
            if sentence is not None:
                where = sources.locate("entities.yaml", section, index, "words")
                message = f"{' '.join(matter.words)} is stated: “{sentence}”; choose other words"
                yield SourceFinding(where, message)


def split_words(matter: UnansweredTopic) -> list[str]:
    """The words that no sentence holds together."""
    return [word for each in matter.words for word in each.casefold().split()]


def fold_texts(texts: Iterable[str]) -> dict[str, str]:
    """Every different text with its lower case."""
    return {text: text.casefold() for text in texts}


def find_telling(words: list[str], texts: Mapping[str, str]) -> str | None:
    """A sentence in lower case that holds all the words; None if no text has one."""
    if not words:
        return None
    longest = max(words, key=len)
    patterns = [re.compile(rf"(?<!\w){re.escape(word)}") for word in words]
    # Few texts hold the longest word, and only those are split.
    sentences = (
        sentence.casefold()
        for text, low in texts.items()
        if longest in low
        for sentence in split_sentences(text)
    )
    return next(
        (each for each in sentences if all(pattern.search(each) for pattern in patterns)), None
    )


def _list_texts(sources: LifeSources) -> Iterator[str]:
    """Texts that the story may hold, with the phrases of one value at a time."""
    for kind in sources.entities.kinds.values():
        yield from _list_kind_texts(kind)
    for process in sources.processes:
        phrases = _list_phrases(process.facts)
        for step in process.steps:
            yield from _expand_parts(step.text, phrases)
    words = {f"@{name}": entries for name, entries in sources.talk.words.items()}
    for topic in (*sources.talk.datelines, *sources.talk.talk, *sources.talk.quiet):
        yield from _expand_parts(topic.text, words)


def _list_kind_texts(kind: EntityKind) -> Iterator[str]:
    own = {name: each.value for name, each in kind.attributes.items()}
    yield from _expand_parts([kind.intro], _list_phrases(own))
    for attribute in kind.attributes.values():
        phrases = _list_phrases({**own, "value": attribute.value, "old": attribute.value})
        parts = [wordings for _, wordings in attribute.tell.list_manners()]
        yield from _expand_parts(parts, {**phrases, "why": attribute.why})


def _expand_parts(parts: Iterable[Variants], phrases: Phrases) -> Iterator[str]:
    for part in parts:
        for template in flatten(part):
            yield from _expand(template, phrases)


def _list_phrases(values: Mapping[str, LifeValue]) -> dict[str, list[str]]:
    return {name: value.choice for name, value in values.items() if value.choice}


def _expand(template: str, phrases: Phrases) -> Iterator[str]:
    """Texts of a template; every phrase of a value stands in one of them."""
    nodes = get_life_template(template).nodes
    yield from islice(_fill(nodes, {}), _MOST_TEXTS)
    for name in dict.fromkeys(each.name for each in get_life_template(template).placeholders):
        for phrase in phrases.get(name, ()):
            yield next(_fill(nodes, {name: phrase}), "")


def _fill(nodes: tuple[Node, ...], given: Mapping[str, str]) -> Iterator[str]:
    pieces: list[list[str]] = []
    for node in nodes:
        if isinstance(node, str):
            pieces.append([node])
        elif isinstance(node, Placeholder):
            pieces.append([given.get(node.name, "…")])
        elif isinstance(node, Alternatives):
            pieces.append([text for each in node.pieces for text in islice(_fill(each, given), 8)])
    for chosen in product(*pieces):
        yield "".join(chosen)
