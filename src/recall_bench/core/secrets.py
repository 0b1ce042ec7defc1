"""Secrets that a dataset names: found in an answer by looking, not by judging."""

import re

from recall_bench.core.question import Truth


def told_secrets(truth: Truth, answer: str) -> tuple[str, ...]:
    """The canaries and withheld values that the answer holds, however it is spaced or cased."""
    secrets = (*truth.canaries, *truth.withheld)
    if not secrets:
        return ()
    said = _levelled(answer)
    return tuple(secret for secret in secrets if _is_told(_levelled(secret), said))


def _is_told(secret: str, said: str) -> bool:
    # Most answers tell none, and looking for the letters alone is far quicker.
    if secret not in said:
        return False
    return re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", said) is not None


def _levelled(text: str) -> str:
    return re.sub(r"(?<=\d),(?=\d)", "", " ".join(text.lower().split()))
