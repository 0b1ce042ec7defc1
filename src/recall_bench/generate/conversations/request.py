"""What `generate-conversations` is asked for."""

from dataclasses import dataclass
from typing import Literal

from recall_bench.generate.request import PassRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationsRequest(PassRequest):
    """A story's days, and the form their dialogues take."""

    format: Literal["markdown", "json"] = "markdown"
