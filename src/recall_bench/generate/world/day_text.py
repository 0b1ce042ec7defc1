"""Text: parts become blocks, blocks become a day, and every value keeps its place."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recall_bench.core.sentences import split_sentences
from recall_bench.generate.world.context import FillContext, get_template
from recall_bench.generate.world.fact_values import FactValue
from recall_bench.generate.world.ledger import (
    LedgerFact,
    SessionAccess,
    StepEvent,
    TextSpan,
    Thread,
)
from recall_bench.generate.world.sources import Variants
from recall_bench.generate.world.templates import FilledText

FRONT_MATTER = "---\ntype: daily\n---\n"

_DRAWS = 6
_OWN_LINE = ("- ", "> ", "| ")


@dataclass(frozen=True, slots=True)
class ValueMention:
    """A value told in a block: which slot of which thread, and where."""

    thread: Thread
    slot: str
    value: FactValue
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AccessChanges:
    """What telling a block does to who may know what."""

    reveals: tuple[str, ...] = ()
    forgets: tuple[str, ...] = ()
    grants: tuple[tuple[str, str], ...] = ()
    """Slot and the session let in on it."""
    revokes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DayBlock:
    """One topic of a day: its session, heading and text."""

    session: str
    heading: str
    text: str
    tellings: tuple[ValueMention, ...] = ()
    thread: Thread | None = None
    step: str | None = None
    """The step told here, if it is one."""
    acts: AccessChanges = AccessChanges()

    @property
    def words(self) -> int:
        """How many words its text has."""
        return self.text.count(" ") + self.text.count("\n") + 1


class BlockText:
    """The text of a block as it grows, with the places of its values."""

    def __init__(self) -> None:
        self._text = ""
        self._break = False
        self.tellings: list[ValueMention] = []

    @property
    def text(self) -> str:
        """What there is so far."""
        return self._text

    def start_paragraph(self) -> None:
        """Start a new paragraph with whatever comes next."""
        self._break = True

    def add(self, told: FilledText, scene: FillContext) -> None:
        """One more part of a scene; empty ones leave no trace."""
        if not told.text.strip():
            return
        self._text += self._choose_separator(told.text)
        self._break = False
        at = len(self._text)
        self._text += told.text
        if scene.thread is not None:
            self.tellings += [
                ValueMention(
                    thread=scene.thread,
                    slot=mark.slot,
                    value=scene.thread.held[mark.slot][-1],
                    start=at + mark.start,
                    end=at + mark.end,
                )
                for mark in told.marks
            ]

    def _choose_separator(self, text: str) -> str:
        if not self._text:
            return ""
        last_line = self._text.rpartition("\n")[2]
        is_item, was_item = text.startswith(_OWN_LINE), last_line.startswith(_OWN_LINE)
        if is_item and was_item and text[0] == last_line[0] and not self._break:
            return "\n"
        return "\n\n" if self._break or is_item or was_item else " "


def render_variant(scene: FillContext, variants: Variants) -> FilledText:
    """One of the variants, filled; drawn again a few times if it was told before word for word."""
    said, met = scene.stage.said, frozenset(scene.met)
    for _ in range(_DRAWS):
        scene.met = set(met)
        told = _draw_variant(scene, variants)
        traces = said.compute_traces(told.text)
        if said.is_new(traces):
            break
    said.add(traces)
    return told


def _draw_variant(scene: FillContext, variants: Variants) -> FilledText:
    if isinstance(variants, str):
        return scene.stage.deck.render(get_template(variants), scene)
    if not variants:
        return FilledText("")
    index = scene.stage.deck.pick_index("\0".join(variants), -1, len(variants))
    return scene.stage.deck.render(get_template(variants[index]), scene)


def render_parts(scene: FillContext, parts: Sequence[Variants]) -> BlockText:
    """The parts one after another, each in one of its variants."""
    prose = BlockText()
    for part in parts:
        if part == "":
            prose.start_paragraph()
        else:
            prose.add(render_variant(scene, part), scene)
    return prose


def split_parts(text: str) -> list[Variants]:
    """Authored prose as parts: wrapped lines joined, list lines and blank lines kept."""
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
    """A whole day: the file's text, and each block with its place in it."""

    day: int
    text: str
    blocks: tuple[tuple[int, DayBlock], ...]
    """The offset of each block's text, and the block."""

    def find_sentence(self, offset: int, block: DayBlock, telling: ValueMention) -> TextSpan:
        """The sentence around a value, as a span of the file."""
        start, end = _find_sentence(block.text, telling.start)
        return TextSpan(
            self.day, block.session, offset + start, offset + end, block.text[start:end]
        )

    def find_passage(self, offset: int, block: DayBlock, words: re.Pattern[str]) -> TextSpan:
        """The first sentence of a block that holds the words, or the first of all."""
        spans = list(find_sentence_spans(block.text)) or [(0, len(block.text))]
        holds = (span for span in spans if words.search(block.text[slice(*span)]))
        start, end = next(holds, spans[0])
        return TextSpan(
            self.day, block.session, offset + start, offset + end, block.text[start:end]
        )


def build_page(day: int, blocks: Sequence[DayBlock], sessions: Sequence[str]) -> LogPage:
    """The day file: sessions in their order, each with its blocks in theirs."""
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


def find_sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence of a block's text begins and ends."""
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
