"""One memory: a Markdown file, with or without tagged parts or front matter.

Agents write these files, so none is refused; `text` always holds the whole file.

* A part begins with its tag at the start of a line and ends with its tag at the end of one, in
  any order and case. Tags within a line or in a code block are text, and parts may be nested:
  memories may describe this format.
* A part that is never closed ends at the next part or at the end of the file, as in a truncated
  file.
* Front matter that is not a YAML mapping is text: a page may begin with a rule.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import PurePosixPath

import msgspec

from recall_bench.core.errors import Malformed
from recall_bench.core.record import Record
from recall_bench.core.yaml12 import Document

METADATA, HINT, KEYWORDS, BODY = "memory-metadata", "conditional", "fuzzy-match", "memory"

_OPEN = re.compile(
    rf"[ \t]*<({METADATA}|{HINT}|{KEYWORDS}|{BODY})[ \t]*>(.*)", re.IGNORECASE | re.ASCII
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FRONT = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?")
_MARK = re.compile(r"(?:[-*+]|#{1,6})[ \t]+")


class MemoryFile(Record, frozen=True, kw_only=True):
    """A memory file. Line ends are LF in everything but `text`."""

    name: str
    """The name in tests and selections: `memory/travel.md`."""
    text: str
    """The file, verbatim."""
    body: str
    """The `<memory>` part, or the text without front matter and parts, stripped of blank lines."""
    hint: str | None = None
    """When to recall it: the `<conditional>` part, or the front matter's description."""
    keywords: tuple[str, ...] = ()
    """The `<fuzzy-match>` hints, then the front matter's keywords and tags, without repeats in any
    case."""
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    """The `<memory-metadata>` part or the front matter. Values other than text are JSON, empty ones
    are empty. A part that is neither JSON nor YAML is stored under its own tag."""

    @property
    def pointer(self) -> str:
        """The memory in one line: its hint, else its first line, else its title, else its name.

        A line without letters or digits, such as a rule, is skipped.
        """
        texts = (self.hint, _find_first_line(self.body), _find_entry(self.metadata, "title"))
        lines = (" ".join(text.split()) for text in texts if text)
        return next(filter(None, lines), PurePosixPath(self.name).stem)


