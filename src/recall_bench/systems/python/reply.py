"""What an adapter may return to a question, and how it becomes an answer.

Text; a core `Answer` or `Found`; or a mapping with `answer`, and if it likes `passages` (or
`retrieval`), each with `text` (or `snippet`) and perhaps `id`, `day`, `source` (or `path`) and
`score`, `tool_calls` (or `toolCalls`) and `usage`. A mapping with `passages` and no `answer` is
what was found, for a reader to answer from. Everything passes through JSON once, so that nothing
can be accepted here that the journal could not hold.
"""

import os
from collections.abc import Iterable, Mapping
from numbers import Integral, Real

import msgspec

from recall_bench.core.memory import Answer, Passage, RetrievalReply
from recall_bench.errors import NotAnAnswer

_REPLY_FORMS = (
    "an answer is a str, or a mapping with the text under 'answer' or what was found in 'passages'"
)

AdapterReply = Answer | RetrievalReply


def parse_reply(reply: object) -> AdapterReply:
    """The answer or finds a reply spells, or NotAnAnswer naming it. Empty text is an answer."""
    try:
        spelled = _normalise_reply(reply)
        is_answer = isinstance(spelled, Answer) or (isinstance(spelled, dict) and "text" in spelled)
        decoder = _ANSWER_DECODER if is_answer else _FOUND_DECODER
        return decoder.decode(_ENCODER.encode(spelled))
    except UnicodeEncodeError as error:
        raise NotAnAnswer(
            f"the adapter returned text with half a character ({error.reason}); {_REPLY_FORMS}"
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise NotAnAnswer(
            f"the adapter returned {_describe_value(reply)} that cannot be read: {error}"
        ) from error


def _normalise_reply(reply: object) -> object:
    match reply:
        case str():
            return {"text": reply}
        case Answer() | RetrievalReply():
            return reply
        case Mapping():
            return _normalise_mapping(reply)
        case _:
            raise NotAnAnswer(f"the adapter returned {_describe_value(reply)}; {_REPLY_FORMS}")


def _normalise_mapping(reply: Mapping[object, object]) -> dict[str, object]:
    passages = _get_first(reply, "passages", "retrieval")
    found: dict[str, object] = {}
    if isinstance(reply.get("answer"), str):
        found["text"] = reply["answer"]
    elif reply.get("answer") is not None or passages is None:
        raise NotAnAnswer(
            f"the adapter returned {_describe_value(reply)} without that; {_REPLY_FORMS}"
        )
    if passages is not None:
        found["passages"] = [
            _normalise_passage(passage) for passage in _require_iterable(passages, "passages")
        ]
    calls = _get_first(reply, "tool_calls", "toolCalls")
    if calls is not None:
        found["tool_calls"] = list(_require_iterable(calls, "tool_calls"))
    if reply.get("usage") is not None:
        found["usage"] = reply["usage"]
    return found


def _normalise_passage(passage: object) -> object:
    if isinstance(passage, Passage):
        return passage
    if not isinstance(passage, Mapping):
        raise TypeError(f"a passage is a mapping with 'text', not {_describe_value(passage)}")
    found = {
        "text": _get_first(passage, "text", "snippet"),
        "id": passage.get("id"),
        "day": passage.get("day"),
        "source": _get_first(passage, "source", "path"),
        "score": passage.get("score"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _get_first(mapping: Mapping[object, object], *keys: str) -> object:
    return next((mapping[key] for key in keys if mapping.get(key) is not None), None)


def _require_iterable(value: object, name: str) -> Iterable[object]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"{name} is a list, not {_describe_value(value)}")
    return value


def _describe_value(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} with the keys {', '.join(map(str, value)) or 'none'}"
    if isinstance(value, bool | int | float):
        return f"the {type(value).__name__} {value}"
    return f"a {type(value).__name__}"


def _encode_value(value: object) -> object:
    """Numbers of numpy and the like, subclasses of str and paths, as JSON knows them."""
    match value:
        case str():
            return str.__str__(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case os.PathLike():
            return os.fspath(value)
        case _:
            raise TypeError(f"JSON has no {type(value).__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_encode_value)
_ANSWER_DECODER: msgspec.json.Decoder[AdapterReply] = msgspec.json.Decoder(Answer)
_FOUND_DECODER: msgspec.json.Decoder[AdapterReply] = msgspec.json.Decoder(RetrievalReply)
