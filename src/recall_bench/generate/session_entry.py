"""A reply as one session's entry of a day, cleared of what models put around it."""

import re

from recall_bench.generate.rounds import Rejected

_FENCE = re.compile(r"\A```[\w-]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\s*\n.*?\n---\s*(?:\n|\Z)", re.DOTALL)
_SESSION = re.compile(r"^#{1,3}[ \t]*session:[ \t]*(\S+)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_TOO_HIGH = re.compile(r"^#{1,2}[ \t]+\S.*$", re.MULTILINE)


def entry_of(reply: str, session: str) -> str | Rejected:
    """The entry's text: `###` topics and prose, without front matter, fence or session heading.

    The heading of this session is forgiven; that of another is not.
    """
    text = reply.replace("\r\n", "\n").strip()
    fenced = _FENCE.match(text)
    text = _FRONT_MATTER.sub("", fenced[1] if fenced else text).strip()
    others = sorted({name for name in _SESSION.findall(text) if name != session})
    if others:
        return Rejected(
            tuple(f"it tells of session {name}; write {session} alone" for name in others)
        )
    text = _SESSION.sub("", text).strip()
    if found := _TOO_HIGH.search(text):
        return Rejected((f"{found[0]!r:.80} is a heading of a higher level; use `###` only",))
    if not text:
        return Rejected(("it is empty",))
    return re.sub(r"\n{3,}", "\n\n", text)
