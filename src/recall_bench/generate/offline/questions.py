"""Questions by the world: queries over its ledger, whose answers are true by construction.

The world is played once, from its first day; what it asks is dealt out to the windows in which it
becomes answerable. Days that a model wrote from the same facts are asked about too: the sentences
that answer are then looked up in its text, and what cannot be found there is not asked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import anyio.lowlevel

from recall_bench.core.question import CATEGORIES
from recall_bench.datasets.days import list_days
from recall_bench.datasets.layout import Layout
from recall_bench.generate.offline.retold_evidence import EvidenceLocator
from recall_bench.generate.offline.world_folder import WorldFolder
from recall_bench.generate.questions.writer import QuestionEntry, QuestionWindow
from recall_bench.generate.request import OFFLINE
from recall_bench.world.build import (
    QuestionEntryWriter,
    build_question_context,
    format_ledger_lines,
)
from recall_bench.world.ledger import Thread
from recall_bench.world.lexicon import LexiconWriter
from recall_bench.world.questions.draft import LedgerQuestion
from recall_bench.world.questions.examiner import LedgerQuestionGenerator

BOUNDARY = "information-boundary"


@dataclass(slots=True)
class WorldDrafts:
    """A world played to its end."""

    drafts: list[tuple[LedgerQuestion, Mapping[str, object]]] = field(default_factory=list)
    ledger: str = ""
    lexicon: str = ""


class OfflineQuestionWriter:
    """The world's own questions on a story whose days are there."""

    name = OFFLINE

    def __init__(self, world: WorldFolder, layout: Layout, mode: str) -> None:
        self._is_boundary = mode == "boundary"
        self._retold = EvidenceLocator(list_days(layout, [], []))
        self._examined = self._play_world(world)

    @property
    def beside(self) -> Mapping[str, str]:
        """The files of the question folder that a proof of the answers needs, by name."""
        return {"ledger.jsonl": self._examined.ledger, "lexicon.json": self._examined.lexicon}

    async def write(self, window: QuestionWindow, amount: int) -> Sequence[QuestionEntry]:
        """What becomes answerable in the window, at most about so many, of every category."""
        await anyio.lowlevel.checkpoint()
        groups = [
            group
            for group in self._group_drafts()
            if window.first <= _find_answerable_day(group) <= window.last and self._is_told(group)
        ]
        return [
            entry for group in _distribute(groups, amount) for entry in self._make_entries(group)
        ]

    def _play_world(self, world: WorldFolder) -> WorldDrafts:
        play, knobs = world.play, world.knobs
        examiner = LedgerQuestionGenerator(
            build_question_context(play, world.sources, knobs), play.player.processes, play.seed
        )
        clerk = QuestionEntryWriter(world.sources.persona.id, knobs.distance, play.seed)
        lexicon = LexiconWriter(play, world.sources)
        found = WorldDrafts()
        lines: list[str] = []
        going_on: dict[str, Thread] = {}

        def note(drafts: Iterable[LedgerQuestion]) -> None:
            found.drafts += [(draft, clerk.build_record(draft)) for draft in drafts]

        for played in world.play_days():
            self._retold.compare_page(played.page)
            for thread in played.begun:
                lexicon.add(thread.key, thread.source, thread.name)
                going_on[thread.key] = thread
            for thread in played.ended:
                lines += format_ledger_lines(going_on.pop(thread.key, thread))
            note(examiner.observe_day(played))
        note(examiner.finish())
        for thread in going_on.values():
            lines += format_ledger_lines(thread)
        found.ledger, found.lexicon = "".join(lines), lexicon.render()
        return found

    def _group_drafts(self) -> Iterator[list[tuple[LedgerQuestion, Mapping[str, object]]]]:
        """Drafts by themselves; those about one secret together, whoever asks."""
        secrets: dict[str, list[tuple[LedgerQuestion, Mapping[str, object]]]] = {}
        for draft, record in self._examined.drafts:
            if (draft.category == BOUNDARY) != self._is_boundary:
                continue
            if draft.secret is None:
                yield [(draft, record)]
            else:
                secrets.setdefault(draft.secret, []).append((draft, record))
        yield from secrets.values()

    def _is_told(self, group: Sequence[tuple[LedgerQuestion, Mapping[str, object]]]) -> bool:
        return all(self._retold.is_present(draft.evidence) for draft, _ in group)

    def _make_entries(
        self, group: Sequence[tuple[LedgerQuestion, Mapping[str, object]]]
    ) -> Iterator[QuestionEntry]:
        for draft, record in group:
            entry = {key: part for key, part in record.items() if key != "id" and part is not None}
            yield {**entry, "evidence": self._retold.locate_spans(draft.evidence)}


def _find_answerable_day(group: Sequence[tuple[LedgerQuestion, Mapping[str, object]]]) -> int:
    """The day from which all of them can be asked."""
    return max(draft.known_from for draft, _ in group)


def _distribute(
    groups: Sequence[list[tuple[LedgerQuestion, Mapping[str, object]]]], amount: int
) -> Iterator[list[tuple[LedgerQuestion, Mapping[str, object]]]]:
    """About so many, one of each category in turn; of denials, those that did happen in turn."""
    buckets: dict[tuple[str, bool], list[list[tuple[LedgerQuestion, Mapping[str, object]]]]] = {}
    for group in groups:
        draft = group[0][0]
        is_denied = draft.category == "negative-recall" and draft.reference.startswith("No")
        buckets.setdefault((draft.category, is_denied), []).append(group)
    ranked = sorted(buckets, key=lambda key: (CATEGORIES.index(key[0]), key[1]))
    given = 0
    for row in zip_longest(*(buckets[key] for key in ranked)):
        for group in row:
            if group is None:
                continue
            if given >= amount:
                return
            given += len(group)
            yield group
