"""Names of memories, as somebody else's code gives them."""

import re
from collections.abc import Collection, Iterable

from recall_bench.errors import NotAnAnswer

_NAME = re.compile(r"memory/[^\x00-\x1f]*[^\x00-\x1f/]\.md")
_SEVERAL = re.compile(r"\.md[\s,;|]")


def check_names(given: Iterable[str], known: Collection[str], giver: str) -> tuple[str, ...]:
    """What was given, each name once; NotAnAnswer for a text that is the name of no memory.

    A memory that is not known may be named, if it is spelled as memories are.
    """
    names: dict[str, None] = {}
    for text in given:
        if text not in known and not _is_name(text):
            raise NotAnAnswer(
                f"{giver} gave {_quote_short(text)}, which is no name of a memory; let it give "
                "'memory/NAME.md' for each one, and nothing else"
            )
        names[text] = None
    return tuple(names)


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and _SEVERAL.search(text) is None


def _quote_short(text: str) -> str:
    return repr(text if len(text) <= 120 else f"{text[:120]}…")
