"""Sentences beside the evidence of a question that say what its words mean.

A question cites the sentences that state values. "From now on Odile signs" does not say what she
signs for, and "Her reason was damp" does not say whose: the paragraph does, in a sentence without a
value. Such sentences are found in the text as it is rendered, and only in paragraphs that a
question cites anyway.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import msgspec

from recall_bench.core.text_values import collect_stems, collect_topics
from recall_bench.generate.life.matters import Matters
from recall_bench.generate.written.derivation import parse_derivation
from recall_bench.generate.written.question_entries import EntryBuilder
from recall_bench.generate.written.renderer import RenderedEdition
from recall_bench.generate.written.slots import FactState
from recall_bench.generate.written.sources import SentenceCitation, WrittenQuestion

_RARE_DAYS = 40
"""A word that at most one sentence in 40 days has singles out what is meant."""
_COUNTING = collect_stems("many much long")
_OF_ONE = frozenset("value latest as-of days date order yes no secret".split())
"""The forms that ask about single statements: a tally is named by each of its members."""
_FORGET = collect_stems("forget")


class ParagraphSentence(msgspec.Struct, frozen=True):
    """A sentence of a day, with its words and the states that it states."""

    day: int
    start: int
    text: str
    words: frozenset[str]
    states: tuple[FactState, ...]


Paragraph = tuple[ParagraphSentence, ...]


class SentenceCitations:
    """Finds the sentences for the questions of one edition."""

    def __init__(self, edition: RenderedEdition, matters: Matters) -> None:
        self._edition = edition
        self._builder = EntryBuilder(edition)
        self._matters = matters
        self._days: dict[int, list[Paragraph]] = {}
        self._statements = {each.day: each.statements for each in edition.days}

    def complete(self, questions: Iterable[WrittenQuestion]) -> list[WrittenQuestion]:
        """The questions, each with the sentences that its evidence lacks."""
        return [self._complete(each) for each in questions]

    def _complete(self, question: WrittenQuestion) -> WrittenQuestion:
        evidence = [
            (sentence, paragraph)
            for span in self._builder.list_spans(question)
            for paragraph in self._list_paragraphs(span.day)
            for sentence in paragraph
            if sentence.start == span.start
        ]
        cited = [sentence for sentence, _ in evidence]
        paragraphs = list(dict.fromkeys(paragraph for _, paragraph in evidence))
        found = [*_list_requests(question, paragraphs), *self._list_names(question, evidence)]
        found += self._list_words(question, [*cited, *found], paragraphs)
        added = [
            SentenceCitation(day=each.day, text=each.text)
            for each in dict.fromkeys(found)
            if each not in cited and self._is_unique(each)
        ]
        return msgspec.structs.replace(question, cites=[*question.cites, *added])

    def _list_paragraphs(self, day: int) -> list[Paragraph]:
        if day not in self._days:
            self._days[day] = [*self._read_paragraphs(day)]
        return self._days[day]

    def _read_paragraphs(self, day: int) -> Iterator[Paragraph]:
        text = self._edition.texts[day]
        statements = self._statements[day]
        block: list[ParagraphSentence] = []
        reached = 0
        for start, end in self._edition.locate_sentences(day):
            if "\n" in text[reached:start] and block:
                yield tuple(block)
                block = []
            reached = end
            states = tuple(each.state for each in statements if start <= each.start < end)
            words = collect_stems(text[start:end])
            block.append(ParagraphSentence(day, start, text[start:end], words, states))
        if block:
            yield tuple(block)

    def _is_unique(self, sentence: ParagraphSentence) -> bool:
        """Whether no other sentence of the day begins with the same words."""
        same = [
            each
            for paragraph in self._list_paragraphs(sentence.day)
            for each in paragraph
            if each.text.startswith(sentence.text)
        ]
        return same == [sentence]

    def _list_names(
        self,
        question: WrittenQuestion,
        evidence: Sequence[tuple[ParagraphSentence, Paragraph]],
    ) -> Iterator[ParagraphSentence]:
        """For each cited sentence without the name of its matter, the one that has it."""
        asked = collect_stems(question.ask)
        for sentence, paragraph in evidence:
            names = {
                name & asked
                for state in sentence.states
                for matter in self._matters.find(state)
                for name in matter.names
            }
            for name in sorted(names, key=sorted):
                if name and not name & sentence.words:
                    yield from _find_nearest(sentence, paragraph, name)

    def _list_words(
        self,
        question: WrittenQuestion,
        cited: Sequence[ParagraphSentence],
        paragraphs: Sequence[Paragraph],
    ) -> Iterator[ParagraphSentence]:
        """The sentences that say most of the words that none of the others says.

        One common word ("day", "customers") says nothing: two words do, or a rare one.
        """
        if parse_derivation(question.derive).form not in _OF_ONE:
            return
        missing = collect_topics(question.ask).difference(
            _COUNTING, *(each.words for each in cited)
        )
        known = [each for paragraph in paragraphs for each in paragraph if each not in cited]
        while known:
            best = max(known, key=lambda each: len(each.words & missing))
            said = best.words & missing
            if not said or (len(said) == 1 and not said & self._rare):
                return
            missing -= best.words
            known.remove(best)
            yield best

    @cached_property
    def _rare(self) -> frozenset[str]:
        """The words of few sentences of the story."""
        counts: Counter[str] = Counter()
        for day in self._edition.texts:
            for paragraph in self._list_paragraphs(day):
                for sentence in paragraph:
                    counts.update(sentence.words)
        most = self._edition.sources.story.days // _RARE_DAYS
        return frozenset(word for word, count in counts.items() if count <= most)


def _find_nearest(
    sentence: ParagraphSentence, paragraph: Paragraph, name: frozenset[str]
) -> list[ParagraphSentence]:
    """The last sentence before this one that has a name, else the first one after it."""
    telling = [each for each in paragraph if each.words & name]
    before = [each for each in telling if each.start < sentence.start]
    return before[-1:] or telling[:1]


def _list_requests(
    question: WrittenQuestion, paragraphs: Sequence[Paragraph]
) -> Iterator[ParagraphSentence]:
    """The sentences that ask to forget; of a room that may not know any more, the whole event."""
    if question.kind == "forgotten":
        for paragraph in paragraphs:
            yield from (each for each in paragraph if each.words & _FORGET)
    closed = parse_derivation(question.derive)
    if closed.form == "secret" and closed.as_of is not None:
        for paragraph in paragraphs:
            yield from (each for each in paragraph if each.day == closed.as_of)
