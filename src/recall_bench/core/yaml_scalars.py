"""The scalars of YAML 1.2: which words are not text, and their values."""

import re
from collections.abc import Callable

TAG = "tag:yaml.org,2002:"

_FLOAT = (
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
PATTERNS = {
    TAG + "null": re.compile(r"(?:null|Null|NULL|~|)\Z"),
    TAG + "bool": re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"),
    TAG + "int": re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z"),
    TAG + "float": re.compile(rf"(?:{_FLOAT})\Z"),
}
"""The plain scalars that are not text. Integers are tried before floats."""

FIRST = {
    TAG + "null": ["n", "N", "~", ""],
    TAG + "bool": list("tTfF"),
    TAG + "int": list("-+0123456789"),
    TAG + "float": list("-+.0123456789"),
}
"""How they begin."""

_LONGEST_NUMBER = 1000
"""Digits. Python prints no number of more than 4,300, and reads hexadecimal ones of any length."""


def _parse_integer(word: str) -> int:
    if len(word) > _LONGEST_NUMBER:
        raise ValueError("too many digits")
    return int(word, 0) if word[:2] in {"0o", "0x"} else int(word)


SCALARS: dict[str, Callable[[str], object]] = {
    TAG + "str": str,
    TAG + "null": lambda _: None,
    TAG + "bool": lambda word: word[0] in "tT",
    TAG + "int": _parse_integer,
    TAG + "float": lambda word: float(re.sub(r"\.(?=[iInN])", "", word)),
}
"""How the value of a word is read; raises ValueError for a number of too many digits."""
