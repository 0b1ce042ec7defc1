"""What a model replied, read as a verdict or refused; never half of each."""

import re
from dataclasses import dataclass

from recall_bench.core.verdict import SCALES, Verdict
from recall_bench.errors import UnreadableVerdict
from recall_bench.judging.reply import parse_strict
from recall_bench.judging.rubric.prompt import KEYS
from recall_bench.models.model import Finish, Reply

_FENCED_REPLY = re.compile(r"\s*```(?:json)?[ \t]*\n(?P<inside>[^`]*)\n[ \t]*```\s*")

_SCALE_LIST = ", ".join(f"{mark} from 0 to {most}" for mark, most in SCALES.items())


@dataclass(frozen=True, slots=True)
class UnusableReply:
    """A reply that is no verdict."""

    problem: str
    """For people. It may quote the reply."""
    advice: str
    """For the model. It never quotes the reply, which may repeat what an answer wanted said."""


def parse_verdict(reply: Reply) -> Verdict | UnusableReply:
    """The verdict that a whole reply spells, or why it is none.

    One code fence around the whole is taken off, as chat models put it there unasked.
    """
    match reply.finish:
        case Finish.LENGTH:
            return UnusableReply(
                "it was cut off at the most tokens allowed",
                "it was too long and was cut off. Give the JSON object at once, and a reason of "
                "one short sentence.",
            )
        case Finish.FILTERED:
            return UnusableReply(
                "the provider's content filter withheld it",
                "it was withheld by a content filter. Give the marks, and a reason that quotes "
                "nothing from the case.",
            )
    fenced = _FENCED_REPLY.fullmatch(reply.text)
    try:
        return parse_strict(fenced["inside"] if fenced else reply.text, KEYS)
    except UnreadableVerdict as error:
        return UnusableReply(
            str(error),
            f"it was not one bare JSON object with exactly the keys {', '.join(KEYS)}, where "
            f"reason is a text and the marks are whole numbers: {_SCALE_LIST}.",
        )
