"""A small made-up history whose facts can be recognised.

A fact is a plain sentence, so that any search by words or by meaning can find it, and its value is
a marker: a made-up word. A system that returns the marker must have stored the fact. The same seed
gives the same history.
"""

import tomllib
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from recall_bench.core.scenario import PRINCIPAL, Episode, compute_story_date

EPOCH = date(2025, 3, 3)
"""The date of story day 1."""

_ONSETS = "b d f g k l m n p r s t v z".split()
_VOWELS = "aeiou"
_ENDS = "l m n r x".split()


class _StoryText(msgspec.Struct, frozen=True):
    things: tuple[tuple[str, str], ...]
    """What facts are about, each with its owner."""
    filler: tuple[str, ...]
    """Everyday lines."""


@cache
def _load_text() -> _StoryText:
    content = Path(__file__).with_name("story.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(content), _StoryText)


@dataclass(frozen=True, slots=True)
class StoryFact:
    """A sentence with a marker, and a question about it."""

    marker: str
    sentence: str
    question: str
    subject: str = ""
    """What it is about, in words."""


def make_marker(seed: int, name: str) -> str:
    """Make a word that is unique for this name and seed; all have one length."""
    digest = sha256(f"canary\0{seed}\0{name}".encode()).digest()
    word = "".join(
        _ONSETS[digest[2 * i] % len(_ONSETS)] + _VOWELS[digest[2 * i + 1] % len(_VOWELS)]
        for i in range(4)
    )
    return word.capitalize() + _ENDS[digest[8] % len(_ENDS)]


def make_fact(seed: int, name: str, thing: int) -> StoryFact:
    """Make a fact about one of the things, numbered from 0."""
    things = _load_text().things
    kind, owner = things[thing % len(things)]
    word = make_marker(seed, f"{name}\0{thing}")
    return StoryFact(
        marker=word,
        sentence=f"The {kind} of the {owner} is {word}.",
        question=f"What is the {kind} of the {owner}?",
        subject=f"the {kind} of the {owner}",
    )


def make_change(seed: int, name: str, thing: int) -> StoryFact:
    """Make a fact about the same thing with a later value."""
    things = _load_text().things
    kind, owner = things[thing % len(things)]
    word = make_marker(seed, f"{name}\0{thing}\0later")
    return StoryFact(
        marker=word,
        sentence=f"The {kind} of the {owner} has changed: from today it is {word}.",
        question=f"What is the {kind} of the {owner} now?",
        subject=f"the {kind} of the {owner}",
    )


def write_day(number: int, *said: str, session: str = PRINCIPAL) -> str:
    """Write one day's log of one session, with the sentences between everyday lines."""
    return (
        "---\ntype: daily\n---\n\n"
        f"# session: {session}\n\n### In the morning\n{_write_filler(number, 3)}\n\n"
        "### Noted down\n" + "\n\n".join(said) + f"\n\n### Later\n{_write_filler(number + 7, 3)}\n"
    )


def write_large_day(size: int, facts: tuple[StoryFact, StoryFact, StoryFact]) -> str:
    """Write at least `size` bytes of everyday lines, with a fact at the start, middle and end."""
    entries = [f"Entry {n}. {_write_filler(n, 4)}" for n in range(1, size // 200)]
    while sum(map(len, entries)) < size:
        entries.append(f"Entry {len(entries) + 1}. {_write_filler(len(entries), 4)}")
    start, middle, end = (fact.sentence for fact in facts)
    half = len(entries) // 2
    body = "\n\n".join([start, *entries[:half], middle, *entries[half:], end])
    return f"---\ntype: daily\n---\n\n# session: {PRINCIPAL}\n\n### A long day\n{body}\n"


def make_episode(day: int, text: str) -> Episode:
    """Make the episode of a day."""
    return Episode(id=f"day-{day:04}", day=day, at=compute_date(day), text=text)


def compute_date(day: int) -> datetime:
    """Compute the date of a story day."""
    return compute_story_date(EPOCH, day)


def _write_filler(number: int, count: int) -> str:
    filler = _load_text().filler
    return " ".join(filler[(number * 5 + i * 7) % len(filler)] for i in range(count))
