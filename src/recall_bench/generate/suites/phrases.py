"""Phrases of prompts that are written without a model, and messages that need no memory."""

import re
import tomllib
from functools import cache
from itertools import product
from pathlib import Path

import msgspec

from recall_bench.core.record import Record
from recall_bench.generate.suites.topics import TopicKind

_FILE = Path(__file__).with_suffix(".toml")
_EITHER = re.compile(r"\{([^{}]*)\}")


class ChatCategory(Record, frozen=True, kw_only=True):
    """A kind of message that needs no memory."""

    brief: str
    """The description for a model that writes one."""
    patterns: tuple[str, ...]
    """Our own messages; `{a|b}` is either of the two."""


class PhraseBook(Record, frozen=True, kw_only=True):
    """The content of `phrases.toml`."""

    alone: dict[TopicKind, tuple[str, ...]]
    """Sentences about one topic."""
    about: dict[TopicKind, str]
    """A topic as a noun, so that two fit into one sentence."""
    together: tuple[str, ...]
    """Sentences about two topics."""
    frames: tuple[tuple[str, str], ...]
    """Text before and after, if there is room."""
    small_talk: dict[str, ChatCategory]


@cache
def load_phrases() -> PhraseBook:
    """Return all phrases."""
    return msgspec.convert(tomllib.loads(_FILE.read_text(encoding="utf-8")), PhraseBook)


@cache
def list_messages(category: str) -> tuple[str, ...]:
    """All our own messages of a category of small talk."""
    patterns = load_phrases().small_talk[category].patterns
    return tuple(text for pattern in patterns for text in _expand_pattern(pattern))


def _expand_pattern(pattern: str) -> list[str]:
    parts = _EITHER.split(pattern)
    choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]
