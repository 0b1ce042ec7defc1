"""The instructions of all prompts, one file each in `prompts`."""

from functools import cache
from pathlib import Path

from recall_bench.systems.models.model import FencedText, Prompt

_FOLDER = Path(__file__).parent / "prompts"


@cache
def load_prompt(name: str) -> str:
    """Return the text of this name; a backslash at the end of a line joins it with the next."""
    text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return text.replace("\\\n", "").removesuffix("\n")


def build_task_prompt(name: str, blocks: FencedText, **values: object) -> Prompt:
    """Return the prompt of a pass: its system message, its task with these values, the blocks."""
    task = load_prompt(f"{name}-task").format(**values)
    return Prompt(
        system=load_prompt(f"{name}-system").format(mark=blocks.mark),
        user=f"{task}\n\n{blocks.text}",
    )
