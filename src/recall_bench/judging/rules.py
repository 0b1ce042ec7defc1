"""A digest of everything that decides a grade, so that a changed rule changes the judge's name."""

import re
from collections.abc import Iterable
from hashlib import sha256
from types import ModuleType


def rules_digest(modules: Iterable[ModuleType]) -> str:
    """Names the upper-case constants of the modules: numbers, words, tables and patterns."""
    lines = [
        f"{module.__name__}.{name}={_spelled(value)}"
        for module in modules
        for name, value in sorted(vars(module).items())
        if name.isupper() and not callable(value)
    ]
    return sha256("\n".join(lines).encode()).hexdigest()


def _spelled(value: object) -> str:
    match value:
        case re.Pattern():
            return f"{value.pattern!r}/{value.flags}"
        case set() | frozenset():
            return repr(sorted(value))
        case dict():
            return repr(sorted((key, _spelled(found)) for key, found in value.items()))
        case _:
            # A function is repr'd by its address, which is another one in every process.
            return "" if callable(value) else repr(value)
