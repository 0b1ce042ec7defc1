"""Whether the relevant days of a question hold its answer, beyond what the lints check."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cache, cached_property

from recall_bench.core.scenario import BOUNDARY, Disclosure, Evidence
from recall_bench.features.personas.checks.check_result import (
    QuestionProblem,
    make_support_problem,
)
from recall_bench.stories.lint.answer_checks import (
    AMOUNTS,
    INFERRED,
    is_single_fact,
    is_whole_window,
)
from recall_bench.stories.lint.lint_corpus import LintCorpus
from recall_bench.stories.lint.value_index import NO_SESSION, DayLog, LintQuestion, ValueIndex
from recall_bench.stories.persona_files import format_days
from recall_bench.text.number_words import ROUND_NUMBERS
from recall_bench.text.text_values import DATE, NAME, collect_topics, normalise_text


class DayWords:
    """The stems of the content words of every day, computed on demand."""

    def __init__(self, corpus: LintCorpus) -> None:
        self._corpus = corpus
        self._known: dict[int, frozenset[str]] = {}
        self._told: dict[str, frozenset[str]] = {}

    def collect_words(self, day: int) -> frozenset[str]:
        """The words of one day."""
        words = self._known.get(day)
        if words is None:
            day_words = self._corpus.by_number[day].sentences
            texts = {sentence.text for sentence in day_words} | {
                sentence.heading for sentence in day_words
            }
            words = self._known[day] = frozenset().union(*map(self._split_words, texts))
        return words

    def _split_words(self, text: str) -> frozenset[str]:
        """The words of a sentence; cached, because many recur."""
        topics = self._told.get(text)
        if topics is None:
            topics = self._told[text] = collect_topics(text)
        return topics

    def collect_words_of_days(self, days: Iterable[int]) -> frozenset[str]:
        """The words of several days."""
        return frozenset().union(*(self.collect_words(day) for day in days))

    def find_usual(self, several: Iterable[str]) -> set[str]:
        """The words that more than half of the days use."""
        return {word for word in several if self._days[word] * 2 > len(self._corpus.days)}

    def find_known(self, several: Iterable[str]) -> set[str]:
        """The words that some day uses."""
        return {word for word in several if self._days[word]}

    @cached_property
    def _days(self) -> Counter[str]:
        return Counter(word for day in self._corpus.days for word in self.collect_words(day.number))


GUARDED = (Disclosure.REFUSE, Disclosure.PARTIAL)
"""The disclosures of questions that withhold something."""

_HEADING = re.compile(r"^#{1,6}[ \t].*$", re.MULTILINE)
_MIN_SHARED_WORDS = 2 / 3
"""The share of an answer's words that its days should use, to allow for rewording."""
_MIN_TELLING_WORDS = 1 / 2
"""The same share of the words that only some days use."""
_MIN_TELLING = 3
"""Fewer such words may be a rewording."""


def is_withheld(asked: LintQuestion) -> bool:
    """Whether the answer withholds something and need not be in the days."""
    disclosure = asked.item.truth.disclosure
    return disclosure in GUARDED or (disclosure is None and asked.category == BOUNDARY)


def check_support(
    corpus: LintCorpus, day_words: DayWords, asked: LintQuestion
) -> Iterator[QuestionProblem]:
    """Problems of answer and evidence that the relevant days do not support."""
    yield from _check_spans(corpus, asked)
    if missing := _find_missing_words(day_words, asked):
        named = ", ".join(sorted(missing)[:4])
        yield make_support_problem(
            f"too few words of the answer stand on {format_days(asked.days)}, not even {named}; "
            "correct the answer or relevant_days",
            is_severe=True,
        )
    yield from _check_window(corpus, day_words, asked)


def find_holding_days(corpus: LintCorpus, asked: LintQuestion) -> tuple[int, ...]:
    """The relevant days that state every value and name of the answer, in any spelling.

    Short codes such as Q1 are ignored. Empty without values, and for refusals.
    """
    telling = [atom for atom in asked.atoms if atom.is_exact or atom.kind == NAME]
    if not telling or is_withheld(asked):
        return ()
    holding_days = (corpus.index.find_loose_days(atom) for atom in telling)
    return tuple(sorted(set(asked.days).intersection(*holding_days)))


