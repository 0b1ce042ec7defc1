"""The cast: names, short names and pronouns, and the renaming of a seed."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from recall_bench.core.errors import Malformed
from recall_bench.core.random_stream import RandomStream
from recall_bench.features.personas.world.sources import CastEntry, WorldPersona

_NAMES = Path(__file__).parent / "names.toml"

PRONOUNS = {
    "she": {"they": "she", "them": "her", "their": "her", "theirs": "hers"},
    "he": {"they": "he", "them": "him", "their": "his", "theirs": "his"},
    "it": {"they": "it", "them": "it", "their": "its", "theirs": "its"},
    "they": {"they": "they", "them": "them", "their": "their", "theirs": "theirs"},
}

_TITLE = re.compile(
    r"(?:Dr|Mr|Mrs|Ms|Prof|Captain|Judge|Justice|Sister|Professor|Hon|Sir|Dame)\.? "
)


@dataclass(frozen=True, slots=True)
class CastPerson:
    """A person of the cast."""

    name: str
    short: str
    pronoun: str
    groups: frozenset[str]

    @property
    def surfaces(self) -> tuple[str, ...]:
        """Every way the text may name the person, longest first."""
        bare = _TITLE.sub("", self.name)
        last = bare.rpartition(" ")[2]
        ways = {self.name, bare, self.short, bare.partition(" ")[0], last}
        return tuple(sorted(ways, key=lambda way: (-len(way), way)))

    def inflect_pronoun(self, name: str) -> str:
        """The person's pronoun for the form `they`, `Them`, `their` or `theirs`."""
        word = PRONOUNS[self.pronoun][name.lower()]
        return word.capitalize() if name[0].isupper() else word


class Cast:
    """The people of a persona, by name and by group."""

    def __init__(self, members: Iterable[CastEntry]) -> None:
        self.people = {member.name: _build_person(member) for member in members}
        self._groups: dict[str, tuple[CastPerson, ...]] = {}
        for person in self.people.values():
            for group in person.groups:
                self._groups[group] = (*self._groups.get(group, ()), person)

    def list_group(self, *names: str) -> tuple[CastPerson, ...]:
        """All members of the groups, in cast order."""
        members = {person.name for name in names for person in self._groups.get(name, ())}
        return tuple(person for person in self.people.values() if person.name in members)

    def is_group(self, name: str) -> bool:
        """Whether the group has a member."""
        return name in self._groups

    @cached_property
    def surfaces(self) -> dict[str, list[str]]:
        """Full name to every unambiguous way of naming the person."""
        shared: dict[str, int] = {}
        for person in self.people.values():
            for way in person.surfaces:
                shared[way] = shared.get(way, 0) + 1
        return {
            person.name: [way for way in person.surfaces if shared[way] == 1 or way == person.name]
            for person in self.people.values()
        }


def build_renaming(
    persona: WorldPersona, extra: Iterable[str], text: str, seed: int, language: str = "en"
) -> Callable[[str], str]:
    """A function that replaces authored names by those of the seed; seed 0 changes nothing.

    `text` is the whole authored text: no new name is one that occurs in it. In another language
    than English only names with `alternatives` are replaced.
    """
    if seed == 0:
        return lambda authored: authored
    if language != "en":
        return _build_local_renaming(persona, seed, language)
    taken = set(re.findall(r"[^\W\d_]+", text))
    words = _choose_names(persona, extra, taken, RandomStream(seed, "names", persona.id))
    longest = sorted(words, key=lambda word: (-len(word), word))
    # What stands before a name is looked at behind it: only a pattern that begins with letters is
    # searched for by its first letters, which is eight times as fast.
    names = [rf"{name}(?<![\w-]{name})" for name in map(re.escape, longest)]
    pattern = re.compile(rf"(?:{'|'.join(names)})(?![\w-])")
    return lambda authored: pattern.sub(lambda found: words[found[0]], authored)


_NAME_EDGES = {
    "de": (r"(?<![\w-])", r"(?=s?(?![\w-]))"),
    "es": (r"(?<![\w-])", r"(?![\w-])"),
    "ja": ("", ""),
    "ar": (r"(?:(?<!\w)|(?<=(?<!\w)[وفبلك]))", r"(?!\w)"),
}
"""What may stand before and after a name: a genitive, a prefix, or no blank at all."""


def _build_local_renaming(persona: WorldPersona, seed: int, language: str) -> Callable[[str], str]:
    chance = RandomStream(seed, "names", persona.id)
    words = {name: chance.choose(others) for name, others in persona.alternatives.items() if others}
    if not words:
        return lambda authored: authored
    before, after = _NAME_EDGES[language]
    longest = sorted(words, key=lambda word: (-len(word), word))
    pattern = re.compile(rf"{before}(?:{'|'.join(map(re.escape, longest))}){after}")
    return lambda authored: pattern.sub(lambda found: words[found[0]], authored)


def rename_texts(content: Any, rename: Callable[[str], str]) -> Any:  # noqa: ANN401 - any YAML
    """The same document with every string renamed; keys stay."""
    if isinstance(content, str):
        return rename(content)
    if isinstance(content, list):
        return [rename_texts(part, rename) for part in content]
    if isinstance(content, dict):
        return {key: rename_texts(part, rename) for key, part in content.items()}
    return content


def _build_person(member: CastEntry) -> CastPerson:
    bare = _TITLE.sub("", member.name)
    if member.pronoun not in PRONOUNS:
        raise Malformed(
            f"persona.yaml, {member.name}",
            f"the pronoun {member.pronoun!r} is unknown; write she, he, they or it",
        )
    return CastPerson(
        name=member.name,
        short=member.short or bare.partition(" ")[0],
        pronoun=member.pronoun,
        groups=frozenset(member.groups),
    )


@cache
def _load_names() -> dict[str, list[str]]:
    raw = tomllib.loads(_NAMES.read_text(encoding="utf-8"))
    return {kind: names.split() for kind, names in raw.items()}


def _choose_names(
    persona: WorldPersona, extra: Iterable[str], taken: set[str], chance: RandomStream
) -> Mapping[str, str]:
    """Each authored name, word by word, with its replacement."""
    words: dict[str, str] = {}
    pronouns = {member.name: member.pronoun for member in persona.cast}
    authored = [member.name for member in persona.cast if not member.name.startswith("@")]
    in_use = set(taken)
    listed = _load_names()
    for name in dict.fromkeys([*authored, *extra]):
        first, _, last = _TITLE.sub("", name).partition(" ")
        pools = {"she": listed["female"], "he": listed["male"]}
        pool = pools.get(pronouns.get(name, ""), listed["female"] + listed["male"])
        for part, names in ((first, pool), (last, listed["last"])):
            if part and part not in words:
                fresh = [new for new in names if new not in in_use] or names
                words[part] = chance.choose(fresh)
                in_use.add(words[part])
    for thing, others in persona.alternatives.items():
        words[thing] = chance.choose(others) if others else thing
    return words
