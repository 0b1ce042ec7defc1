"""Questions by the simulator: queries over its ledger, with answers true by construction.

The simulation runs once, and each question belongs to the window in which it becomes answerable.
For days that a model wrote from the same facts, the evidence is searched in its text; a question
without evidence is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

import anyio.lowlevel

from recall_bench.core.scenario import BOUNDARY, CATEGORIES, NEGATIVE
from recall_bench.features.personas.pass_request import OFFLINE
from recall_bench.features.personas.questions.window import QuestionEntry, QuestionWindow
from recall_bench.features.personas.world.build import QuestionEntryWriter, follow_world
from recall_bench.features.personas.world.day_text import LogPage, find_sentence_spans
from recall_bench.features.personas.world.ledger import TextSpan
from recall_bench.features.personas.world.question_draft import LedgerQuestion
from recall_bench.features.personas.world_folder import WorldFolder
from recall_bench.stories.lint.value_index import DayLog
from recall_bench.stories.persona_files import DayFile, Layout, list_days
from recall_bench.text.text_values import collect_topics, find_claims


class EvidenceLocator:
    """Locates the simulator's evidence in the day files, which a model may have written."""

    def __init__(self, files: Sequence[DayFile]) -> None:
        self._files = {file.day: file for file in files}
        self._own: set[int] = set()
        """Days whose file equals the simulator's page."""
        self._texts: dict[int, str] = {}

    def compare_page(self, page: LogPage) -> None:
        """Compare a simulated page with its file, if there is one."""
        file = self._files.get(page.day)
        if file is None:
            return
        text = file.read()
        if text == page.text:
            self._own.add(page.day)
        else:
            self._texts[page.day] = text

    def is_present(self, spans: Sequence[TextSpan]) -> bool:
        """Whether every sentence is in the files, possibly in other words."""
        return all(self._locate_span(span) is not None for span in spans)

    def locate_spans(self, spans: Sequence[TextSpan]) -> list[dict[str, object]]:
        """The places of the sentences in the files, in order."""
        results = [(span, self._locate_span(span)) for span in spans]
        places = sorted(
            (span.day, place, span.session) for span, place in results if place is not None
        )
        return [
            {"day": day, "session": session, "start": start, "end": end}
            for day, (start, end), session in dict.fromkeys(places)
        ]

    def _locate_span(self, span: TextSpan) -> tuple[int, int] | None:
        if span.day in self._own:
            return span.start, span.end
        text = self._texts.get(span.day)
        return None if text is None else _find_closest_sentence(text, span)


def _find_closest_sentence(text: str, span: TextSpan) -> tuple[int, int] | None:
    """The sentence of the same session that is most similar to the simulator's.

    None if no sentence has all its exact values and at least one of its words.
    """
    exact = {atom.core for atom in find_claims(span.text) if atom.is_exact}
    about = collect_topics(span.text)
    results = []
    for start, end in _list_sentences(text, span.session):
        sentence = text[start:end]
        if exact <= {atom.core for atom in find_claims(sentence)}:
            results.append((len(about & collect_topics(sentence)), start, end))
    # The first of equally similar ones.
    shared, start, end = max(results, key=lambda each: (each[0], -each[1]), default=(0, 0, 0))
    return (start, end) if shared else None


def _list_sentences(text: str, session: str) -> list[tuple[int, int]]:
    """The places of a session's sentences in the file, without headings."""
    sentences = []
    for name, part in DayLog(1, "", text).split_sessions():
        if name != session:
            continue
        offset = text.index(part)
        sentences += [(offset + start, offset + end) for start, end in find_sentence_spans(part)]
    return [(start, end) for start, end in sentences if not text.startswith("#", start)]


class OfflineQuestionWriter:
    """The simulator's questions on a story whose days exist."""

    name = OFFLINE

    def __init__(self, world: WorldFolder, layout: Layout, mode: str) -> None:
        self._is_boundary = mode == "boundary"
        self._locator = EvidenceLocator(list_days(layout, [], []))
        self._drafts: list[tuple[LedgerQuestion, Mapping[str, object]]] = []
        lines: list[str] = []
        writer = QuestionEntryWriter(
            world.sources.persona.id, world.options.distance, world.simulation.seed
        )
        days = world.simulate_days()
        for step in follow_world(world.simulation, days, world.sources, world.options):
            if step.page is not None:
                self._locator.compare_page(step.page)
            self._drafts += [(draft, writer.build_record(draft)) for draft in step.drafts]
            lines += step.ledger_lines
        self.ledger = "".join(lines)
        """The content of ledger.jsonl, which belongs beside the questions."""

    async def write(self, window: QuestionWindow, amount: int) -> Sequence[QuestionEntry]:
        """About `amount` questions of all categories that become answerable in the window."""
        await anyio.lowlevel.checkpoint()
        groups = [
            group
            for group in self._group_drafts()
            if window.first <= max(draft.known_from for draft, _ in group) <= window.last
            and all(self._locator.is_present(draft.evidence) for draft, _ in group)
        ]
        return [
            entry for group in _distribute(groups, amount) for entry in self._make_entries(group)
        ]

    def _group_drafts(self) -> Iterator[list[tuple[LedgerQuestion, Mapping[str, object]]]]:
        """Drafts one by one; drafts about the same secret together."""
        secrets: dict[str, list[tuple[LedgerQuestion, Mapping[str, object]]]] = {}
        for draft, record in self._drafts:
            if (draft.category == BOUNDARY) != self._is_boundary:
                continue
            if draft.secret is None:
                yield [(draft, record)]
            else:
                secrets.setdefault(draft.secret, []).append((draft, record))
        yield from secrets.values()

    def _make_entries(
        self, group: Sequence[tuple[LedgerQuestion, Mapping[str, object]]]
    ) -> Iterator[QuestionEntry]:
        for draft, record in group:
            entry = {key: part for key, part in record.items() if key != "id" and part is not None}
            yield {**entry, "evidence": self._locator.locate_spans(draft.evidence)}


def _distribute(
    groups: Sequence[list[tuple[LedgerQuestion, Mapping[str, object]]]], amount: int
) -> Iterator[list[tuple[LedgerQuestion, Mapping[str, object]]]]:
    """About `amount` drafts, one of each category in turn; yes and no denials alternate."""
    buckets: dict[tuple[str, bool], list[list[tuple[LedgerQuestion, Mapping[str, object]]]]] = {}
    for group in groups:
        draft = group[0][0]
        is_denied = draft.category == NEGATIVE and draft.reference.startswith("No")
        buckets.setdefault((draft.category, is_denied), []).append(group)
    ranked = sorted(buckets, key=lambda key: (CATEGORIES.index(key[0]), key[1]))
    count = 0
    for row in zip_longest(*(buckets[key] for key in ranked)):
        for group in row:
            if group is None:
                continue
            if count >= amount:
                return
            count += len(group)
            yield group
