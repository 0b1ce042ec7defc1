"""Odd input is answered or refused, never apologised for, and the memory goes on."""

import re

from recall_bench.errors import SystemFault
from recall_bench.testing.bench import CheckContext, CheckedMemory, CheckReply, ContractBroken
from recall_bench.testing.story import make_episode, write_day

APOLOGY = re.compile(
    r"""
    \A\W*(?:(?:fatal|internal|unexpected|server)\W+)*(?:error|exception|failure|timeout)\W*(?::|\Z)
  | \A\W*\w*(?:Error|Exception):
  | Traceback\ \(most\ recent\ call\ last\)
  | \binternal\ server\ error\b
  | \bHTTP(?:/\d(?:\.\d)?)?\W+[45]\d\d\b
  | \A\W*(?:an?\ (?:unexpected\ )?error\ (?:has\ )?occurred|something\ went\ wrong)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""How a failure reads that was written into an answer."""

_ODD_DAYS = {
    2: "",
    3: " \n\t\n ",
    4: "# session: principal\n",
    5: "---\ntype: daily\n---\n",
}

_ODD_QUESTIONS = {
    "an empty question": "",
    "a blank question": " \t\n",
    "a question without words": "?!… 🤷",
    "a very long question": "and why, and when, and who with, " * 600,
    "a question with quotes and brackets": "\"What' AND (is OR [the] {name}* ~ of: the^ parrot\\?",
    "a question nothing was told about": "Which opera does the parrot in the wine cellar hum?",
}


async def check_errors(bench: CheckContext) -> str:
    """Odd but legal input is answered or raises SystemFault, and the memory goes on working."""
    known, later = bench.make_fact(0), bench.make_fact(1)
    memory = await bench.open()
    await memory.tell_facts([known])
    await memory.require_fact(known, "before anything odd is put to the memory")
    refused = [
        f"day {day}" for day, text in _ODD_DAYS.items() if not await _try_ingest(memory, day, text)
    ]
    await memory.feed(make_episode(6, write_day(6, later.sentence)))
    await memory.settle()

    for kind, text in _ODD_QUESTIONS.items():
        heard = await _try_ask(memory, text)
        if heard is None:
            refused.append(kind)
        elif apology := _find_apology(heard):
            raise ContractBroken(
                f"expected {kind} to be answered or to raise SystemFault, but the answer is "
                f"{apology!r}; raise when something fails, for an apology is graded"
            )
    for each in (known, later):
        heard = await memory.ask(each.question)
        if apology := _find_apology(heard):
            raise ContractBroken(
                f"expected an answer, but {apology!r} came as one; raise when something fails"
            )
        if not heard.contains(each.canary):
            raise ContractBroken(
                f"expected the memory to go on working after odd input, but {each.canary!r} was "
                "not found any more; see what the odd input left behind"
            )
    if refused:
        return f"refuses {', '.join(refused)} with a SystemFault, and goes on"
    return "odd days and questions are taken as they are"


async def _try_ingest(memory: CheckedMemory, day: int, text: str) -> bool:
    try:
        await memory.feed(make_episode(day, text))
    except SystemFault:
        return False
    return True


async def _try_ask(memory: CheckedMemory, text: str) -> CheckReply | None:
    try:
        return await memory.ask(text)
    except SystemFault:
        return None


def _find_apology(heard: CheckReply) -> str | None:
    """The beginning of the first text in the reply that reads like a failure."""
    for text in (heard.said, *heard.passages):
        if APOLOGY.search(text):
            return text.strip()[:80]
    return None
