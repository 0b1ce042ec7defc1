"""Ask, look at the reply, and ask again with what was wrong with it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from recall_bench.errors import BenchError, ModelFault, ModelGone
from recall_bench.generate.caller import Caller
from recall_bench.models.fencing import fenced
from recall_bench.models.model import Finish, Prompt, Reply

T = TypeVar("T")

ATTEMPTS = 3
"""How many new calls a run spends on one thing."""

_MOST_SHOWN = 12
_MOST_QUOTED = 60_000
"""Characters of a rejected reply that go back; no sound one is longer."""
_ENDS = {
    Finish.LENGTH: "the reply was cut off at the most tokens allowed; write less",
    Finish.FILTERED: "the reply was withheld by the content filter; word it otherwise",
}


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why a reply cannot be used: one sentence for each thing, addressed to its author."""

    problems: tuple[str, ...]


class Unwritten(BenchError):
    """A model was asked as often as allowed, and nothing it replied could be used."""


async def accepted(
    caller: Caller,
    unit: str,
    prompt: Prompt,
    read: Callable[[str], T | Rejected],
    *,
    attempts: int = ATTEMPTS,
    reads_cut: bool = False,
) -> T:
    """What `read` makes of the first reply that it does not reject.

    A rejected reply goes back with its problems. Replies on record are read first and cost no
    attempt, so that a later run goes on with the mending where this one gave up. Unwritten if no
    reply could be used; ModelGone and BudgetSpent as the caller raises them. `reads_cut` gives
    `read` also what was cut off at the most tokens allowed.
    """
    asking, spent, number = prompt, 0, 0
    reason = "it was not asked"
    last: Reply | None = None
    while spent < attempts:
        try:
            reply, is_new = await caller.reply(asking, unit, number)
        except ModelGone:
            raise
        except ModelFault as fault:
            spent += 1
            reason = str(fault)
            continue
        spent += is_new
        number += 1
        found = _read(reply, read, reads_cut=reads_cut)
        if not isinstance(found, Rejected):
            caller.was_useful()
            return found
        reason, last = "; ".join(found.problems), reply
        asking = mended(prompt, reply.text, found)
    caller.was_useless(reason)
    raise Unwritten(reason if last is None else f"{reason}{_quoted(last)}")


def _quoted(reply: Reply) -> str:
    """How the reply that was rejected last began, for whoever wonders what the model is doing."""
    if reply.finish is Finish.LENGTH:
        return " (a higher --max-tokens allows more)"
    text = " ".join(reply.text.split())
    return f" (it said {text!r:.60})" if text else " (it said nothing)"


def _read(reply: Reply, read: Callable[[str], T | Rejected], *, reads_cut: bool) -> T | Rejected:
    if reply.finish is Finish.STOP or (reads_cut and reply.finish is Finish.LENGTH):
        return read(reply.text)
    return Rejected((_ENDS[reply.finish],))


def mended(prompt: Prompt, reply: str, rejected: Rejected) -> Prompt:
    """The same request with the reply that was rejected and what is wrong with it."""
    blocks = fenced({"rejected reply": reply[:_MOST_QUOTED]})
    problems = "\n".join(f"- {problem}" for problem in rejected.problems[:_MOST_SHOWN])
    more = len(rejected.problems) - _MOST_SHOWN
    if more > 0:
        problems += f"\n- and {more} more of the kind"
    return replace(
        prompt,
        user=f"{prompt.user}\n\nAn earlier reply was rejected. It stands between the lines with "
        f"the mark {blocks.mark}:\n\n{blocks.text}\n\nWhat is wrong with it:\n{problems}\n\n"
        "Write the whole reply again with this put right and everything else kept.",
    )
