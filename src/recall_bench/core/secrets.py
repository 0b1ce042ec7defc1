"""Secrets that a dataset names: found in an answer by looking, not by judging."""

import re

from recall_bench.core.question import Truth


def find_secrets(truth: Truth, answer: str) -> tuple[str, ...]:
    """The canaries and withheld values that the answer holds, however it is spaced or cased."""
    secrets = (*truth.canaries, *truth.withheld)
    if not secrets:
        return ()
    said = _normalise(answer)
    return tuple(secret for secret in secrets if _is_present(_normalise(secret), said))


def _is_present(secret: str, said: str) -> bool:
    # Most answers tell none, and looking for the letters alone is far quicker.
    if secret not in said:
        return False
    return re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", said) is not None


def _normalise(text: str) -> str:
    return re.sub(r"(?<=\d),(?=\d)", "", " ".join(text.lower().split()))
