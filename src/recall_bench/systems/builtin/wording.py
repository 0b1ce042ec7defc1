"""What of a question can only be meant word for word: quotations, names, numbers and codes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall_bench.systems.builtin.shelf import PassageIndex

_QUOTED = re.compile(r"\"([^\"]{2,})\"|“([^”]{2,})”|(?<!\w)'([^']{2,})'(?!\w)|‘([^’]{2,})’")
_CODE = re.compile(r"(?<![\w.])[$€£#@]?(?=[\w./:-]*\d)\w+(?:[.,:/-]\w+)*%?")
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w’'-]*(?:\s+[A-ZÀ-ÖØ-Þ][\w’'-]*)*")
_SENTENCE_START = re.compile(r"(?:\A|[.?!]\s+)[\"'“‘(]*\Z")


def find_exact_words(question: str) -> tuple[str, ...]:
    """Each once, in small letters: what stands in quotation marks, numbers and codes, names.

    A name is a run of capitalised words; a single one that opens a sentence may be any word, and
    is none.
    """
    found: dict[str, None] = {}
    for quoted in _QUOTED.finditer(question):
        found[next(filter(None, quoted.groups())).strip(" .,;:?!").lower()] = None
    for code in _CODE.finditer(question):
        found[code[0].lower()] = None
    for name in _NAME.finditer(question):
        words = name[0].removesuffix("'s").removesuffix("’s").split()
        if _SENTENCE_START.search(question[: name.start()]):
            words = words[1:]
        if words and words != ["I"]:
            found[" ".join(words).lower()] = None
    return tuple(word for word in found if word)


def score_exact_words(shelf: PassageIndex, question: str) -> NDArray[np.float32]:
    """For each passage the share of the question's exact words that it holds."""
    import numpy as np

    held = np.zeros(len(shelf), np.float32)
    wanted = find_exact_words(question)
    if not wanted:
        return held
    texts = [text for page in shelf.pages for text in page.small]
    for word in wanted:
        whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        # Few passages hold the letters at all; only there it matters where a word ends.
        near = [place for place, text in enumerate(texts) if word in text]
        held[[place for place in near if whole.search(texts[place])]] += 1
    return held / np.float32(len(wanted))
