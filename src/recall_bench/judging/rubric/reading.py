"""What a model replied, read as a verdict or refused; never half of each."""

import re
from dataclasses import dataclass

from recall_bench.core.verdict import SCALES, Verdict
from recall_bench.errors import UnreadableVerdict
from recall_bench.judging.reply import read_strictly
from recall_bench.judging.rubric.prompt import KEYS
from recall_bench.models.model import Finish, Reply

_WHOLLY_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\n(?P<inside>[^`]*)\n[ \t]*```\s*")

_SCALES = ", ".join(f"{mark} from 0 to {most}" for mark, most in SCALES.items())


@dataclass(frozen=True, slots=True)
class Unusable:
    """A reply that is no verdict."""

    problem: str
    """For people. It may quote the reply."""
    advice: str
    """For the model. It never quotes the reply, which may repeat what an answer wanted said."""


def read_verdict(reply: Reply) -> Verdict | Unusable:
    """The verdict that a whole reply spells, or why it is none.

    One code fence around the whole is taken off, as chat models put it there unasked.
    """
    match reply.finish:
        case Finish.LENGTH:
            return Unusable(
                "it was cut off at the most tokens allowed",
                "it was too long and was cut off. Give the JSON object at once, and a reason of "
                "one short sentence.",
            )
        case Finish.FILTERED:
            return Unusable(
                "the provider's content filter withheld it",
                "it was withheld by a content filter. Give the marks, and a reason that quotes "
                "nothing from the case.",
            )
    fenced = _WHOLLY_FENCED.fullmatch(reply.text)
    try:
        return read_strictly(fenced["inside"] if fenced else reply.text, KEYS)
    except UnreadableVerdict as error:
        return Unusable(
            str(error),
            f"it was not one bare JSON object with exactly the keys {', '.join(KEYS)}, where "
            f"reason is a text and the marks are whole numbers: {_SCALES}.",
        )
