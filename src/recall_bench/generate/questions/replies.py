"""The questions in a model's reply, as far as it holds whole ones."""

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from recall_bench.generate.json_reply import parse_json_reply
from recall_bench.generate.questions.candidates import read_text
from recall_bench.generate.rounds import RejectedReply

_OPENING = re.compile(r"\[\s*(?=\{)")
_BETWEEN = re.compile(r"[\s,]*")
_MAX_OPENINGS = 50
"""A reply that has not come to its questions by then has none; each look at one takes its time."""
_MAX_DEPTH = 20

Raw = Mapping[str, Any]


def read_questions(text: str) -> tuple[Raw, ...] | RejectedReply:
    """Every whole object of the list; of a list that was cut or broken, those before the break.

    An empty list says that there is nothing to ask. Rejected if there is no list, nothing whole
    in it, or no object that is a question with its answer.
    """
    found = _find_list(text)
    if found == []:
        return ()
    whole = (
        _recover_questions(text)
        if found is None
        else tuple(e for e in found if isinstance(e, dict))
    )
    if not whole:
        return RejectedReply(_NOTHING)
    return _make_recordable(whole)


_FORM = 'reply with {"questions": [{…}, …]} and nothing else'
_NOTHING = (f"it holds no list of questions; {_FORM}",)
_UNREADABLE = (
    "nothing in its list is a question, for each needs a text under question and one under "
    f"answer; {_FORM}, with an empty list if there is nothing to ask"
)


def _find_list(text: str) -> list[Any] | None:
    """The list of a reply that is whole; None if there is none."""
    whole = parse_json_reply(text, dict)
    if not isinstance(whole, RejectedReply) and isinstance(whole.get("questions"), list):
        return list(whole["questions"])
    found = parse_json_reply(text, list)
    # An empty list somewhere in an object about something else says nothing of questions.
    is_beside = not isinstance(whole, RejectedReply) and found == []
    return None if isinstance(found, RejectedReply) or is_beside else found


def _make_recordable(questions: tuple[Raw, ...]) -> tuple[Raw, ...] | RejectedReply:
    """The same without halves of surrogate pairs, which no file can hold, if one is readable."""
    if any(_is_deep(each, _MAX_DEPTH) for each in questions):
        return RejectedReply(
            ("a question is nested too deeply; give each field as it was asked for",)
        )
    if not any(_is_readable(each) for each in questions):
        return RejectedReply((_UNREADABLE,))
    return tuple(
        json.loads(json.dumps(each, ensure_ascii=False).encode(errors="ignore"))
        for each in questions
    )


def _is_deep(part: object, left: int) -> bool:
    """Whether it is nested further: what reads the record again may go less deep than JSON."""
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return left < 0 or any(_is_deep(each, left - 1) for each in parts)


def _is_readable(raw: Raw) -> bool:
    return all(read_text(raw, key) for key in ("question", "answer"))


def _recover_questions(text: str) -> tuple[Raw, ...]:
    """The objects at the beginning of the first list of objects that has any."""
    decoder = json.JSONDecoder()
    for opening in islice(_OPENING.finditer(text), _MAX_OPENINGS):
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
