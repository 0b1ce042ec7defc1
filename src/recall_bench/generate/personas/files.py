"""A persona and a story as files: keys in the order people read them, long texts in paragraphs.

The harness reads back what was given, except that texts lose the blanks around them and characters
that YAML cannot hold.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from textwrap import wrap

from recall_bench.datasets.identity import Persona, Session
from recall_bench.datasets.story import Arc, Story
from recall_bench.generate.writable import remove_unwritable
from recall_bench.world.plain_yaml import format_scalar
from recall_bench.yaml12 import Document

_WIDTH = 96
_PLAIN = re.compile(r"[A-Za-z][\w .,;'’()/&%+$€£–—-]*")


def render_persona(persona: Persona) -> str:
    """The content of persona.yaml."""
    return _render_document(
        {
            "id": persona.id,
            "name": persona.name,
            "role": persona.role,
            "domain": persona.domain,
            "company": persona.company,
            "institution": persona.institution,
            "team_size": persona.team_size,
            "epoch": persona.epoch.isoformat() if persona.epoch else None,
            "profile": persona.profile,
            "communication_style": persona.communication_style,
            "principal": persona.principal
            and {
                "name": persona.principal.name,
                "role": persona.principal.role,
                "profile": persona.principal.profile,
            },
            "cast": [{"name": m.name, "role": m.role, "kind": m.kind} for m in persona.cast],
            "sessions": [_convert_session(session) for session in persona.sessions],
            "projects": [
                {"id": p.id, "name": p.name, "description": p.description or None}
                for p in persona.projects
            ],
            "sharedKnowledge": list(persona.shared_knowledge),
        }
    )


def render_story(story: Story, persona: Persona, epoch: date) -> str:
    """The content of an arcs file. Days without a log are meant: nobody writes every day."""
    usual = {session.id: session for session in persona.sessions}
    return _render_document(
        {
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
    )


def _convert_session(session: Session) -> Mapping[str, object]:
    return {
        "id": session.id,
        "kind": session.kind,
        "participants": list(session.participants),
        "isolated": session.isolated or None,
        "shared": session.shared or None,
        "firstDay": session.first_day,
        "lastDay": session.last_day,
        "sensitive_topics": list(session.sensitive_topics),
    }


def _convert_arc(arc: Arc) -> Mapping[str, object]:
    is_correction = arc.type == "correction"
    return {
        "id": arc.id,
        "type": arc.type,
        "title": arc.title,
        "description": arc.description,
        "startDay": arc.start_day,
        "endDay": arc.end_day,
        "primarySession": arc.primary_session,
        "referencedSessions": list(arc.referenced_sessions),
        "forbiddenSessions": list(arc.forbidden_sessions),
        "participants": list(arc.participants),
        "wrongDay": arc.wrong_day if is_correction else None,
        "correctedDay": arc.corrected_day if is_correction else None,
        "wrongBelief": arc.wrong_belief if is_correction else None,
        "correctedBelief": arc.corrected_belief if is_correction else None,
        "directives": [
            {"day": directive.day, "event": directive.event}
            for directive in sorted(arc.directives, key=lambda each: each.day)
        ],
    }


def _render_document(content: Mapping[str, object]) -> str:
    return "".join(f"{line}\n" for line in _render_mapping(content))


def _render_mapping(content: Mapping[str, object]) -> Iterator[str]:
    for key, value in content.items():
        if value is None or value == []:
            continue
        if isinstance(value, Mapping):
            yield f"{key}:"
            yield from (f"  {line}" for line in _render_mapping(value))
        elif isinstance(value, list):
            yield from _render_list(key, value)
        else:
            yield from _render_text(key, value)


def _render_list(key: str, values: list[object]) -> Iterator[str]:
    if all(isinstance(value, str) for value in values):
        texts = [format_scalar(remove_unwritable(str(value))) for value in values]
        if len(key) + sum(len(text) + 2 for text in texts) < _WIDTH:
            yield f"{key}: [{', '.join(texts)}]"
            return
        yield f"{key}:"
        yield from (f"  - {text}" for text in texts)
        return
    yield f"{key}:"
    for value in values:
        assert isinstance(value, Mapping)  # noqa: S101 - a list holds texts or mappings
        for number, line in enumerate(_render_mapping(value)):
            yield f"  - {line}" if number == 0 else f"    {line}"


def _render_text(key: str, value: object) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{key}: {format_scalar(value)}"
        return
    text = remove_unwritable(value)
    line = f"{key}: {text if _is_plain(text) else format_scalar(text)}"
    folded = _fold_text(text) if len(line) > _WIDTH else None
    if folded is None:
        yield line
    else:
        yield f"{key}: >-"
        yield from (f"  {part}" if part else "" for part in folded)


def _fold_text(text: str) -> list[str] | None:
    """The lines of a folded block that reads as this text; None if none does."""
    lines = [part for line in text.split("\n") for part in (*_wrap_line(line), "")]
    block = "".join(f"  {line}\n" if line else "\n" for line in lines[:-1])
    if Document("", f"key: >-\n{block}").content == {"key": text}:
        return lines[:-1]
    return None


def _wrap_line(line: str) -> list[str]:
    return wrap(line, _WIDTH - 8, break_long_words=False, break_on_hyphens=False)


def _is_plain(text: str) -> bool:
    if not _PLAIN.fullmatch(text) or text != text.strip():
        return False
    return Document("", f"key: {text}").content == {"key": text}
