"""The evidence a judge is shown: passages of the memory window, within a budget.

A day is cut into passages: short enough to show and long enough to understand. First come the
sentences that the dataset cites. Half of the remaining room is reserved for the question and the
reference, so that a long answer cannot crowd out the evidence against it. Then come the passages
nearest to what the answer adds, and any room left goes to all three. A passage scores the rarity of
the words and values it shares with them; each counts half as much every time it was shown, and
nothing after the third time, so that a sentence repeated every day does not take all the room.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from itertools import groupby
from math import log
from pathlib import Path
from sys import intern

from recall_bench.core.scenario import Episode, Evidence
from recall_bench.core.usage import CHARACTERS_A_TOKEN
from recall_bench.core.verdict import Exhibit, Strictness
from recall_bench.text.sentences import Sentence, read_sentences
from recall_bench.text.text import Stems, normalise, split_words
from recall_bench.text.values import find_values


class ExcerptMode(StrEnum):
    """How much of the memory window the judge is shown."""

    PASSAGES = "passages"
    """Only passages about the question, the reference or the answer, within the budget."""
    FULL = "full"
    """Every day of the window, whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricOptions:
    """The options of a rubric judge."""

    showing: ExcerptMode = ExcerptMode.PASSAGES
    budget_tokens: int = 1500
    """The budget of the passages, at four characters a token."""
    cache: Path | None = None
    """The folder of cached verdicts; None for no cache."""
    reading: Strictness | None = None
    """How the rubrics are read where they leave room; None for as they are written."""


MOST_CHARACTERS = 600
"""A longer paragraph, list entry or turn becomes several passages."""

CUT = "…"
"""Marks omitted text."""


@dataclass(frozen=True, slots=True)
class EpisodePassage:
    """A run of sentences of one paragraph, list entry or turn."""

    sentences: range
    """The sentences of the day, by number."""
    block: int
    session: str | None
    characters: int
    terms: tuple[str, ...]
    """Search terms, with its heading and lead. A tuple: a set takes several times the memory, and a
    history has tens of thousands of passages."""


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """One episode, cut into passages."""

    episode: Episode
    sentences: tuple[Sentence, ...]
    passages: tuple[EpisodePassage, ...]

    def find_sentences(self, start: int, end: int) -> list[int]:
        """The sentences that overlap the characters from `start` to `end`."""
        text = self.episode.text
        whole = _remove_blanks(text)
        first, last = len(_remove_blanks(text[:start])), len(_remove_blanks(text[:end]))
        sentences: list[int] = []
        after = 0
        for index, sentence in enumerate(self.sentences):
            bare = _remove_blanks(sentence.text)
            place = whole.find(bare, after)
            if place < 0:
                continue
            after = place + len(bare)
            if place < last and after > first:
                sentences.append(index)
        return sentences

    def render(self, chosen: Collection[int]) -> str:
        """The chosen sentences in order under the day's banner, every cut marked."""
        lines = [format_banner(self.episode)]
        before = -1
        place: tuple[str | None, str] = (None, "")
        lead = ""
        for index in sorted(chosen):
            sentence = self.sentences[index]
            if index == before + 1 and before >= 0 and _is_same_block(self, before, index):
                lines[-1] += f" {sentence.text}"
            else:
                if index != before + 1:
                    lines.append(CUT)
                if place != (sentence.session, sentence.heading):
                    lines.extend(_render_headings(place, sentence))
                    lead = ""
                lines.extend(self._render_sentence(sentence, lead, lines[-1]))
            place, lead, before = (sentence.session, sentence.heading), sentence.lead, index
        if before + 1 < len(self.sentences):
            lines.append(CUT)
        return "\n".join(lines)

    def _render_sentence(self, sentence: Sentence, lead: str, above: str) -> Iterator[str]:
        if not sentence.lead:
            yield sentence.text
        elif self.episode.turns:
            yield sentence.with_lead
        else:
            if sentence.lead not in (lead, above):
                yield sentence.lead
            yield f"- {sentence.text}"


def format_banner(episode: Episode) -> str:
    """The line that opens a day: its number, date, and hour where there is one."""
    when = episode.at
    hour = f" {when:%H:%M}" if (when.hour, when.minute) != (0, 0) else ""
    return f"=== Day {episode.day}, {when:%Y-%m-%d}{hour} ==="


@lru_cache(maxsize=256)
def read_page(episode: Episode) -> EpisodePage:
    """The episode cut into passages, cached."""
    sentences = tuple(
        part for sentence in read_sentences(episode) for part in _split_long(sentence)
    )
    return EpisodePage(episode, sentences, tuple(_split_passages(sentences)))


def extract_terms(text: str) -> frozenset[str]:
    """The search terms of a text: values in any spelling, and stems of words."""
    bare = normalise(text)
    found = {f"{atom.kind} {atom.core}" for atom in find_values(bare)}
    return frozenset(
        found.union(_load_stems().stem(word for word in split_words(bare) if not word.isdigit()))
    )


@cache
def _load_stems() -> Stems:
    return Stems()


@lru_cache(maxsize=4096)
def _extract_place_terms(place: str) -> frozenset[str]:
    return extract_terms(place)


def _remove_blanks(text: str) -> str:
    """The text without blanks, so that line breaks do not matter."""
    return "".join(text.split())


def _is_same_block(page: EpisodePage, one: int, other: int) -> bool:
    return page.sentences[one].block == page.sentences[other].block


def _render_headings(place: tuple[str | None, str], sentence: Sentence) -> Iterator[str]:
    if sentence.session is not None and sentence.session != place[0]:
        yield f"# session: {sentence.session}"
    if sentence.heading:
        yield f"## {sentence.heading}"


