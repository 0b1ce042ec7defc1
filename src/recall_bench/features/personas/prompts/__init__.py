"""The instructions of the prompts, one file each."""

from pathlib import Path

from recall_bench.systems.models.model import FencedText, Prompt
from recall_bench.systems.models.prompt_text import read_prompt

_FOLDER = Path(__file__).parent


def load_prompt(name: str) -> str:
    """Return the instructions of this name."""
    return read_prompt(_FOLDER / f"{name}.md")


def build_task_prompt(name: str, blocks: FencedText, **values: object) -> Prompt:
    """Return the prompt of a pass: its system message, its task with these values, the blocks."""
    task = load_prompt(f"{name}-task").format(**values)
    return Prompt(
        system=load_prompt(f"{name}-system").format(mark=blocks.mark),
        user=f"{task}\n\n{blocks.text}",
    )
