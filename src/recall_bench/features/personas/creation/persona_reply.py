"""Replies with a persona or a story: parsed, checked, and rendered as the files they become.

A reply is one JSON object or one YAML document, possibly in a fence. The result was parsed by our
own loader from the text that is written. Texts lose surrounding blanks and characters that YAML
cannot hold.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

import msgspec

from recall_bench.core.errors import BenchError, Malformed
from recall_bench.core.plain_text import find_nearest
from recall_bench.core.yaml12 import Document
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.features.personas.creation.story_rules import check_persona, check_story
from recall_bench.features.personas.model_reply import RejectedReply, remove_unwritable
from recall_bench.stories.persona_story import (
    Arc,
    Persona,
    Story,
    parse_persona,
    parse_story,
)


def render_persona(persona: Persona) -> str:
    """The content of persona.yaml."""
    return dump_yaml(_clean(msgspec.to_builtins(persona)))


def render_story(story: Story, persona: Persona, epoch: date) -> str:
    """The content of an arcs file; `gaps` allows days without a log."""
    usual = {session.id: session for session in persona.sessions}
    content = {
        "epoch": epoch.isoformat(),
        "gaps": True,
        "sessions": [
            {"id": session.id, "firstDay": session.first_day, "lastDay": session.last_day}
            for session in story.sessions
            if session != usual[session.id]
        ],
        "arcs": [
            _convert_arc(arc)
            for arc in sorted(story.arcs, key=lambda arc: (arc.start_day, arc.end_day))
        ],
    }
    return dump_yaml(_clean(content))


def _convert_arc(arc: Arc) -> Mapping[str, object]:
    in_order = sorted(arc.directives, key=lambda directive: directive.day)
    ordered = arc.replace(directives=tuple(in_order))
    if arc.type != "correction":
        ordered = ordered.replace(
            wrong_day=None, corrected_day=None, wrong_belief=None, corrected_belief=None
        )
    results: Mapping[str, object] = msgspec.to_builtins(ordered)
    return results


def _clean(content: object) -> object:
    """The content without empty keys, and without characters that YAML cannot hold."""
    if isinstance(content, Mapping):
        return {key: _clean(value) for key, value in content.items() if value not in (None, [], ())}
    if isinstance(content, list | tuple):
        return [_clean(value) for value in content]
    return remove_unwritable(content) if isinstance(content, str) else content


_NAME = "the reply"
_PLACE = re.compile(rf"{_NAME}(?:, line \d+)?: ")
_FENCED = re.compile(r"^```[^\n`]*\n(.*?)(?:^```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)

_PERSONA_KEYS = (
    "id name role domain company institution team_size epoch profile communication_style projects "
    "principal cast sessions sharedKnowledge"
).split()
_SESSION_KEYS = "id kind participants isolated shared firstDay lastDay sensitive_topics".split()
_STORY_KEYS = "epoch gaps sessions arcs".split()
_ARC_KEYS = (
    "id type title description startDay endDay primarySession referencedSessions participants "
    "forbiddenSessions wrongDay correctedDay wrongBelief correctedBelief directives"
).split()


@dataclass(frozen=True, slots=True)
class NewPersona:
    """A valid persona and the content of its file."""

    persona: Persona
    text: str


@dataclass(frozen=True, slots=True)
class NewStory:
    """A valid story and the content of its file."""

    story: Story
    text: str


def parse_persona_reply(reply: str, name: str, epoch: date) -> NewPersona | RejectedReply:
    """The persona in a reply; its id is `name` in any case."""
    document = _parse_document(reply, _PERSONA_KEYS)
    if isinstance(document, RejectedReply):
        return document
    if isinstance(document.content, dict):
        document.content |= {"id": name, "epoch": epoch.isoformat()}
    problems: list[BenchError] = []
    persona = parse_persona(document, problems)
    slips = (
        *_find_key_slips(document.content, _PERSONA_KEYS, "the persona"),
        *_find_key_slips_in(document.content, "sessions", _SESSION_KEYS),
    )
    if persona is None or slips:
        return _make_rejection(problems, slips)
    text = render_persona(persona)
    persona_reply = parse_persona(Document(_NAME, text), problems)
    if persona_reply is None:
        return _make_rejection(problems, ())
    wrong = check_persona(persona_reply)
    return RejectedReply(wrong) if wrong else NewPersona(persona_reply, text)


def parse_story_reply(
    reply: str, persona: Persona, days: int, epoch: date
) -> NewStory | RejectedReply:
    """The story in a reply."""
    document = _parse_document(reply, _STORY_KEYS)
    if isinstance(document, RejectedReply):
        return document
    if isinstance(document.content, dict):
        document.content |= {"epoch": epoch.isoformat(), "gaps": True}
    problems: list[BenchError] = []
    story = parse_story(document, persona, problems, [])
    slips = (
        *_find_key_slips(document.content, _STORY_KEYS, "the story"),
        *_find_key_slips_in(document.content, "arcs", _ARC_KEYS),
        *_find_unknown_sessions(document.content, persona),
    )
    if story is None or slips:
        return _make_rejection(problems, slips)
    text = render_story(story, persona, epoch)
    story_reply = parse_story(Document(_NAME, text), persona, problems, [])
    if story_reply is None:
        return _make_rejection(problems, ())
    wrong = check_story(persona, story_reply, days)
    return RejectedReply(wrong) if wrong else NewStory(story_reply, text)


def _parse_document(reply: str, known: Collection[str]) -> Document | RejectedReply:
    bodies = _FENCED.findall(reply)
    if len(bodies) > 1:
        return RejectedReply(
            (f"it holds {len(bodies)} fenced blocks; write one JSON object alone",)
        )
    body = bodies[0] if bodies else reply
    source, fault = _convert_to_yaml(body)
    try:
        document = Document(_NAME, source.encode(errors="replace").decode())
    except Malformed as error:
        if fault is not None and body.lstrip().startswith("{"):
            return RejectedReply((f"it is not JSON: {fault}",))
        place = str(error).removeprefix(_NAME).removeprefix(", ").replace(": ", " ", 1)
        return RejectedReply((f"{place.strip()}; write one JSON object and no words around it",))
    match document.content:
        case dict() as content if len(content) == 1:
            [(key, inner)] = content.items()
            if isinstance(inner, dict) and key not in known:
                return RejectedReply(
                    (f"everything stands under the key {key!r}; leave that level out",)
                )
    return document


def _convert_to_yaml(body: str) -> tuple[str, str | None]:
    """The reply as equivalent YAML, and why it is no JSON.

    JSON has escapes and tabs that a parser of YAML 1.1 does not understand.
    """
    try:
        content = json.loads(body, object_pairs_hook=_reject_repeats)
        return json.dumps(content, ensure_ascii=False, indent=1), None
    except RecursionError:
        return body, "it is nested too deeply"
    except ValueError as error:
        return body, str(error)


def _reject_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping: dict[str, object] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"the key {key!r} is given twice in one object")
        mapping[key] = value
    return mapping


def _make_rejection(problems: list[BenchError], slips: Collection[str]) -> RejectedReply:
    messages = (_PLACE.sub("", str(problem), count=1) for problem in problems)
    return RejectedReply((*slips, *(re.sub(r"^holds ", "it holds ", item) for item in messages)))


def _find_key_slips(content: object, known: Collection[str], subject: str) -> Iterator[str]:
    """Misspelled keys, whose values would be ignored silently."""
    for key in content if isinstance(content, dict) else ():
        near = None if key in known else find_nearest(str(key), known, cutoff=0.85)
        if near is not None:
            yield f"{subject} has a key {key!r}; it is called {near}"


def _find_key_slips_in(content: object, key: str, known: Collection[str]) -> Iterator[str]:
    parts = content.get(key) if isinstance(content, dict) else None
    for number, part in enumerate(parts if isinstance(parts, list) else (), start=1):
        name = part.get("id", f"number {number}") if isinstance(part, dict) else None
        yield from _find_key_slips(part, known, f"{key.removesuffix('s')} {name}")


def _find_unknown_sessions(content: object, persona: Persona) -> Iterator[str]:
    existing = [session.id for session in persona.sessions]
    parts = content.get("sessions") if isinstance(content, dict) else None
    for part in parts if isinstance(parts, list) else ():
        name = part.get("id") if isinstance(part, dict) else None
        if isinstance(name, str) and name not in existing:
            yield f"there is no session {name}; the persona has {', '.join(existing)}"