def _split_long(sentence: Sentence) -> Iterator[Sentence]:
    """The sentence, or pieces of it where it is too long for one passage."""
    while len(sentence.text) > MOST_CHARACTERS:
        blank = sentence.text.rfind(" ", 1, MOST_CHARACTERS)
        end = blank if blank > 0 else MOST_CHARACTERS
        yield sentence.cut(sentence.text[:end])
        sentence = sentence.cut(sentence.text[end:].lstrip())
    yield sentence


def _split_passages(sentences: tuple[Sentence, ...]) -> Iterator[EpisodePassage]:
    for _, block in groupby(range(len(sentences)), key=lambda index: sentences[index].block):
        run: list[int] = []
        for index in block:
            if run and _count_characters(sentences, [*run, index]) > MOST_CHARACTERS:
                yield _make_passage(sentences, run)
                run = []
            run.append(index)
        yield _make_passage(sentences, run)


def _count_characters(sentences: tuple[Sentence, ...], run: list[int]) -> int:
    return sum(len(sentences[index].text) + 1 for index in run) - 1


def _make_passage(sentences: tuple[Sentence, ...], run: list[int]) -> EpisodePassage:
    first = sentences[run[0]]
    terms = extract_terms(" ".join(sentences[index].text for index in run))
    return EpisodePassage(
        sentences=range(run[0], run[-1] + 1),
        block=first.block,
        session=first.session,
        characters=_count_characters(sentences, run),
        terms=tuple(map(intern, terms | _extract_place_terms(f"{first.heading}\n{first.lead}"))),
    )


ANSWER_CHARACTERS = 12_000
"""The judged part of an answer; the rest is cut off."""

_DAY_SEPARATOR = "\n\n"
_REPEAT_WEIGHTS = (1.0, 0.5, 0.25)
"""The weight of a term the first, second and third time it is shown."""


def render_evidence(exhibit: Exhibit, options: RubricOptions) -> str:
    """The exhibit's days, whole or in passages, in story order; empty if there are none.

    Days after the checkpoint are never shown. Omitted text is marked by an ellipsis.
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
    terms = extract_terms("\n".join((item.text, truth.reference, *truth.aliases, *truth.stale)))
    claimed = extract_terms(exhibit.answer.text[:ANSWER_CHARACTERS])
    pages = [read_page(day) for day in days]
    selection = _PassageSelection(_EvidencePool(pages, truth.evidence, terms | claimed), room)
    selection.take_cited_sentences()
    selection.take_cited_turns()
    selection.take(terms, keep_free=selection.room // 2)
    selection.take(claimed - terms)
    selection.take(terms | claimed)
    return selection.text or CUT


@dataclass(frozen=True, slots=True)
class _PassageCandidate:
    """A passage that shares terms with the case."""

    page: int
    block: int
    sentences: range
    characters: int
    shared: tuple[str, ...]
    """Sorted: a float sum depends on its order."""
    is_aside: bool
    """Whether the dataset cites nothing there."""

    @property
    def place(self) -> tuple[bool, int, int]:
        """The order of passages with equal scores: cited first, then earlier."""
        return self.is_aside, self.page, self.sentences.start


class _EvidencePool:
    """All candidates, and the rarity of what they share with the case."""

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
    """The sentences chosen so far."""

    def __init__(self, candidates: _EvidencePool, room: int) -> None:
        self.room = room
        """Characters left."""
        self._candidates = candidates
        self._chosen: list[set[int]] = [set() for _ in candidates.pages]
        self._lengths = [0 for _ in candidates.pages]
        self._times_shown: Counter[str] = Counter()

    @property
    def text(self) -> str:
        """Everything chosen, in story order."""
        return _DAY_SEPARATOR.join(
            page.render(chosen)
            for page, chosen in zip(self._candidates.pages, self._chosen, strict=True)
            if chosen
        )

    def take_cited_sentences(self) -> None:
        """Take the sentences that the dataset cites, in its order."""
        for number, cited in self._candidates.cited:
            if cited.start is None or cited.end is None:
                continue
            page = self._candidates.pages[number]
            for index in page.find_sentences(cited.start, cited.end):
                shared = extract_terms(page.sentences[index].text) & self._candidates.case
                self._add(number, (index,), shared)

    def take_cited_turns(self) -> None:
        """Take the cited turns; of those too long to show, the best parts."""
        case = self._candidates.case
        turns = {(number, cited.turn) for number, cited in self._candidates.cited}
        for number, turn in sorted((n, turn) for n, turn in turns if turn is not None):
            parts = [
                passage
                for passage in self._candidates.pages[number].passages
                if passage.block == turn
            ]
            if len(parts) == 1:
                self._add(number, parts[0].sentences, case.intersection(parts[0].terms))
        long = [each for each in self._candidates.all if (each.page, each.block) in turns]
        self._take_best(case, long)

    def take(self, wanted: frozenset[str], *, keep_free: int = 0) -> None:
        """Take the passages that share most with these terms, leaving `keep_free` characters."""
        self._take_best(wanted, self._candidates.all, keep_free)

    def _take_best(
        self, wanted: frozenset[str], among: Iterable[_PassageCandidate], keep_free: int = 0
    ) -> None:
        """Take the best passage next. Scores only fall, so an old score is an upper bound."""
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
        """Show more of a day, unless it is shown already or does not fit."""
        more = self._chosen[number].union(sentences)
        if len(more) == len(self._chosen[number]):
            return
        length = len(self._candidates.pages[number].render(more)) + len(_DAY_SEPARATOR)
        room = self.room - (length - self._lengths[number])
        if room >= keep_free:
            self._chosen[number], self._lengths[number], self.room = more, length, room
            self._times_shown.update(shared)
