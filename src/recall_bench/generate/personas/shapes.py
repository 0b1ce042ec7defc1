"""The JSON schemas of the two replies, for models that can be held to one.

Such models want every key named as required; what may be left out may be null.
"""

from collections.abc import Mapping

from recall_bench.datasets.story import ARC_TYPES

Schema = Mapping[str, object]

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
_WHOLE: Schema = {"type": "integer"}
_WHOLE_OR_NONE: Schema = {"type": ["integer", "null"]}
_FLAG: Schema = {"type": "boolean"}


def build_persona_schema() -> Schema:
    """Of the reply that describes a persona."""
    return _make_object(
        name=_TEXT,
        role=_TEXT,
        domain=_TEXT,
        company=_TEXT_OR_NONE,
        institution=_TEXT_OR_NONE,
        team_size=_WHOLE,
        profile=_TEXT,
        communication_style=_TEXT,
        principal=_make_object(name=_TEXT, role=_TEXT, profile=_TEXT),
        cast=_make_list(_make_object(name=_TEXT, role=_TEXT, kind=_make_choice("human", "agent"))),
        sessions=_make_list(
            _make_object(
                id=_TEXT,
                kind=_make_choice("1to1", "group"),
                participants=_make_list(_TEXT),
                isolated=_FLAG,
                shared=_FLAG,
                sensitive_topics=_make_list(_TEXT),
            )
        ),
        projects=_make_list(_make_object(id=_TEXT, name=_TEXT, description=_TEXT)),
        sharedKnowledge=_make_list(_TEXT),
    )


def build_story_schema() -> Schema:
    """Of the reply that tells a story."""
    return _make_object(
        sessions=_make_list(
            _make_object(id=_TEXT, firstDay=_WHOLE_OR_NONE, lastDay=_WHOLE_OR_NONE)
        ),
        arcs=_make_list(
            _make_object(
                id=_TEXT,
                type=_make_choice(*ARC_TYPES),
                title=_TEXT,
                description=_TEXT,
                startDay=_WHOLE,
                endDay=_WHOLE,
                primarySession=_TEXT,
                referencedSessions=_make_list(_TEXT),
                participants=_make_list(_TEXT),
                wrongDay=_WHOLE_OR_NONE,
                correctedDay=_WHOLE_OR_NONE,
                wrongBelief=_TEXT_OR_NONE,
                correctedBelief=_TEXT_OR_NONE,
                directives=_make_list(_make_object(day=_WHOLE, event=_TEXT)),
            )
        ),
    )


def _make_object(**keys: Schema) -> Schema:
    return {
        "type": "object",
        "properties": keys,
        "required": list(keys),
        "additionalProperties": False,
    }


def _make_list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _make_choice(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}
