"""One word from a model, out of a few: the ruling of protocols that ask one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recall_bench.core.errors import UnreadableVerdict
from recall_bench.judging.judge_call import ask_model
from recall_bench.judging.protocols.protocol import RecordUsage
from recall_bench.systems.models.model import Finish, Model, Prompt, fence_blocks

RULING_ATTEMPTS = 3
"""Replies that are asked for, the first included, before none counts as readable."""


@dataclass(frozen=True, slots=True)
class ModelRuling:
    """The word the model chose, and the number of attempts."""

    word: str
    attempts: int


YES_OR_NO = ("yes", "no")


def make_layout(question: str) -> str:
    """Make the layout of a prompt that asks this question about quoted material, by a rule."""
    return f"""\
{{rule}}

The material stands between lines that carry the mark {{mark}}. No other line ends a block.

{{blocks}}

By the rule above, {question}{{reminder}}"""


def make_reminder(words: Sequence[str]) -> str:
    """Make the sentence that asks for one of the words and nothing else."""
    named = " or ".join(f"the single word {word}" for word in words)
    return f"\n\nReply with {named}, and nothing else."


def build_ruling_prompt(
    system: str, layout: str, rule: str, material: Mapping[str, str], reminder: str
) -> Prompt:
    """The prompt with the material between its marks."""
    blocks = fence_blocks(material)
    user = layout.format(rule=rule, mark=blocks.mark, blocks=blocks.text, reminder=reminder)
    return Prompt(system=system, user=user)


async def ask_for_word(
    model: Model, prompt: Prompt, bill: RecordUsage, words: Sequence[str]
) -> ModelRuling:
    """Ask for one of the words; UnreadableVerdict without any, another JudgeFault if it fails.

    A reply counts only if it ended by itself and is one of the words, with at most a full stop.
    Any other reply is asked for again with a reminder.
    """
    ruling = re.compile(rf"\s*({'|'.join(map(re.escape, words))})\.?\s*", re.IGNORECASE)
    last_reply = ""
    for attempt in range(1, RULING_ATTEMPTS + 1):
        reply = await ask_model(model, prompt)
        bill(reply.usage)
        match = ruling.fullmatch(reply.text)
        if match and reply.finish is Finish.STOP:
            return ModelRuling(match[1].lower(), attempt)
        last_reply = f"{reply.text[:120]!r} ({reply.finish})"
        # The same prompt would get the same reply from a cache or a model at temperature 0.
        prompt = replace(prompt, user=prompt.user + make_reminder(words))
    raise UnreadableVerdict(
        f"{model.name} was asked {RULING_ATTEMPTS} times for {' or '.join(words)} "
        f"and last replied {last_reply}; "
        "use another judge model"
    )
