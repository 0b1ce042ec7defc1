"""Regular expressions of a map, which may be untrusted, within a time limit.

`re` cannot be interrupted: an expression such as `(a|aa)+$` takes hours on a
reply of a hundred letters. `regex` reads the same syntax, and stops when its time is over.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recall_bench.core.errors import NotAnAnswer
from recall_bench.core.user_code import require_libraries

if TYPE_CHECKING:
    import regex

PATTERN_TIMEOUT_S = 2.0
"""For one reply; an expression without nested repetition needs milliseconds."""

_MAX_LENGTH = 2_000
_MAX_SIZE = 100_000
"""Of an expression with its repetitions written out, as `regex` compiles them."""
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|\{\d*,?\d*\}|.", re.DOTALL)


def compile_pattern(pattern: str) -> "regex.Pattern[str]":
    """The compiled expression, or ValueError with what is wrong with it."""
    require_libraries("a regular expression in a map", "mcp", "regex")
    import regex

    if len(pattern) > _MAX_LENGTH or _measure_size(pattern) > _MAX_SIZE:
        raise ValueError("it is too large")
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error) or "it is too large") from error


def _measure_size(pattern: str) -> int:
    """How many parts the expression has if `a{3}` is written `aaa`."""
    sizes, last = [0], 0
    for part in _PART.findall(pattern):
        if part == "(":
            sizes.append(0)
            last = 0
        elif part == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif len(part) > 1 and part[0] == "{":
            times = max((int(number) for number in re.findall(r"\d+", part)), default=1)
            sizes[-1] += last * (times - 1)
            last *= times
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


def find_matches(pattern: str, reply: str, where: str) -> "list[regex.Match[str]]":
    """All matches in a reply; NotAnAnswer, which names the place in the map, after too long."""
    with _refuse_timeout(reply, where):
        return list(compile_pattern(pattern).finditer(reply, timeout=PATTERN_TIMEOUT_S))


def has_match(pattern: str, reply: str, where: str) -> bool:
    """Whether a reply has a match; NotAnAnswer after too long."""
    with _refuse_timeout(reply, where):
        return compile_pattern(pattern).search(reply, timeout=PATTERN_TIMEOUT_S) is not None


@contextmanager
def _refuse_timeout(reply: str, where: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise NotAnAnswer(
            f"{where} of the map takes more than {PATTERN_TIMEOUT_S:g} s on a reply of "
            f"{len(reply):,} characters; write it without repetition within repetition"
        ) from error
