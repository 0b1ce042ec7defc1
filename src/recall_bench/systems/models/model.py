"""A language model: a prompt in, a reply and its price out. Text of others is fenced in prompts."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Protocol, runtime_checkable

from recall_bench.core.errors import UsageError
from recall_bench.core.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request; there is no conversation."""

    system: str
    user: str
    schema: Mapping[str, object] | None = None
    """The JSON schema of the reply, for models that support one."""
    about: str = ""
    """What the reply is for, in a few words for people; no part of the request."""
    variant: str = ""
    """Distinguishes requests with the same text: each variant needs a reply of its own."""


class Finish(StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    LENGTH = "length"
    """Cut off at the token limit."""
    FILTERED = "filtered"
    """Withheld by the provider's content filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The text of a reply, and what it cost."""

    text: str
    usage: Usage
    finish: Finish = Finish.STOP


class Model(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """Identifies the model exactly; holds no secret."""

    @property
    def is_priced(self) -> bool:
        """Whether the cost of a call is known."""

    async def complete(self, prompt: Prompt) -> Reply:
        """Call once, or raise ModelBusy, ModelGone or another ModelFault; the caller retries."""

    async def close(self) -> None:
        """Release connections."""


@runtime_checkable
class RejectionRecorder(Protocol):
    """A model that records which of its replies were rejected."""

    def record_rejection(self, prompt: Prompt, problems: Sequence[str]) -> None:
        """Note that the reply to this prompt cannot be used, and why."""


def report_rejection(model: Model, prompt: Prompt, problems: Sequence[str]) -> None:
    """Report to the model that its reply was rejected, if it records that."""
    if isinstance(model, RejectionRecorder):
        model.record_rejection(prompt, problems)


def make_request_key(prompt: Prompt) -> str:
    """The digest of a request: the same request has the same key in every run."""
    content = [prompt.system, prompt.user, prompt.schema, prompt.variant]
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class FencedText:
    """Blocks ready for a prompt, and the mark on their first and last lines."""

    mark: str
    text: str


def fence_blocks(blocks: Mapping[str, str]) -> FencedText:
    """Put each text between a line `<<name mark>>` and a line `<<end of name mark>>`.

    The mark is a digest of the texts, and none of them contains it, so no text can end its own
    block. Half of a surrogate pair, which cannot be sent, becomes a question mark.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Settings from flags or a profile. They override the spec."""

    temperature: float | None = None
    max_tokens: int | None = None
    """The token limit of a reply."""
    usual_temperature: float | None = None
    """The default for models of providers; None is 0."""

    def __post_init__(self) -> None:
        for temperature in (self.temperature, self.usual_temperature):
            if temperature is not None and not (
                math.isfinite(temperature) and 0 <= temperature <= 2
            ):
                raise UsageError(f"--temperature: takes a number from 0 to 2, not {temperature}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UsageError(f"--max-tokens: takes a whole number from 1, not {self.max_tokens}")


NO_TUNING = Tuning()
"""No settings."""
