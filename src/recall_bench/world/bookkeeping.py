"""What a page tells, entered in the ledger."""

import re

from recall_bench.world.ledger import LedgerFact, SessionAccess, StepEvent, TextSpan, Thread
from recall_bench.world.narration import DayBlock, LogPage, ValueMention


def record_page(page: LogPage) -> None:
    """Every value, step and change of access on the page, with the sentence that tells it."""
    for offset, block in page.blocks:
        for telling in block.tellings:
            _record_value(
                telling.thread, telling, page.find_sentence(offset, block, telling), block
            )
        if block.thread is not None and block.step is not None:
            thread = block.thread
            thread.last_named = page.day
            when = thread.whens.get(block.step)
            span = page.find_passage(offset, block, _match_any(when.cue if when else []))
            thread.happenings[block.step] = StepEvent(block.step, span)
            _record_access(thread, block, page, offset)
            # A sentence drawn and thrown away may have taken a canary with it.
            thread.canaries = [
                canary
                for canary in thread.canaries
                if canary.day != page.day or canary.text in block.text
            ]


def _match_any(words: list[str]) -> re.Pattern[str]:
    """Any of the words, whole and in either case; with none given, anything."""
    ways = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words)
    return re.compile(ways, re.IGNORECASE)


def _record_value(thread: Thread, telling: ValueMention, span: TextSpan, block: DayBlock) -> None:
    thread.last_named = span.day
    facts = thread.facts.setdefault(telling.slot, [])
    if telling.slot in block.acts.reveals:
        thread.revealed.setdefault(telling.slot, span)
    for slot, session in block.acts.grants:
        if slot == telling.slot and session == block.session:
            thread.access.setdefault(slot, []).append(SessionAccess(session, span))
    if facts and facts[-1].value.text == telling.value.text:
        facts[-1].restated.append(span)
        return
    if facts:
        facts[-1].true_until = span.day - 1
    value = telling.value
    facts.append(
        LedgerFact(
            subject=thread.key,
            attribute=telling.slot,
            value=value,
            learned=span.day,
            told=span,
            true_from=span.day if value.day is None else value.day,
            supersedes=facts[-1] if facts else None,
        )
    )


def _record_access(thread: Thread, block: DayBlock, page: LogPage, offset: int) -> None:
    for slot in block.acts.forgets:
        thread.forgotten.setdefault(slot, page.find_passage(offset, block, _match_any(["forget"])))
    for slot, session in block.acts.revokes:
        for access in thread.access.get(slot, []):
            if access.session == session and access.revoked is None:
                access.revoked = page.find_passage(offset, block, _match_any([]))
