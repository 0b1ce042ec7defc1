"""A question to a language model that has two answers, yes and no.

A reply is a ruling only if it came to its own end and is one of the two words, in any case, with at
most a full stop after it. Whatever else comes back is asked for again, twice, with a reminder; then
there is no ruling.
"""

import re
from dataclasses import dataclass, replace

from recall_bench.errors import (
    JudgeBusy,
    JudgeFault,
    JudgeGone,
    ModelBusy,
    ModelFault,
    ModelGone,
    UnreadableVerdict,
)
from recall_bench.judging.protocols.score import Bill
from recall_bench.models.model import Finish, Model, Prompt, Reply

YES_NO_ATTEMPTS = 3
"""How often a model is asked before it counts as unreadable."""

REMINDER = "\n\nReply with the single word yes or the single word no, and nothing else."

_RULING = re.compile(r"\s*(yes|no)\.?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class YesNoRuling:
    """What the model said, and at which attempt."""

    is_yes: bool
    attempts: int


async def ask_yes_or_no(model: Model, prompt: Prompt, bill: Bill) -> YesNoRuling:
    """The model's ruling; UnreadableVerdict if it gives none, another JudgeFault if it fails."""
    said = ""
    for attempt in range(1, YES_NO_ATTEMPTS + 1):
        reply = await _complete(model, prompt)
        bill(reply.usage)
        ruling = _RULING.fullmatch(reply.text)
        if ruling and reply.finish is Finish.STOP:
            return YesNoRuling(ruling[1].lower() == "yes", attempt)
        said = f"{reply.text[:120]!r} ({reply.finish})"
        # Asked in the same words, a model at temperature 0 or a cache would say the same again.
        prompt = replace(prompt, user=prompt.user + REMINDER)
    raise UnreadableVerdict(
        f"{model.name} was asked {YES_NO_ATTEMPTS} times for yes or no and last replied {said}; "
        "use another judge model"
    )


async def _complete(model: Model, prompt: Prompt) -> Reply:
    try:
        return await model.complete(prompt)
    except ModelBusy as error:
        raise JudgeBusy(str(error), error.retry_after_s) from error
    except ModelGone as error:
        raise JudgeGone(str(error)) from error
    except ModelFault as error:
        raise JudgeFault(str(error)) from error
