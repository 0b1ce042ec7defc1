"""A model's reply becomes a persona or a story, or a list of what is wrong with it.

Everything here is pure. A reply is one JSON object or one YAML document; a fence around it and
words around the fence are forgiven, nothing else is. What comes out was read by the harness's own
loader from the very text that is to be written.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date

from recall_bench.datasets.fields import find_nearest
from recall_bench.datasets.identity import Persona, parse_persona
from recall_bench.datasets.story import Story, parse_story
from recall_bench.errors import BenchError, Malformed
from recall_bench.generate.personas.files import render_persona, render_story
from recall_bench.generate.personas.rules import check_persona, check_story
from recall_bench.generate.rounds import RejectedReply
from recall_bench.yaml12 import Document

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
    """A sound persona, and the text of its file."""

    persona: Persona
    text: str


@dataclass(frozen=True, slots=True)
class NewStory:
    """A sound story, and the text of its file."""

    story: Story
    text: str


def parse_persona_reply(reply: str, name: str, epoch: date) -> NewPersona | RejectedReply:
    """The persona that a reply describes; its id is `name`, whatever the reply says."""
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
    made = parse_persona(Document(_NAME, text), problems)
    if made is None:
        return _make_rejection(problems, ())
    wrong = check_persona(made)
    return RejectedReply(wrong) if wrong else NewPersona(made, text)


def parse_story_reply(
    reply: str, persona: Persona, days: int, epoch: date
) -> NewStory | RejectedReply:
    """The story of so many days that a reply tells of this persona."""
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
    made = parse_story(Document(_NAME, text), persona, problems, [])
    if made is None:
        return _make_rejection(problems, ())
    wrong = check_story(persona, made, days)
    return RejectedReply(wrong) if wrong else NewStory(made, text)


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
    """The reply as YAML that means the same, and what keeps it from being JSON.

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
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is given twice in one object")
        found[key] = value
    return found


def _make_rejection(problems: list[BenchError], slips: Collection[str]) -> RejectedReply:
    said = (_PLACE.sub("", str(problem), count=1) for problem in problems)
    return RejectedReply((*slips, *(re.sub(r"^holds ", "it holds ", each) for each in said)))


def _find_key_slips(content: object, known: Collection[str], subject: str) -> Iterator[str]:
    """Keys that are nearly those of the format: what they hold would be lost without a word."""
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
    known = [session.id for session in persona.sessions]
    parts = content.get("sessions") if isinstance(content, dict) else None
    for part in parts if isinstance(parts, list) else ():
        name = part.get("id") if isinstance(part, dict) else None
        if isinstance(name, str) and name not in known:
            yield f"there is no session {name}; the persona has {', '.join(known)}"
