"""The text of a day: parts become blocks, blocks a page, and its values enter the ledger."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from recall_bench.features.personas.world.context import FillContext, get_template
from recall_bench.features.personas.world.fact_values import FactValue
from recall_bench.features.personas.world.ledger import (
    LedgerFact,
    SessionAccess,
    StepEvent,
    TextSpan,
    Thread,
)
from recall_bench.features.personas.world.sources import Variants
from recall_bench.features.personas.world.templates import FilledText
from recall_bench.text.sentences import split_sentences

FRONT_MATTER = "---\ntype: daily\n---\n"

_DRAWS = 6
_OWN_LINE = ("- ", "> ", "| ")


@dataclass(frozen=True, slots=True)
class ValueMention:
    """A value stated in a block: which slot of which thread, and where."""

    thread: Thread
    slot: str
    value: FactValue
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AccessChanges:
    """How a block changes who may know what."""

    reveals: tuple[str, ...] = ()
    forgets: tuple[str, ...] = ()
    grants: tuple[tuple[str, str], ...] = ()
    """Slot and the session that gets access."""
    revokes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DayBlock:
    """One topic of a day: session, heading and text."""

    session: str
    heading: str
    text: str
    mentions: tuple[ValueMention, ...] = ()
    thread: Thread | None = None
    step: str | None = None
    """The step it describes, if any."""
    access_changes: AccessChanges = AccessChanges()

    @property
    def words(self) -> int:
        """The number of words."""
        return self.text.count(" ") + self.text.count("\n") + 1


class BlockText:
    """The text of a block under construction, with the positions of its values."""

    def __init__(self) -> None:
        self._text = ""
        self._break = False
        self.mentions: list[ValueMention] = []

    @property
    def text(self) -> str:
        """The text so far."""
        return self._text

    def start_paragraph(self) -> None:
        """Let the next part start a new paragraph."""
        self._break = True

    def add(self, filled: FilledText, context: FillContext) -> None:
        """Append a part; empty parts are ignored."""
        if not filled.text.strip():
            return
        self._text += self._choose_separator(filled.text)
        self._break = False
        at = len(self._text)
        self._text += filled.text
        if context.thread is not None:
            self.mentions += [
                ValueMention(
                    thread=context.thread,
                    slot=mark.slot,
                    value=context.thread.slot_values[mark.slot][-1],
                    start=at + mark.start,
                    end=at + mark.end,
                )
                for mark in filled.marks
            ]

    def _choose_separator(self, text: str) -> str:
        if not self._text:
            return ""
        last_line = self._text.rpartition("\n")[2]
        is_item, was_item = text.startswith(_OWN_LINE), last_line.startswith(_OWN_LINE)
        if is_item and was_item and text[0] == last_line[0] and not self._break:
            return "\n"
        return "\n\n" if self._break or is_item or was_item else " "


def render_variant(context: FillContext, variants: Variants) -> FilledText:
    """A filled variant, redrawn a few times while a sentence of it was written before."""
    visited, met = context.world.seen_sentences, frozenset(context.met)
    for _ in range(_DRAWS):
        context.met = set(met)
        filled = _draw_variant(context, variants)
        traces = visited.compute_traces(filled.text)
        if visited.is_new(traces):
            break
    visited.add(traces)
    return filled


def _draw_variant(context: FillContext, variants: Variants) -> FilledText:
    if isinstance(variants, str):
        return context.world.picker.render(get_template(variants), context)
    if not variants:
        return FilledText("")
    index = context.world.picker.pick_index("\0".join(variants), -1, len(variants))
    return context.world.picker.render(get_template(variants[index]), context)


def render_parts(context: FillContext, parts: Sequence[Variants]) -> BlockText:
    """The parts in order, each in one of its variants."""
    prose = BlockText()
    for part in parts:
        if part == "":
            prose.start_paragraph()
        else:
            prose.add(render_variant(context, part), context)
    return prose


def split_parts(text: str) -> list[Variants]:
    """Split authored prose into parts: wrapped lines joined, list lines and blank lines kept."""
    parts: list[Variants] = []
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            parts.append("")
        line = ""
        for raw in paragraph.splitlines():
            bare = raw.strip()
            if bare.startswith(_OWN_LINE):
                parts += [line] if line else []
                line = bare
            else:
                line = f"{line} {bare}".strip()
        parts.append(line)
    return parts


@dataclass(frozen=True, slots=True)
class LogPage:
    """A day file: its text, and each block with its offset."""

    day: int
    text: str
    blocks: tuple[tuple[int, DayBlock], ...]
    """The offset of each block's text, and the block."""

    def find_sentence(self, offset: int, block: DayBlock, mention: ValueMention) -> TextSpan:
        """The sentence around a value, as a span of the file."""
        start, end = _find_sentence(block.text, mention.start)
        return TextSpan(
            self.day, block.session, offset + start, offset + end, block.text[start:end]
        )

    def find_passage(self, offset: int, block: DayBlock, words: re.Pattern[str]) -> TextSpan:
        """The first sentence of a block that matches, else its first sentence."""
        spans = find_sentence_spans(block.text) or ((0, len(block.text)),)
        holds = (span for span in spans if words.search(block.text[slice(*span)]))
        start, end = next(holds, spans[0])
        return TextSpan(
            self.day, block.session, offset + start, offset + end, block.text[start:end]
        )


