"""JSON in a reply, forgiving what models put around it."""

import json
import re
from typing import Any, TypeVar

from recall_bench.generate.rounds import RejectedReply

JsonKind = TypeVar("JsonKind", list[Any], dict[str, Any])

_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL)
_BRACKETS = {list: ("[", "]", "array"), dict: ("{", "}", "object")}


def parse_json_reply(text: str, kind: type[JsonKind]) -> JsonKind | RejectedReply:
    """The JSON array or object of a reply: alone, in a fence, or between other words."""
    opening, closing, name = _BRACKETS[kind]
    fences: list[str] = _FENCE.findall(text)
    inner = text[text.find(opening) : text.rfind(closing) + 1]
    for candidate in (text.strip(), *(fence.strip() for fence in fences), inner):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, kind):
            return found
    return RejectedReply((f"it is not one JSON {name}: {' '.join(text.split())!r:.120}",))
