"""A session's entry held against the facts it was to tell."""

from collections.abc import Iterator, Mapping

from recall_bench.core.sentences import split_sentences
from recall_bench.generate.days.cleaning import extract_entry
from recall_bench.generate.from_ledger.notes import SessionNotes
from recall_bench.generate.rounds import RejectedReply

_MAX_COPIED_SHARE = 0.5
"""The share of the notes' longer sentences that may come back word for word."""
_LONG_SENTENCE_WORDS = 6


def check_ledger_entry(
    reply: str, notes: SessionNotes, date: str, elsewhere: Mapping[str, str]
) -> str | RejectedReply:
    """The entry, or what is wrong with it.

    Every fact due must survive, nothing may be contradicted or added, and nothing that was planted
    in another session may be in it; `elsewhere` has those strings by their session.
    """
    text = extract_entry(reply, notes.session)
    if isinstance(text, RejectedReply):
        return text
    problems = (
        *_find_missing_facts(text, notes),
        *_find_added_values(text, notes, date),
        *(f"{secret} belongs to another session" for secret in elsewhere if secret in text),
        *_find_copies(text, notes),
    )
    return RejectedReply(problems) if problems else text


def _find_missing_facts(text: str, notes: SessionNotes) -> Iterator[str]:
    low = text.casefold()
    for name in notes.names:
        if name.casefold() not in low:
            yield f"{name} is not named"
    for fact in dict.fromkeys(notes.facts):
        if not fact.is_in(text):
            yield f"{fact.value}, of {fact.about}, is missing"


def _find_added_values(text: str, notes: SessionNotes, date: str) -> Iterator[str]:
    """Values that the notes do not hold: a fact contradicted, or one too many."""
    known = notes.values | {atom.core for atom in notes.find_exact_values(date)}
    added = (
        atom.shown
        for atom in notes.find_exact_values(text)
        if atom.core not in known and atom.kind != "quotation"
    )
    for value in dict.fromkeys(added):
        yield f"{value} is not in the notes"


def _find_copies(text: str, notes: SessionNotes) -> Iterator[str]:
    own = _find_long_sentences(notes.text)
    copied = own & _find_long_sentences(text)
    if len(own) > 1 and len(copied) > _MAX_COPIED_SHARE * len(own):
        yield "most of it repeats the notes word for word; say it in other words"


def _find_long_sentences(text: str) -> set[str]:
    found = (sentence for line in text.splitlines() for sentence in split_sentences(line))
    return {sentence for sentence in found if len(sentence.split()) >= _LONG_SENTENCE_WORDS}
