"""The questions in a model's reply, as far as it holds whole ones."""

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from recall_bench.generate.json_reply import json_in
from recall_bench.generate.questions.candidates import text_of
from recall_bench.generate.rounds import Rejected

_OPENING = re.compile(r"\[\s*(?=\{)")
_BETWEEN = re.compile(r"[\s,]*")
_MOST_OPENINGS = 50
"""A reply that has not come to its questions by then has none; each look at one takes its time."""
_DEEPEST = 20

Raw = Mapping[str, Any]


def read_questions(text: str) -> tuple[Raw, ...] | Rejected:
    """Every whole object of the list; of a list that was cut or broken, those before the break.

    An empty list says that there is nothing to ask. Rejected if there is no list, nothing whole
    in it, or no object that is a question with its answer.
    """
    found = _listed(text)
    if found == []:
        return ()
    whole = _salvaged(text) if found is None else tuple(e for e in found if isinstance(e, dict))
    if not whole:
        return Rejected(_NOTHING)
    return _recordable(whole)


_FORM = 'reply with {"questions": [{…}, …]} and nothing else'
_NOTHING = (f"it holds no list of questions; {_FORM}",)
_UNREADABLE = (
    "nothing in its list is a question, for each needs a text under question and one under "
    f"answer; {_FORM}, with an empty list if there is nothing to ask"
)


def _listed(text: str) -> list[Any] | None:
    """The list of a reply that is whole; None if there is none."""
    whole = json_in(text, dict)
    if not isinstance(whole, Rejected) and isinstance(whole.get("questions"), list):
        return list(whole["questions"])
    found = json_in(text, list)
    # An empty list somewhere in an object about something else says nothing of questions.
    is_beside = not isinstance(whole, Rejected) and found == []
    return None if isinstance(found, Rejected) or is_beside else found


def _recordable(questions: tuple[Raw, ...]) -> tuple[Raw, ...] | Rejected:
    """The same without halves of surrogate pairs, which no file can hold, if one is readable."""
    if any(_is_deep(each, _DEEPEST) for each in questions):
        return Rejected(("a question is nested too deeply; give each field as it was asked for",))
    if not any(_is_readable(each) for each in questions):
        return Rejected((_UNREADABLE,))
    return tuple(
        json.loads(json.dumps(each, ensure_ascii=False).encode(errors="ignore"))
        for each in questions
    )


def _is_deep(part: object, left: int) -> bool:
    """Whether it is nested further: what reads the record again may go less deep than JSON."""
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return left < 0 or any(_is_deep(each, left - 1) for each in parts)


def _is_readable(raw: Raw) -> bool:
    return all(text_of(raw, key) for key in ("question", "answer"))


def _salvaged(text: str) -> tuple[Raw, ...]:
    """The objects at the beginning of the first list of objects that has any."""
    decoder = json.JSONDecoder()
    for opening in islice(_OPENING.finditer(text), _MOST_OPENINGS):
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