def build_page(day: int, blocks: Sequence[DayBlock], sessions: Sequence[str]) -> LogPage:
    """Build the day file: sessions in order, each with its blocks in order."""
    pieces = [FRONT_MATTER]
    length = len(FRONT_MATTER)
    placed: list[tuple[int, DayBlock]] = []
    for session in sessions:
        own = [block for block in blocks if block.session == session]
        if not own:
            continue
        head = f"\n# session: {session}\n"
        pieces.append(head)
        length += len(head)
        for block in own:
            title = f"\n### {block.heading}\n"
            pieces += [title, block.text, "\n"]
            placed.append((length + len(title), block))
            length += len(title) + len(block.text) + 1
    return LogPage(day, "".join(pieces), tuple(placed))


def _find_sentence(text: str, at: int) -> tuple[int, int]:
    for start, end in find_sentence_spans(text):
        if start <= at < end:
            return start, end
    return 0, len(text)


# The values and the step of a block are entered one after the other.
@lru_cache(maxsize=64)
def find_sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Start and end of each sentence of a block's text."""
    return tuple(_find_sentence_spans(text))


def _find_sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    line_start = 0
    for line in text.split("\n"):
        at = line_start
        bare = line[2:] if line.startswith(_OWN_LINE) else line
        for sentence in split_sentences(bare):
            start = text.index(sentence, at)
            at = start + len(sentence)
            yield start, at
        line_start += len(line) + 1


def record_page(page: LogPage) -> None:
    """Enter every value, step and access change of the page into the ledger, with its sentence."""
    for offset, block in page.blocks:
        for mention in block.mentions:
            _record_value(
                mention.thread, mention, page.find_sentence(offset, block, mention), block
            )
        if block.thread is not None and block.step is not None:
            thread = block.thread
            thread.last_named = page.day
            when = thread.timings.get(block.step)
            span = page.find_passage(offset, block, _match_any(when.cue if when else []))
            thread.events[block.step] = StepEvent(block.step, span)
            _record_access(thread, block, page, offset)
            # A canary may have been drawn for a sentence that was then discarded.
            thread.canaries = [
                canary
                for canary in thread.canaries
                if canary.day != page.day or canary.text in block.text
            ]


def _match_any(words: list[str]) -> re.Pattern[str]:
    """Match any of the words, whole and in any case; without words, match anything."""
    ways = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words)
    return re.compile(ways, re.IGNORECASE)


def _record_value(thread: Thread, mention: ValueMention, span: TextSpan, block: DayBlock) -> None:
    thread.last_named = span.day
    facts = thread.facts.setdefault(mention.slot, [])
    if mention.slot in block.access_changes.reveals:
        thread.revealed.setdefault(mention.slot, span)
    for slot, session in block.access_changes.grants:
        if slot == mention.slot and session == block.session:
            thread.access.setdefault(slot, []).append(SessionAccess(session, span))
    if facts and facts[-1].value.text == mention.value.text:
        facts[-1].restated.append(span)
        return
    if facts:
        facts[-1].true_until = span.day - 1
    value = mention.value
    facts.append(
        LedgerFact(
            subject=thread.key,
            attribute=mention.slot,
            value=value,
            learned=span.day,
            span=span,
            true_from=span.day if value.day is None else value.day,
            supersedes=facts[-1] if facts else None,
        )
    )


def _record_access(thread: Thread, block: DayBlock, page: LogPage, offset: int) -> None:
    for slot in block.access_changes.forgets:
        thread.forgotten.setdefault(slot, page.find_passage(offset, block, _match_any(["forget"])))
    for slot, session in block.access_changes.revokes:
        for access in thread.access.get(slot, []):
            if access.session == session and access.revoked is None:
                access.revoked = page.find_passage(offset, block, _match_any([]))
