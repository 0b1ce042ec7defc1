"""The known word that a misspelt one probably means."""

import re
from collections.abc import Iterable
from difflib import get_close_matches


def find_nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word most similar to this one, ignoring case, hyphens and blanks."""
    folded = {_fold(candidate): candidate for candidate in known}
    close = get_close_matches(_fold(word), folded, n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


def suggest(word: object, known: Iterable[str], otherwise: str = "") -> str:
    """Return `did you mean 'word'?` for the nearest known word, else `otherwise`."""
    near = find_nearest(str(word), known)
    return otherwise if near is None else f"did you mean {near!r}?"


def suggest_or_list(word: object, known: Iterable[str], listed: str) -> str:
    """Return the nearest known word, if there is one, before the list of what there is."""
    near = suggest(word, known)
    return f"{near} {listed[:1].upper()}{listed[1:]}" if near else listed


def _fold(word: str) -> str:
    return re.sub(r"[-_ ]", "", word).lower()
