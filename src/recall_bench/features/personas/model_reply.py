"""Ask a model until its reply can be used, sending back what was wrong with the last one."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from recall_bench.core.errors import BenchError, ModelFault, ModelGone, ModelPending
from recall_bench.features.personas.model_caller import ModelCaller
from recall_bench.systems.models.model import Finish, Prompt, Reply, fence_blocks

Reading = TypeVar("Reading")

MAX_ATTEMPTS = 3
"""New calls that a run spends on one unit."""

_MAX_PROBLEMS = 12
_MAX_QUOTED = 60_000
"""Characters of a rejected reply that are sent back."""
_FINISH_PROBLEMS = {
    Finish.LENGTH: "the reply was cut off at the token limit; write less",
    Finish.FILTERED: "the reply was withheld by the content filter; word it differently",
}


@dataclass(frozen=True, slots=True)
class RejectedReply:
    """Why a reply cannot be used: sentences for the model."""

    problems: tuple[str, ...]


class NoUsableReply(BenchError):
    """No reply of the model could be used, and no attempt is left."""


async def ask_until_usable(
    caller: ModelCaller,
    unit: str,
    prompt: Prompt,
    read: Callable[[str], Reading | RejectedReply],
    *,
    attempts: int = MAX_ATTEMPTS,
    reads_cut: bool = False,
) -> Reading:
    """The result of `read` for the first reply that it does not reject.

    A rejected reply is sent back with its problems. Logged replies are read first and cost no
    attempt, so a later run continues where this one gave up. Raises NoUsableReply if no reply could
    be used, and whatever the caller raises. With `reads_cut`, `read` also gets replies that were
    cut off at the token limit.
    """
    asking, spent, number = prompt, 0, 0
    reason = "the model was not asked"
    last: Reply | None = None
    while spent < attempts:
        try:
            reply, is_new = await caller.ask(asking, unit, number)
        except (ModelGone, ModelPending):
            raise
        except ModelFault as fault:
            spent += 1
            reason = str(fault)
            continue
        spent += is_new
        results = _read_reply(reply, read, reads_cut=reads_cut)
        if not isinstance(results, RejectedReply):
            caller.note_usable_reply()
            return results
        caller.report_rejection(asking, number, results.problems)
        number += 1
        reason, last = "; ".join(results.problems), reply
        asking = build_retry_prompt(prompt, reply.text, results)
    caller.note_unusable_replies(reason)
    raise NoUsableReply(reason if last is None else f"{reason}{_quote_reply(last)}")


def _quote_reply(reply: Reply) -> str:
    """The beginning of the last rejected reply, for the error message."""
    if reply.finish is Finish.LENGTH:
        return " (a higher --max-tokens allows more)"
    text = " ".join(reply.text.split())
    return f" (it said {text!r:.60})" if text else " (it said nothing)"


def _read_reply(
    reply: Reply, read: Callable[[str], Reading | RejectedReply], *, reads_cut: bool
) -> Reading | RejectedReply:
    if reply.finish is Finish.STOP or (reads_cut and reply.finish is Finish.LENGTH):
        return read(reply.text)
    return RejectedReply((_FINISH_PROBLEMS[reply.finish],))


def build_retry_prompt(prompt: Prompt, reply: str, rejected: RejectedReply) -> Prompt:
    """The same prompt with the rejected reply and its problems."""
    blocks = fence_blocks({"rejected reply": reply[:_MAX_QUOTED]})
    problems = "\n".join(f"- {problem}" for problem in rejected.problems[:_MAX_PROBLEMS])
    more = len(rejected.problems) - _MAX_PROBLEMS
    if more > 0:
        problems += f"\n- and {more} more of the kind"
    return replace(
        prompt,
        user=f"{prompt.user}\n\nAn earlier reply was rejected. It stands between the lines with "
        f"the mark {blocks.mark}:\n\n{blocks.text}\n\nWhat is wrong with it:\n{problems}\n\n"
        "Write the whole reply again with this put right and everything else kept.",
    )


JsonKind = TypeVar("JsonKind", list[Any], dict[str, Any])

_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL)
_BRACKETS = {list: ("[", "]", "array"), dict: ("{", "}", "object")}


def parse_json_reply(text: str, kind: type[JsonKind]) -> JsonKind | RejectedReply:
    """The JSON array or object in a reply: alone, in a fence, or between other words."""
    opening, closing, name = _BRACKETS[kind]
    fences: list[str] = _FENCE.findall(text)
    inner = text[text.find(opening) : text.rfind(closing) + 1]
    for candidate in (text.strip(), *(fence.strip() for fence in fences), inner):
        try:
            content = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(content, kind):
            return content
    return RejectedReply((f"it is not one JSON {name}: {' '.join(text.split())!r:.120}",))


_UNWRITABLE = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def remove_unwritable(text: str) -> str:
    """The text, stripped, with characters that YAML or UTF-8 cannot hold replaced by blanks.

    Those are control characters and halves of surrogate pairs, which JSON can spell.
    """
    return _UNWRITABLE.sub(" ", text.replace("\r\n", "\n")).strip()
