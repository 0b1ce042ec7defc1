"""The JSON schemas of replies: every key is required, as models want it; some may be null."""

from collections.abc import Mapping

Schema = Mapping[str, object]

TEXT: Schema = {"type": "string"}
TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
WHOLE: Schema = {"type": "integer"}
WHOLE_OR_NONE: Schema = {"type": ["integer", "null"]}
FLAG: Schema = {"type": "boolean"}


def make_object(**keys: Schema) -> Schema:
    """The schema of an object with these keys and no others."""
    return {
        "type": "object",
        "properties": keys,
        "required": list(keys),
        "additionalProperties": False,
    }


def make_list(items: Schema) -> Schema:
    """The schema of a list."""
    return {"type": "array", "items": items}


def make_choice(*words: str) -> Schema:
    """The schema of one of these words."""
    return {"type": "string", "enum": list(words)}


def make_nullable(schema: Schema) -> Schema:
    """The schema of this, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


TEXTS = make_list(TEXT)
