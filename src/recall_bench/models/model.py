"""A language model, reduced to what we use of it: a prompt in, a reply out, and its price."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Protocol

from recall_bench.core.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is asked, whole: there is no conversation."""

    system: str
    user: str
    schema: Mapping[str, object] | None = None
    """The JSON schema that the reply must follow, for models that can be held to one."""


class Finish(StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    LENGTH = "length"
    """Cut off at the most tokens allowed."""
    FILTERED = "filtered"
    """Withheld by the provider's content filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said, and what it cost."""

    text: str
    usage: Usage
    finish: Finish = Finish.STOP


class Model(Protocol):
    """A language model that can be asked."""

    @property
    def name(self) -> str:
        """Precise enough to ask the same model again, and free of secrets."""
        ...

    @property
    def is_priced(self) -> bool:
        """Whether we can say what a call costs."""
        ...

    async def complete(self, prompt: Prompt) -> Reply:
        """Ask once, or raise ModelBusy, ModelGone or another ModelFault; it is yours to retry."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


@dataclass(frozen=True, slots=True)
class FencedText:
    """Blocks ready for a prompt, and the mark that tells where each begins and ends."""

    mark: str
    text: str


def fence_blocks(blocks: Mapping[str, str]) -> FencedText:
    """Each text between a line `<<name mark>>` and a line `<<end of name mark>>`.

    What cannot be sent, half of a surrogate pair, becomes a question mark.
    """
    bodies = {name: text.encode(errors="replace").decode() for name, text in blocks.items()}
    mark = _make_mark(tuple(bodies.values()))
    text = "\n\n".join(
        f"<<{name} {mark}>>\n{body}\n<<end of {name} {mark}>>" for name, body in bodies.items()
    )
    return FencedText(mark, text)


def _make_mark(bodies: tuple[str, ...]) -> str:
    digest = sha256("\0".join(bodies).encode())
    while any(digest.hexdigest()[:16] in body for body in bodies):
        digest.update(b"\0")
    return digest.hexdigest()[:16]
