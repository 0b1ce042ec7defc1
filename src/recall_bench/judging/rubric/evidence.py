"""What a judge is shown of the memory: the passages that matter, within a budget.

First come the very sentences that the dataset cites. Half of the room that is left belongs to the
question and the reference, so that no answer, however long, can crowd out the evidence against
it. Then come the passages nearest to what the answer adds of its own, and whatever room remains
goes to all three. A passage is worth the rarity of the words and values it shares with them, each
half as much every time it has been shown, and nothing after the third. So a sentence that the
history repeats day after day does not take the room of another.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import log

from recall_bench.core.history import Episode
from recall_bench.core.question import Evidence
from recall_bench.core.tokens import CHARACTERS_A_TOKEN
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.rubric.options import ExcerptMode, RubricOptions
from recall_bench.judging.rubric.passages import (
    CUT,
    EpisodePage,
    extract_terms,
    format_banner,
    read_page,
)

ANSWER_CHARACTERS = 12_000
"""So much of an answer is judged; whoever needs more to answer a question has not answered it."""

_DAY_SEPARATOR = "\n\n"
_REPEAT_WEIGHTS = (1.0, 0.5, 0.25)
"""What a term is worth the first time it is shown, the second and the third."""


def render_evidence(exhibit: Exhibit, options: RubricOptions) -> str:
    """The exhibit's days, whole or in passages, in story order; empty only if there are none.

    No day later than the checkpoint is ever shown. Days that have nothing to do with the case,
    or do not fit, are an ellipsis.
    """
    days = sorted(
        (day for day in exhibit.excerpts if day.day <= exhibit.days and day.text.strip()),
        key=lambda day: day.day,
    )
    if options.showing is ExcerptMode.FULL or not days:
        return _DAY_SEPARATOR.join(f"{format_banner(day)}\n{day.text.strip()}" for day in days)
    return _select_passages(exhibit, days, options.budget_tokens * CHARACTERS_A_TOKEN)


def _select_passages(exhibit: Exhibit, days: Iterable[Episode], room: int) -> str:
    item = exhibit.item
    truth = item.truth
    wanted = extract_terms("\n".join((item.text, truth.reference, *truth.aliases, *truth.stale)))
    told = extract_terms(exhibit.answer.text[:ANSWER_CHARACTERS])
    pages = [read_page(day) for day in days]
    selection = _PassageSelection(_EvidencePool(pages, truth.evidence, wanted | told), room)
    selection.take_cited_sentences()
    selection.take_cited_turns()
    selection.take(wanted, keep_free=selection.room // 2)
    selection.take(told - wanted)
    selection.take(wanted | told)
    return selection.text or CUT


@dataclass(frozen=True, slots=True)
class _PassageCandidate:
    """A passage that shares something with the case."""

    page: int
    block: int
    sentences: range
    characters: int
    shared: tuple[str, ...]
    """Sorted, because floats added in another order may make another sum."""
    is_aside: bool
    """Whether it stands where the dataset cites nothing."""

    @property
    def place(self) -> tuple[bool, int, int]:
        """Of passages worth the same, the cited and the earlier come first."""
        return self.is_aside, self.page, self.sentences.start


class _EvidencePool:
    """All that could be shown, and how rare what it shares with the case is."""

    def __init__(
        self, pages: Sequence[EpisodePage], evidence: Iterable[Evidence], case: frozenset[str]
    ) -> None:
        numbers = {page.episode.day: number for number, page in enumerate(pages)}
        self.pages = pages
        self.case = case
        self.cited = [(numbers[each.day], each) for each in evidence if each.day in numbers]
        self.all = [
            _PassageCandidate(
                page=number,
                block=passage.block,
                sentences=passage.sentences,
                characters=passage.characters,
                shared=tuple(sorted(case.intersection(passage.terms))),
                is_aside=not self._is_evidence(number, passage.session),
            )
            for number, page in enumerate(pages)
            for passage in page.passages
            if not case.isdisjoint(passage.terms)
        ]
        total = sum(len(page.passages) for page in pages)
        spread = Counter(term for each in self.all for term in each.shared)
        self.rarity = {term: log(1 + total / (1 + count)) for term, count in spread.items()}

    def _is_evidence(self, number: int, session: str | None) -> bool:
        return any(day == number and cited.session in (None, session) for day, cited in self.cited)


class _PassageSelection:
    """Sentences taken while there is room."""

    def __init__(self, candidates: _EvidencePool, room: int) -> None:
        self.room = room
        """How many characters may still be shown."""
        self._candidates = candidates
        self._chosen: list[set[int]] = [set() for _ in candidates.pages]
        self._lengths = [0 for _ in candidates.pages]
        self._times_shown: Counter[str] = Counter()

    @property
    def text(self) -> str:
        """All that was taken, in story order."""
        return _DAY_SEPARATOR.join(
            page.render(chosen)
            for page, chosen in zip(self._candidates.pages, self._chosen, strict=True)
            if chosen
        )

    def take_cited_sentences(self) -> None:
        """The sentences whose place the dataset names, in its order."""
        for number, cited in self._candidates.cited:
            if cited.start is None or cited.end is None:
                continue
            page = self._candidates.pages[number]
            for index in page.find_sentences(cited.start, cited.end):
                shared = extract_terms(page.sentences[index].text) & self._candidates.case
                self._add(number, (index,), shared)

    def take_cited_turns(self) -> None:
        """The turns that the dataset names; of those too long to show, the parts that matter."""
        case = self._candidates.case
        turns = {(number, cited.turn) for number, cited in self._candidates.cited}
        for number, turn in sorted((n, turn) for n, turn in turns if turn is not None):
            parts = [each for each in self._candidates.pages[number].passages if each.block == turn]
            if len(parts) == 1:
                self._add(number, parts[0].sentences, case.intersection(parts[0].terms))
        long = [each for each in self._candidates.all if (each.page, each.block) in turns]
        self._take_best(case, long)

    def take(self, wanted: frozenset[str], *, keep_free: int = 0) -> None:
        """The passages that share most with what is wanted, leaving so much room free."""
        self._take_best(wanted, self._candidates.all, keep_free)

    def _take_best(
        self, wanted: frozenset[str], among: Iterable[_PassageCandidate], keep_free: int = 0
    ) -> None:
        """Always the best next. What a passage is worth only falls, so an old rank is a bound."""
        ranked = [
            (-worth, each.place, each) for each in among if (worth := self._score(each, wanted))
        ]
        heapify(ranked)
        while ranked:
            rank, place, best = heappop(ranked)
            worth = self._score(best, wanted)
            if worth == -rank and best.characters <= self.room - keep_free:
                self._add(best.page, best.sentences, best.shared, keep_free)
            elif 0 < worth < -rank:
                heappush(ranked, (-worth, place, best))

    def _score(self, candidate: _PassageCandidate, wanted: frozenset[str]) -> float:
        return sum(
            self._candidates.rarity[term] * _REPEAT_WEIGHTS[times]
            for term in candidate.shared
            if term in wanted and (times := self._times_shown[term]) < len(_REPEAT_WEIGHTS)
        )

    def _add(
        self, number: int, sentences: Iterable[int], shared: Iterable[str], keep_free: int = 0
    ) -> None:
        """Show more of a day, unless it is shown already or would not leave the room free."""
        more = self._chosen[number].union(sentences)
        if len(more) == len(self._chosen[number]):
            return
        length = len(self._candidates.pages[number].render(more)) + len(_DAY_SEPARATOR)
        room = self.room - (length - self._lengths[number])
        if room >= keep_free:
            self._chosen[number], self._lengths[number], self.room = more, length, room
            self._times_shown.update(shared)
