"""Hash seeds of other processes, which order sets of texts differently than this one does."""

import os

from tests.thoroughness import choose_cases


def list_other_hash_seeds() -> list[str]:
    """List fixed hash seeds that are not this process's: one, or several in exhaustive tests."""
    own = os.environ.get("PYTHONHASHSEED")
    return choose_cases([seed for seed in ("1", "2", "3", "4") if seed != own], 1)
