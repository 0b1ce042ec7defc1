"""What a server that refuses a request may be spared in the next one.

Compatible servers differ: one knows no JSON schema, another no temperature, a third finds our
limit on tokens too high for its window. What we chose on our own can be left out; what the user
asked for cannot. A refusal that names such a thing costs one call, which the caller repeats.
"""

import re

_REFUSABLE = {
    "schema": re.compile(
        r"response_format|json_schema|output_format|output_config|text\.format|structured.output",
        re.IGNORECASE,
    ),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "max_tokens": re.compile(r"max_(completion_|output_)?tokens", re.IGNORECASE),
}


class Concessions:
    """Grows with what one server refuses."""

    def __init__(self) -> None:
        self._made: set[str] = set()

    def __contains__(self, what: str) -> bool:
        return what in self._made

    def yield_to(self, refusal: str, sent: set[str]) -> str | None:
        """What to leave out from now on, of what was sent, because the refusal names it."""
        for what, words in _REFUSABLE.items():
            if what in sent and words.search(refusal):
                self._made.add(what)
                return what.replace("_", " ")
        return None
