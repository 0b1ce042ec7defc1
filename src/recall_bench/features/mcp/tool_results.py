"""The results in a tool's reply, as the map describes them."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from recall_bench.core.child_process import quote_bytes
from recall_bench.core.errors import NotAnAnswer, SystemFault
from recall_bench.core.untrusted_json import decode_untrusted_json, is_too_deep
from recall_bench.features.mcp.server_map import ListSpec, find_matches
from recall_bench.systems.builtin.word_index import list_stop_words

if TYPE_CHECKING:
    import regex
    from mcp_types import CallToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolHit:
    """One result."""

    text: str
    id: str | None = None
    """The server's name of it."""
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """The reply of a tool."""

    texts: tuple[str, ...]
    structured: object = None

    @property
    def text(self) -> str:
        """All its text."""
        return "\n".join(self.texts)


def parse_tool_result(result: "CallToolResult", tool: str) -> ToolReply:
    """The reply in a result; SystemFault with its text if the tool failed."""
    texts = tuple(block.text for block in result.content if block.type == "text")
    reply = ToolReply(texts=texts, structured=result.structured_content)
    if result.is_error:
        why = " ".join(reply.text.split())[:300] or "without saying why"
        raise SystemFault(f"the tool {tool} failed: {why}")
    return reply


def parse_hits(reply: ToolReply, search: ListSpec) -> list[ToolHit]:
    """The results in the server's order; NotAnAnswer if the reply does not match the map."""
    if search.pattern is not None:
        return _match_hits(reply.text, search)
    if search.text is None:
        return [ToolHit(text=text) for text in reply.texts]
    return [_build_hit(result, search) for result in _list_results(reply, search)]


def read_new_id(reply: ToolReply, search: ListSpec) -> str | None:
    """The id that a reply to a write names, at the path that ids have in results; else None."""
    if search.id is None:
        return None
    document = reply.structured
    if document is None:
        with suppress(msgspec.DecodeError):
            document = decode_untrusted_json(reply.text, object)
    new_id = _follow_path(document, search.id)
    return str(new_id) if isinstance(new_id, str | int) and not isinstance(new_id, bool) else None


def _match_hits(reply: str, search: ListSpec) -> list[ToolHit]:
    matches = find_matches(search.pattern or "", reply, f"{search.section}.pattern")
    hits = [_build_matched_hit(match) for match in matches]
    if hits or not reply.strip() or (search.nothing is not None and search.nothing in reply):
        return hits
    raise NotAnAnswer(
        f"the tool {search.tool} replied {_quote_text(reply)}, which contains neither a match of "
        f"{search.section}.pattern nor {search.section}.nothing; correct the map"
    )


def _build_matched_hit(match: "regex.Match[str]") -> ToolHit:
    groups = match.groupdict()
    score = groups.get("score")
    return ToolHit(
        text=groups["text"].strip(),
        id=groups.get("id"),
        score=None if score is None else _parse_score(score, "the group score"),
    )


def _list_results(reply: ToolReply, search: ListSpec) -> Sequence[object]:
    if search.results is None:
        return [_decode_json(text, search) for text in reply.texts]
    results = _follow_path(reply.structured, search.results)
    if not isinstance(results, list):
        results = _follow_path(_decode_json(reply.text, search), search.results)
    if not isinstance(results, list):
        raise NotAnAnswer(
            f"the tool {search.tool} replied {_quote_text(reply.text)}, which has no list at "
            f"{search.results!r}; correct {search.section}.results of the map"
        )
    return results


def _decode_json(text: str, search: ListSpec) -> object:
    try:
        return decode_untrusted_json(text, object)
    except msgspec.DecodeError as error:
        raise NotAnAnswer(
            f"the tool {search.tool} replied {_quote_text(text)} where JSON was expected "
            f"({error}); correct {search.section} of the map"
        ) from error


def _build_hit(found: object, search: ListSpec) -> ToolHit:
    if is_too_deep(found):
        raise NotAnAnswer(f"the tool {search.tool} found what is nested too deeply")
    paths = (search.text,) if isinstance(search.text, str) else search.text or ()
    parts = [_join_text(_follow_path(found, path)) for path in paths]
    if not any(parts):
        raise NotAnAnswer(
            f"the tool {search.tool} found {_quote_text(msgspec.json.encode(found).decode())}, "
            f"which has no text at {' or '.join(map(repr, paths))}; correct {search.section}.text "
            "of the map"
        )
    score = None if search.score is None else _follow_path(found, search.score)
    name = None if search.id is None else _follow_path(found, search.id)
    return ToolHit(
        text="\n".join(filter(None, parts)),
        id=None if name is None else str(name),
        score=None if score is None else _parse_score(score, search.score or ""),
    )


def _join_text(value: object) -> str | None:
    """A text, or several texts joined by line breaks; None for anything else."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    return value if isinstance(value, str) else None


def _parse_score(score: object, where: str) -> float:
    try:
        return float(score)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise NotAnAnswer(
            f"{score!r:.80} at {where} is no number; correct search.score of the map"
        ) from error


def _follow_path(value: object, path: str) -> object:
    """What the path leads to; None if it leads nowhere."""
    for step in filter(None, path.split(".")):
        match value:
            case dict() if step in value:
                value = value[step]
            case list() if step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            case _:
                return None
    return value


def _quote_text(text: str) -> str:
    return quote_bytes(text.encode())


_WORD = re.compile(r"\w\w+")


def extract_keywords(question: str) -> tuple[str, ...]:
    """The words to search for, each once, in the order of the question."""
    ignored = list_stop_words()
    words = dict.fromkeys(_WORD.findall(question.lower()))
    return tuple(word for word in words if word not in ignored)


def rank_hits(found: Sequence[Sequence[ToolHit]], notes: int) -> list[ToolHit]:
    """The results of all words, each once, those with the most and rarest words first."""
    points: dict[str, float] = {}
    hits: dict[str, ToolHit] = {}
    for hits_of_word in found:
        if not hits_of_word:
            continue
        weight = math.log(max(notes, len(hits_of_word)) / len(hits_of_word))
        for hit in hits_of_word:
            name = hit.text if hit.id is None else hit.id
            points[name] = points.get(name, 0.0) + weight
            hits.setdefault(name, hit)
    places = {name: place for place, name in enumerate(hits)}
    best = sorted(points, key=lambda name: (points[name], places[name]), reverse=True)
    return [
        ToolHit(text=hits[name].text, id=hits[name].id, score=round(points[name], 6))
        for name in best
    ]
