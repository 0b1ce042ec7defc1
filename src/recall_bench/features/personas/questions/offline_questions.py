"""Questions by the simulator: queries over its ledger, with answers true by construction.

The simulation runs once, and each question belongs to the window in which it becomes answerable.
For days that a model wrote from the same facts, the evidence is searched in its text; a question
without evidence is left out.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import anyio.lowlevel

from recall_bench.core.scenario import BOUNDARY, CATEGORIES
from recall_bench.features.personas.pass_request import OFFLINE
from recall_bench.features.personas.questions.window import QuestionEntry, QuestionWindow
from recall_bench.features.personas.simulator.draft import DraftQuestion
from recall_bench.features.personas.simulator.ledger import LogPage, LogSentence
from recall_bench.features.personas.simulator.questions import find_side, write_questions
from recall_bench.features.personas.simulator.world import World
from recall_bench.features.personas.simulator.world_files import format_ledger
from recall_bench.stories.lint.value_index import DayLog
from recall_bench.stories.persona_files import DayFile, Layout, list_days
from recall_bench.text.sentences import split_sentences
from recall_bench.text.text_values import collect_topics, find_claims

_TIMES = 4


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

    def is_present(self, sentences: Sequence[LogSentence]) -> bool:
        """Whether every sentence is in the files, possibly in other words."""
        return all(self._locate(sentence) is not None for sentence in sentences)

    def locate_all(self, sentences: Sequence[LogSentence]) -> list[dict[str, object]]:
        """The places of the sentences in the files, in order."""
        places = sorted(
            (sentence.day, place, sentence.session)
            for sentence in sentences
            if (place := self._locate(sentence)) is not None
        )
        return [
            {"day": day, "session": session, "start": start, "end": end}
            for day, (start, end), session in dict.fromkeys(places)
        ]

    def _locate(self, sentence: LogSentence) -> tuple[int, int] | None:
        if sentence.day in self._own:
            return sentence.start, sentence.end
        text = self._texts.get(sentence.day)
        return None if text is None else _find_closest_sentence(text, sentence)


def _find_closest_sentence(text: str, told: LogSentence) -> tuple[int, int] | None:
    """The sentence of the same session that is most similar to the simulator's.

    None if no sentence has all its exact values and at least one of its words.
    """
    exact = {atom.core for atom in find_claims(told.text) if atom.is_exact}
    about = collect_topics(told.text)
    candidates = []
    for start, end in _list_sentences(text, told.session):
        sentence = text[start:end]
        if exact <= {atom.core for atom in find_claims(sentence)}:
            candidates.append((len(about & collect_topics(sentence)), -start, end))
    # The first of equally similar ones.
    shared, start, end = max(candidates, default=(0, 0, 0))
    return (-start, end) if shared else None


def _list_sentences(text: str, session: str) -> Iterator[tuple[int, int]]:
    """The places of a session's sentences in the file, without headings."""
    for name, part in DayLog(1, "", text).split_sessions():
        at = text.index(part)
        for line in part.splitlines() if name == session else ():
            if line.startswith("#"):
                continue
            for sentence in split_sentences(line):
                at = text.index(sentence, at)
                yield at, at + len(sentence)


class OfflineQuestionWriter:
    """The simulator's questions on a story whose days exist."""

    name = OFFLINE

    def __init__(self, world: World, layout: Layout, mode: str) -> None:
        self._is_boundary = mode == "boundary"
        self._locator = EvidenceLocator(list_days(layout, [], []))
        for page in world.build_pages():
            self._locator.compare_page(page)
        # A checkpoint a week asks for more than a story has by itself.
        self._drafts = write_questions(world, times=_TIMES)
        self.ledger = format_ledger(world)
        """The content of ledger.jsonl, which belongs beside the questions."""

    async def write(self, window: QuestionWindow, amount: int) -> Sequence[QuestionEntry]:
        """About `amount` questions of all categories that become answerable in the window."""
        await anyio.lowlevel.checkpoint()
        # Drafts about one secret stay together.
        groups: dict[object, list[DraftQuestion]] = {}
        for number, draft in enumerate(self._drafts):
            if (draft.category == BOUNDARY) == self._is_boundary:
                groups.setdefault(draft.group or number, []).append(draft)
        # One of each category in turn; of those for a yes or a no, one of each.
        buckets: dict[tuple[int, int], list[list[DraftQuestion]]] = {}
        for group in groups.values():
            first = group[0]
            is_timely = max(draft.known_from for draft in group) in range(
                window.first, window.last + 1
            )
            if is_timely and all(self._locator.is_present(draft.evidence) for draft in group):
                key = (CATEGORIES.index(first.category), find_side(first))
                buckets.setdefault(key, []).append(group)
        entries: list[QuestionEntry] = []
        for row in zip_longest(*(buckets[key] for key in sorted(buckets))):
            for group in row:
                if group is not None and len(entries) < amount:
                    entries += map(self._make_entry, group)
        return entries

    def _make_entry(self, draft: DraftQuestion) -> QuestionEntry:
        entry = draft.build_entry("")
        kept = {key: part for key, part in entry.items() if key != "id" and part is not None}
        return {**kept, "evidence": self._locator.locate_all(draft.evidence)}
