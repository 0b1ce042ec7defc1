"""What a page tells, entered in the ledger."""

import re

from recall_bench.world.ledger import Access, Fact, Happening, Span, Thread
from recall_bench.world.narration import Block, Page, Telling


def enter(page: Page) -> None:
    """Every value, step and change of access on the page, with the sentence that tells it."""
    for offset, block in page.blocks:
        for telling in block.tellings:
            _state(telling.thread, telling, page.sentence(offset, block, telling), block)
        if block.thread is not None and block.step is not None:
            thread = block.thread
            thread.last_named = page.day
            when = thread.whens.get(block.step)
            span = page.passage(offset, block, _any_of(when.cue if when else []))
            thread.happenings[block.step] = Happening(block.step, span)
            _consequences(thread, block, page, offset)
            # A sentence drawn and thrown away may have taken a canary with it.
            thread.canaries = [
                canary
                for canary in thread.canaries
                if canary.day != page.day or canary.text in block.text
            ]


def _any_of(words: list[str]) -> re.Pattern[str]:
    """Any of the words, whole and in either case; with none given, anything."""
    ways = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words)
    return re.compile(ways, re.IGNORECASE)


def _state(thread: Thread, telling: Telling, span: Span, block: Block) -> None:
    thread.last_named = span.day
    facts = thread.facts.setdefault(telling.slot, [])
    if telling.slot in block.acts.reveals:
        thread.revealed.setdefault(telling.slot, span)
    for slot, session in block.acts.grants:
        if slot == telling.slot and session == block.session:
            thread.access.setdefault(slot, []).append(Access(session, span))
    if facts and facts[-1].value.text == telling.value.text:
        facts[-1].restated.append(span)
        return
    if facts:
        facts[-1].true_until = span.day - 1
    value = telling.value
    facts.append(
        Fact(
            subject=thread.key,
            attribute=telling.slot,
            value=value,
            learned=span.day,
            told=span,
            true_from=span.day if value.day is None else value.day,
            supersedes=facts[-1] if facts else None,
        )
    )


def _consequences(thread: Thread, block: Block, page: Page, offset: int) -> None:
    for slot in block.acts.forgets:
        thread.forgotten.setdefault(slot, page.passage(offset, block, _any_of(["forget"])))
    for slot, session in block.acts.revokes:
        for access in thread.access.get(slot, []):
            if access.session == session and access.revoked is None:
                access.revoked = page.passage(offset, block, _any_of([]))
