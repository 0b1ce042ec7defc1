"""The JSON schemas of the two replies, for models that can be held to one.

Such models want every key named as required; what may be left out may be null.
"""

from collections.abc import Mapping

from recall_bench.datasets.story import ARC_TYPES

Shape = Mapping[str, object]

_TEXT: Shape = {"type": "string"}
_TEXT_OR_NONE: Shape = {"type": ["string", "null"]}
_WHOLE: Shape = {"type": "integer"}
_WHOLE_OR_NONE: Shape = {"type": ["integer", "null"]}
_FLAG: Shape = {"type": "boolean"}


def persona_shape() -> Shape:
    """Of the reply that describes a persona."""
    return _object(
        name=_TEXT,
        role=_TEXT,
        domain=_TEXT,
        company=_TEXT_OR_NONE,
        institution=_TEXT_OR_NONE,
        team_size=_WHOLE,
        profile=_TEXT,
        communication_style=_TEXT,
        principal=_object(name=_TEXT, role=_TEXT, profile=_TEXT),
        cast=_list(_object(name=_TEXT, role=_TEXT, kind=_word("human", "agent"))),
        sessions=_list(
            _object(
                id=_TEXT,
                kind=_word("1to1", "group"),
                participants=_list(_TEXT),
                isolated=_FLAG,
                shared=_FLAG,
                sensitive_topics=_list(_TEXT),
            )
        ),
        projects=_list(_object(id=_TEXT, name=_TEXT, description=_TEXT)),
        sharedKnowledge=_list(_TEXT),
    )


def story_shape() -> Shape:
    """Of the reply that tells a story."""
    return _object(
        sessions=_list(_object(id=_TEXT, firstDay=_WHOLE_OR_NONE, lastDay=_WHOLE_OR_NONE)),
        arcs=_list(
            _object(
                id=_TEXT,
                type=_word(*ARC_TYPES),
                title=_TEXT,
                description=_TEXT,
                startDay=_WHOLE,
                endDay=_WHOLE,
                primarySession=_TEXT,
                referencedSessions=_list(_TEXT),
                participants=_list(_TEXT),
                wrongDay=_WHOLE_OR_NONE,
                correctedDay=_WHOLE_OR_NONE,
                wrongBelief=_TEXT_OR_NONE,
                correctedBelief=_TEXT_OR_NONE,
                directives=_list(_object(day=_WHOLE, event=_TEXT)),
            )
        ),
    )


def _object(**keys: Shape) -> Shape:
    return {
        "type": "object",
        "properties": keys,
        "required": list(keys),
        "additionalProperties": False,
    }


def _list(items: Shape) -> Shape:
    return {"type": "array", "items": items}


def _word(*words: str) -> Shape:
    return {"type": "string", "enum": list(words)}
