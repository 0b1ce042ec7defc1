"""A reply made an entry: what is only packing is taken off, what is not an entry is said."""

import re

from recall_bench.generate.rounds import RejectedReply

_FENCE = re.compile(r"(`{3,}|~{3,})[\w-]*[ \t]*")
_MAX_LINES_BEFORE_FENCE = 2
"""Lines that may stand before a fence."""
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[\w-]+:[^\n]*\n)*---[ \t]*(?:\n|\Z)")
_SESSION = re.compile(r"^#{1,6}[ \t]*session:(.*)$", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)\Z")
_EDGES = " \t#"
"""What a heading does not end with; in the patterns it would be tried at every length."""
_LEVEL = 3


def extract_entry(reply: str, session: str) -> str | RejectedReply:
    """The entry of a session that a reply holds, or why it holds none.

    A fence around it, front matter, an announcing line and the session's own heading are taken
    off; higher headings become topics.
    """
    if "\0" in reply or any("\ud800" <= char <= "\udfff" for char in reply):
        return RejectedReply(("it holds characters that are no text; write plain text",))
    text = reply.replace("\r\n", "\n").replace("\r", "\n").strip("\ufeff \t\n")
    text = _strip_fence(text)
    text = _FRONT_MATTER.sub("", text, count=1)
    named = (name.lstrip(" \t").rstrip(_EDGES) for name in _SESSION.findall(text))
    strange = [name for name in named if name != session]
    if strange:
        problem = (
            f"it has a heading for the session {strange[0]}; write the entry of {session} alone"
        )
        return RejectedReply((problem,))
    topics = _split_topics(_SESSION.sub("", text))
    before, told = topics[0][1], [(name, body) for name, body in topics[1:] if body]
    if not told:
        return RejectedReply(("it has no topic: begin with a line `### topic` and tell it below",))
    if before and not _is_announcement(before):
        return RejectedReply(("text stands before the first `###` line; put it under a topic",))
    return "\n\n".join(f"### {name}\n{body}" for name, body in told)


def _strip_fence(text: str) -> str:
    """What stands in a fence around everything but a line or two that announce it."""
    lines = text.split("\n")
    before = 0
    for place, line in enumerate(lines[:-1]):
        if opening := _FENCE.fullmatch(line):
            is_closed = lines[-1] == opening[1]
            return "\n".join(lines[place + 1 : -1]).strip() if is_closed else text
        before += bool(line)
        if line.startswith("#") or before > _MAX_LINES_BEFORE_FENCE:
            break
    return text


def _split_topics(text: str) -> list[tuple[str, str]]:
    """Each topic's heading and body; what stands before the first is under no heading."""
    found: list[tuple[str, list[str]]] = [("", [])]
    is_code = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        heading = None if is_code else _HEADING.match(line)
        name = heading[2].rstrip(_EDGES) if heading and len(heading[1]) <= _LEVEL else ""
        if name:
            found.append((name, []))
        else:
            found[-1][1].append(line.rstrip())
    return [(name, "\n".join(lines).strip()) for name, lines in found]


def _is_announcement(text: str) -> bool:
    return "\n" not in text and text.endswith(":")
