"""Reads YAML files that describe a server, with errors that name file, line and key."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.folders import digest_file
from recall_bench.core.yaml12 import Document

T = TypeVar("T", bound=msgspec.Struct)


class YamlSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping in the file; an unknown key is an error."""


def shorten_digest(path: Path) -> str:
    """Twelve digits that change with the file, which is not recorded itself: it may hold keys."""
    return digest_file(path)[:12]


def parse_section(
    document: Document, kind: type[T], sections: Mapping[str, type[msgspec.Struct]], *, place: str
) -> T:
    """The document as this kind of file; UsageError names the file, the line and the key.

    `sections` are the mappings below the top level, and `place` is an example of a text in braces,
    which YAML reads as a mapping if it is not quoted.
    """
    try:
        return msgspec.convert(document.content, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).replace("`", "").partition(" - at ")
    # msgspec writes [...] for any place in a mapping or a list.
    key = re.sub(r"\[.*", "", path.removeprefix("$").removeprefix("."))
    keys = [*filter(None, key.split("."))]
    if unknown := re.search(r"unknown field (\S+)", problem):
        fields = msgspec.structs.fields(sections[keys[0]] if keys else kind)
        raise UsageError(
            f"{document.describe_place(*keys, unknown[1])}: "
            f"{'.'.join([*keys, unknown[1]])} is not a key here; "
            f"there are {', '.join(each.name for each in fields)}"
        )
    hint = "correct it"
    if problem.endswith("got object") and keys[-1:] != ["arguments"]:
        hint = f'put what has braces in quotes, as in "{place}"'
    elif problem.startswith("Expected str"):
        hint = "put it in quotes"
    elif "missing required field" in problem:
        hint = "add it"
    subject = ".".join(keys) or "the file"
    raise UsageError(f"{document.describe_place(*keys)}: {subject}: {problem.lower()}; {hint}")
