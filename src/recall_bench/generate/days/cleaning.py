"""A reply made an entry: what is only packing is taken off, what is not an entry is said."""

import re

from recall_bench.generate.rounds import Rejected

_FENCED = re.compile(
    r"\A(?:(?!#)[^\n]*\n+){0,2}(?P<fence>`{3,}|~{3,})[\w-]*[ \t]*\n"
    r"(?P<inside>.*?)\n(?P=fence)\s*\Z",
    re.DOTALL,
)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[\w-]+:[^\n]*\n)*---[ \t]*(?:\n|\Z)")
_SESSION = re.compile(r"^#{1,6}[ \t]*session:[ \t]*(.*?)[ \t#]*$", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*\Z")
_LEVEL = 3


def cleaned(reply: str, session: str) -> str | Rejected:
    """The entry of a session that a reply holds, or why it holds none.

    A fence around it, front matter, an announcing line and the session's own heading are taken
    off; higher headings become topics.
    """
    if "\0" in reply or any("\ud800" <= char <= "\udfff" for char in reply):
        return Rejected(("it holds characters that are no text; write plain text",))
    text = reply.replace("\r\n", "\n").replace("\r", "\n").strip("\ufeff \t\n")
    if match := _FENCED.match(text):
        text = match["inside"].strip()
    text = _FRONT_MATTER.sub("", text, count=1)
    strange = [name for name in _SESSION.findall(text) if name != session]
    if strange:
        problem = (
            f"it has a heading for the session {strange[0]}; write the entry of {session} alone"
        )
        return Rejected((problem,))
    topics = _topics(_SESSION.sub("", text))
    before, told = topics[0][1], [(name, body) for name, body in topics[1:] if body]
    if not told:
        return Rejected(("it has no topic: begin with a line `### topic` and tell it below",))
    if before and not _announces(before):
        return Rejected(("text stands before the first `###` line; put it under a topic",))
    return "\n\n".join(f"### {name}\n{body}" for name, body in told)


def _topics(text: str) -> list[tuple[str, str]]:
    """Each topic's heading and body; what stands before the first is under no heading."""
    found: list[tuple[str, list[str]]] = [("", [])]
    is_code = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        heading = None if is_code else _HEADING.match(line)
        if heading is None or len(heading[1]) > _LEVEL or not heading[2]:
            found[-1][1].append(line.rstrip())
        else:
            found.append((heading[2], []))
    return [(name, "\n".join(lines).strip()) for name, lines in found]


def _announces(text: str) -> bool:
    return "\n" not in text and text.endswith(":")
