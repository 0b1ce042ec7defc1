"""A session's entry held against the facts it was to tell."""

from collections.abc import Iterator, Mapping

from recall_bench.core.sentences import split
from recall_bench.generate.days.cleaning import cleaned
from recall_bench.generate.from_ledger.notes import Notes
from recall_bench.generate.rounds import Rejected

_COPIED = 0.5
"""The share of the notes' longer sentences that may come back word for word."""
_LONG = 6


def verified(reply: str, notes: Notes, date: str, elsewhere: Mapping[str, str]) -> str | Rejected:
    """The entry, or what is wrong with it.

    Every fact due must survive, nothing may be contradicted or added, and nothing that was planted
    in another session may be in it; `elsewhere` has those strings by their session.
    """
    text = cleaned(reply, notes.session)
    if isinstance(text, Rejected):
        return text
    problems = (
        *_lost(text, notes),
        *_added(text, notes, date),
        *(f"{secret} belongs to another session" for secret in elsewhere if secret in text),
        *_copied(text, notes),
    )
    return Rejected(problems) if problems else text


def _lost(text: str, notes: Notes) -> Iterator[str]:
    low = text.casefold()
    for name in notes.names:
        if name.casefold() not in low:
            yield f"{name} is not named"
    for fact in dict.fromkeys(notes.facts):
        if not fact.is_in(text):
            yield f"{fact.value}, of {fact.about}, is missing"


def _added(text: str, notes: Notes, date: str) -> Iterator[str]:
    """Values that the notes do not hold: a fact contradicted, or one too many."""
    known = notes.values | {atom.core for atom in notes.exact(date)}
    added = (
        atom.shown
        for atom in notes.exact(text)
        if atom.core not in known and atom.kind != "quotation"
    )
    for value in dict.fromkeys(added):
        yield f"{value} is not in the notes"


def _copied(text: str, notes: Notes) -> Iterator[str]:
    own = _long_sentences(notes.text)
    copied = own & _long_sentences(text)
    if len(own) > 1 and len(copied) > _COPIED * len(own):
        yield "most of it repeats the notes word for word; say it in other words"


def _long_sentences(text: str) -> set[str]:
    found = (sentence for line in text.splitlines() for sentence in split(line))
    return {sentence for sentence in found if len(sentence.split()) >= _LONG}
