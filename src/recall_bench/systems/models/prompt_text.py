"""The instructions of prompts, which lie in files beside the code that sends them."""

from functools import cache
from pathlib import Path


@cache
def read_prompt(path: Path) -> str:
    """Return a file's text; a backslash at the end of a line joins it with the next."""
    text = path.read_text(encoding="utf-8")
    return text.replace("\\\n", "").removesuffix("\n")