@cache
def _list_inference_words() -> frozenset[str]:
    """Stems that an answer may add when it is worked out; figures are no words at all."""
    relations = "instead rather later earlier sooner longer shorter altogether total"
    units = "minute hour day week month year"
    return collect_topics(f"one {' '.join(ROUND_NUMBERS)} {relations} {units}")


def _find_missing_words(day_words: DayWords, asked: LintQuestion) -> Collection[str]:
    """Words of the answer that its days lack, if they are too many for a rewording."""
    if asked.denies or is_withheld(asked) or not asked.days:
        return ()
    answer = collect_topics(asked.reference) - asked.topics
    if asked.category in INFERRED:
        answer -= _list_inference_words()
    here = day_words.collect_words_of_days(asked.days)
    missing = answer - here
    if len(missing) > (1 - _MIN_SHARED_WORDS) * len(answer):
        return missing
    telling = day_words.find_known(answer) - day_words.find_usual(answer)
    lost = telling - here
    is_elsewhere = len(lost) >= _MIN_TELLING and len(lost) > (1 - _MIN_TELLING_WORDS) * len(telling)
    return lost if is_elsewhere else ()


def _check_window(
    corpus: LintCorpus, day_words: DayWords, asked: LintQuestion
) -> Iterator[QuestionProblem]:
    """A week of relevant days for one fact that only some of them state."""
    if is_withheld(asked) or not is_single_fact(asked) or not is_whole_window(asked):
        return
    if asked.atoms:
        holding = find_holding_days(corpus, asked)
    else:
        answer = collect_topics(asked.reference) - asked.topics
        holding = tuple(
            day
            for day in asked.days
            if len(answer & day_words.collect_words(day)) >= _MIN_SHARED_WORDS * len(answer)
        )
    if holding and len(holding) < len(asked.days):
        yield make_support_problem(
            f"it lists {len(asked.days)} relevant days for one fact, and only "
            f"{format_days(holding)} {'states' if len(holding) == 1 else 'state'} it; list no "
            "others"
        )


def _check_spans(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionProblem]:
    spans = [span for span in asked.item.truth.evidence if span.start is not None]
    outside = [span for span in spans if not _is_inside(corpus, span)]
    for span in outside:
        yield make_support_problem(
            f"its evidence on day {span.day} points to characters {span.start} to {span.end}, "
            f"which are not of {span.session or 'that day'}; correct them",
            is_severe=True,
        )
    yield from _check_quotes(corpus, asked)
    if not spans or outside or len(spans) < len(asked.item.truth.evidence):
        return
    days = [DayLog(n, "", _extract_span(corpus, span)) for n, span in enumerate(spans)]
    claims = [
        atom
        for atom in asked.exact
        if not (atom.kind == DATE or (atom.kind in AMOUNTS and asked.category in INFERRED))
    ]
    index = ValueIndex(days, claims)
    if absent := [atom.shown for atom in claims if not index.find_loose_days(atom)]:
        yield make_support_problem(
            f"its evidence does not hold {', '.join(absent[:3])}; point to the sentence that does",
            is_severe=True,
        )


def _is_inside(corpus: LintCorpus, span: Evidence) -> bool:
    text = corpus.by_number[span.day].text
    start, end = span.start or 0, span.end
    if end is None or not 0 <= start < end <= len(text):
        return False
    before = DayLog(span.day, "", text[:start])
    session = before.session_headings[-1] if before.session_headings else NO_SESSION
    return span.session is None or session == span.session


def _extract_span(corpus: LintCorpus, span: Evidence) -> str:
    """The text of the evidence, from its heading on."""
    text = corpus.by_number[span.day].text
    start = span.start or 0
    headed = [item.start() for item in _HEADING.finditer(text, 0, start)]
    return text[headed[-1] if headed else start : span.end]


def _check_quotes(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionProblem]:
    """Problems with quotations in the evidence."""
    listed = asked.extra.get("evidence")
    for span in listed if isinstance(listed, list) else ():
        quote, day = span.get("quote"), span.get("day")
        if not isinstance(quote, str) or not isinstance(day, int):
            continue
        start, end = span.get("start"), span.get("end")
        if not _normalise_text(quote) or _normalise_text(quote) not in _normalise_text(
            corpus.by_number[day].text[start:end]
        ):
            yield make_support_problem(
                f"day {day} does not say “{quote[:80]}” where its evidence quotes it; correct it",
                is_severe=True,
            )


def _normalise_text(text: str) -> str:
    return " ".join(normalise_text(text).lower().split())
