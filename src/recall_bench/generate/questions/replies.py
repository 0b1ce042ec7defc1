"""The questions in a model's reply, as far as it holds whole ones."""

import json
import re
from collections.abc import Mapping
from typing import Any

from recall_bench.generate.json_reply import json_in
from recall_bench.generate.rounds import Rejected

_OPENING = re.compile(r"\[\s*(?=\{)")
_BETWEEN = re.compile(r"[\s,]*")

Raw = Mapping[str, Any]


def read_questions(text: str) -> tuple[Raw, ...] | Rejected:
    """Every whole object of the list; of a list that was cut or broken, those before the break.

    Rejected if there is no list, or nothing whole in it.
    """
    found = json_in(text, list)
    if not isinstance(found, Rejected):
        whole = tuple(each for each in found if isinstance(each, dict))
        return whole if whole or not found else Rejected(_NOTHING)
    return _salvaged(text) or Rejected(_NOTHING)


_NOTHING = ('it holds no list of questions; reply with {"questions": [{…}, …]} and nothing else',)


def _salvaged(text: str) -> tuple[Raw, ...]:
    """The objects at the beginning of the first list of objects that has any."""
    decoder = json.JSONDecoder()
    for opening in _OPENING.finditer(text):
        found: list[Raw] = []
        place = opening.end()
        while True:
            try:
                each, end = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                break
            # What a question is proved by is a list of objects too.
            if not isinstance(each, dict) or "question" not in each:
                break
            found.append(each)
            between = _BETWEEN.match(text, end)
            place = between.end() if between else end
        if found:
            return tuple(found)
    return ()
