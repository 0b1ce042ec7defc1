"""What `verify-qa` is asked for."""

from dataclasses import dataclass
from pathlib import Path

from recall_bench.generate.request import PassRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest(PassRequest):
    """Which questions are to be verified; `offline` is by the checks alone."""

    questions: Path | None = None
    """Any question file on the story; None is the story's own."""
    out: Path | None = None
    """The folder that takes what is found; None is the story's own, `qa-<suffix>`."""
