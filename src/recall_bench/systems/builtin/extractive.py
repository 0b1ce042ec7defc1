"""Answers in the words of the record: quotes with their dates, or an honest "no record"."""

from collections.abc import Iterable

from recall_bench.core.memory import Answer, Passage
from recall_bench.systems.builtin.shelf import IndexedPassage

NO_RECORD = "There is no record of that."


def format_quotes(found: Iterable[IndexedPassage], quotes: int) -> str:
    """The first few passages with their dates, none of them twice."""
    seen: dict[str, str] = {}
    for each in found:
        seen.setdefault(each.excerpt.text, each.quote)
        if len(seen) == quotes:
            break
    return "\n".join(seen.values()) or NO_RECORD


def answer_no_record(passages: tuple[Passage, ...] = ()) -> Answer:
    """The honest answer where nothing found says enough."""
    return Answer(text=NO_RECORD, passages=passages)