def read_memory(name: str, text: str) -> MemoryFile:
    """Parse the text of a file; any text is a memory."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    front, rest = _split_front_matter(name, plain)
    parts, outside = _split_parts(rest.split("\n"))
    metadata = {key: _format_value(value) for key, value in front.items()}
    description = _find_entry(metadata, "description")
    for part in parts.get(METADATA, ()):
        metadata |= _parse_metadata(name, part)
    body = "\n\n".join(parts[BODY]) if BODY in parts else outside
    return MemoryFile(
        name=name,
        text=text,
        body=body.strip(),
        hint="\n".join(filter(None, parts.get(HINT, ()))) or description or None,
        keywords=_dedupe([*_split_keywords(parts.get(KEYWORDS, ())), *_list_keywords(front)]),
        metadata=metadata,
    )


def _split_front_matter(name: str, text: str) -> tuple[dict[str, object], str]:
    """Return the front matter, if the text begins with one, and the text after it."""
    match = _FRONT.match(text)
    mapping = _parse_mapping(name, match[1]) if match else None
    return ({}, text) if match is None or mapping is None else (mapping, text[match.end() :])


def _parse_mapping(name: str, source: str) -> dict[str, object] | None:
    """Parse a mapping in YAML or JSON; None if the text is not one."""
    # YAML holds JSON, but not the pairs of escapes that JSON writes an emoji with.
    with suppress(msgspec.DecodeError, RecursionError):
        return msgspec.json.decode(source, type=dict[str, object])
    try:
        content = Document(name, source).content
    except Malformed:
        return None
    if content is None:
        return {}
    if not isinstance(content, dict):
        return None
    return {_format_value(key): value for key, value in content.items()}


def _parse_metadata(name: str, part: str) -> dict[str, str]:
    mapping = _parse_mapping(name, part)
    if mapping is None:
        return {METADATA: part} if part else {}
    return {key: _format_value(value) for key, value in mapping.items()}


def _format_value(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _split_parts(lines: list[str]) -> tuple[dict[str, list[str]], str]:
    """Return the text of every part by its tag, and the text outside of all parts."""
    parts: dict[str, list[str]] = {}
    outside: list[str] = []
    fenced = _find_fences(lines)
    place = 0
    while place < len(lines):
        opening = None if place in fenced else _match_opening(lines[place])
        if opening is None:
            outside.append(lines[place])
            place += 1
            continue
        tag = opening[1].lower()
        end, is_closed = _find_end(lines, place, tag)
        content = [opening[2], *lines[place + 1 : end + 1]]
        if is_closed:
            content[-1] = content[-1].rstrip()[: -len(f"</{tag}>")]
        parts.setdefault(tag, []).append("\n".join(content).strip())
        place = end + 1
        # A code block that a part leaves open ends with the part.
        fenced = _find_fences(lines, place)
    return parts, "\n".join(outside)


def _find_end(lines: list[str], start: int, tag: str) -> tuple[int, bool]:
    """Return the last line of the part that begins here, and whether it closes the part."""
    opens = {place for place in range(start, len(lines)) if _is_opening(lines[place], tag)}
    closes = {
        place
        for place in range(start, len(lines))
        if _is_closing(lines[place], tag)
        and (place in opens or f"<{tag}>" not in lines[place].lower())
    }
    if not closes:
        return _find_before_next(lines, start), False
    fenced = _find_fences(lines, start + 1)
    depth = 0
    for place in range(start, len(lines)):
        if place not in fenced:
            depth += (place in opens) - (place in closes)
            if depth == 0:
                return place, True
    # A code block that is never closed hides the end of the part.
    return max(closes), True


def _is_opening(line: str, tag: str) -> bool:
    opening = _match_opening(line)
    return opening is not None and opening[1].lower() == tag


def _is_closing(line: str, tag: str) -> bool:
    return "</" in line and line.rstrip().lower().endswith(f"</{tag}>")


def _match_opening(line: str) -> re.Match[str] | None:
    # Few lines have a tag, and a folder may have thousands of memories.
    return _OPEN.fullmatch(line) if "<" in line else None


def _find_before_next(lines: list[str], start: int) -> int:
    fenced = _find_fences(lines, start + 1)
    for place in range(start + 1, len(lines)):
        if place not in fenced and _match_opening(lines[place]):
            return place - 1
    return len(lines) - 1


def _find_fences(lines: list[str], start: int = 0) -> set[int]:
    """Return the lines of code blocks from `start`, including their fences."""
    fenced: set[int] = set()
    fence: str | None = None
    for place in range(start, len(lines)):
        line = lines[place]
        found = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence is not None:
            fenced.add(place)
            is_bare = found is not None and not line[found.end() :].strip()
            if found and is_bare and found[1].startswith(fence):
                fence = None
        elif found:
            fenced.add(place)
            fence = found[1]
    return fenced


def _find_first_line(body: str) -> str | None:
    """Return the first line with letters or digits, without the marks of a heading."""
    for line in body.split("\n"):
        if any(char.isalnum() for char in line):
            heading = _HEADING.fullmatch(line.strip())
            return heading[1] if heading else line
    return None


def _split_keywords(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        for word in re.split(r"[,\n]", part):
            yield _MARK.sub("", word.strip(), count=1).strip()


def _list_keywords(front: dict[str, object]) -> Iterator[str]:
    for field_name in ("keywords", "tags"):
        for key, value in front.items():
            if key.lower() == field_name and value is not None:
                words = value if isinstance(value, list) else [value]
                yield from _split_keywords(_format_value(word) for word in words)


def _dedupe(words: Iterable[str]) -> tuple[str, ...]:
    fields: dict[str, str] = {}
    for word in words:
        if word:
            fields.setdefault(word.casefold(), word)
    return tuple(fields.values())


def _find_entry(metadata: dict[str, str], wanted: str) -> str | None:
    return next((value for key, value in metadata.items() if key.lower() == wanted), None)
