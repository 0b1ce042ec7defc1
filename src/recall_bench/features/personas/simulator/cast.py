"""The names of a seed, and the ways to name a person."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from recall_bench.core.random_stream import RandomStream

_TITLE = re.compile(
    r"(?:Dr|Mr|Mrs|Ms|Prof|Captain|Judge|Justice|Sister|Professor|Hon|Sir|Dame)\.? "
)


def list_short_names(names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Full name to the parts of it that name nobody else."""
    parts = {
        name: tuple(dict.fromkeys((bare := _TITLE.sub("", name), *bare.split()))) for name in names
    }
    everyone = [part for own in parts.values() for part in own]
    return {
        name: tuple(part for part in own if part != name and everyone.count(part) == 1)
        for name, own in parts.items()
    }


@cache
def _load_names() -> Mapping[str, list[str]]:
    raw = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
    return {kind: names.split() for kind, names in raw.items()}


def build_renaming(
    pronouns: Mapping[str, str],
    alternatives: Mapping[str, list[str]],
    text: str,
    chance: RandomStream,
) -> Callable[[str], str]:
    """A function that replaces authored names by drawn ones; people are given by their pronouns.

    `text` is all that is authored: no new name is one that occurs in it.
    """
    in_use = set(re.findall(r"[^\W\d_]+", text))
    listed = _load_names()
    pools = {"she": listed["female"], "he": listed["male"]}
    words: dict[str, str] = {}
    for name, pronoun in pronouns.items():
        if name.startswith("@"):
            continue
        first, _, last = _TITLE.sub("", name).partition(" ")
        pool = pools.get(pronoun, listed["female"] + listed["male"])
        for part, names in ((first, pool), (last, listed["last"])):
            if part and part not in words:
                words[part] = chance.choose([new for new in names if new not in in_use] or names)
                in_use.add(words[part])
    for thing, others in alternatives.items():
        words[thing] = chance.choose(others) if others else thing
    if not words:
        return lambda authored: authored
    longest = sorted(words, key=lambda word: (-len(word), word))
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])")
    return lambda authored: pattern.sub(lambda match: words[match[0]], authored)


def rename_texts(content: Any, rename: Callable[[str], str]) -> Any:  # noqa: ANN401 - any YAML
    """The same document with every string renamed; keys stay."""
    if isinstance(content, str):
        return rename(content)
    if isinstance(content, list):
        return [rename_texts(part, rename) for part in content]
    if isinstance(content, dict):
        return {key: rename_texts(part, rename) for key, part in content.items()}
    return content
