"""What of a question can only be meant word for word: quotations, names, numbers and codes."""

import re

_QUOTED = re.compile(r"\"([^\"]{2,})\"|“([^”]{2,})”|(?<!\w)'([^']{2,})'(?!\w)|‘([^’]{2,})’")
_CODE = re.compile(r"(?<![\w.])[$€£#@]?(?=[\w./:-]*\d)\w+(?:[.,:/-]\w+)*%?")
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w’'-]*(?:\s+[A-ZÀ-ÖØ-Þ][\w’'-]*)*")
_SENTENCE_START = re.compile(r"(?:\A|[.?!]\s+)[\"'“‘(]*\Z")


def find_exact_words(question: str) -> tuple[str, ...]:
    """Quotations, numbers, codes and names, each once and in lower case.

    A name is a run of capitalised words; the first word of a sentence does not count.
    """
    exact_words: dict[str, None] = {}
    for quoted in _QUOTED.finditer(question):
        exact_words[next(filter(None, quoted.groups())).strip(" .,;:?!").lower()] = None
    for code in _CODE.finditer(question):
        exact_words[code[0].lower()] = None
    for name in _NAME.finditer(question):
        words = name[0].removesuffix("'s").removesuffix("’s").split()
        if _SENTENCE_START.search(question[: name.start()]):
            words = words[1:]
        if words and words != ["I"]:
            exact_words[" ".join(words).lower()] = None
    return tuple(word for word in exact_words if word)
