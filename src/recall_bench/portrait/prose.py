"""How the days are told: how much, in how many different words, in how many different turns.

A sentence that differs from an earlier one in a figure and a name counts as new when sentences
are compared word for word. Its skeleton does not: there every figure is one mark, every name
another, and what is quoted a third.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from recall_bench.core.record import Record
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.day import DayLog
from recall_bench.lint.history import count_new_sentences
from recall_bench.lint.words import STOPWORDS, normalise_text
from recall_bench.portrait.figures import NumberSpread, PartOfWhole, compute_spread

FIGURE, NAME, QUOTATION = "#", "@", "“…”"
"""What stands for each in a skeleton."""

_LONG = 6
"""Shorter sentences repeat in any log; the lints leave them out as well."""
_SHOWN = 5
_SHORT_DAY, _USUAL_DAY, _LONG_DAY = 200, (300, 900), 900

_QUOTED = re.compile(r'"[^"]+"')
_TOKEN = re.compile(r"[$£€¥]?\w+(?:[.,:/'-]\w+)*%?")
_NAMES = re.compile(rf"{NAME}(?: {NAME})+")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_VISIBLE = re.compile(r"[^\W_]")
_I = re.compile(r"I(?:'|\Z)")


class Skeleton(Record, frozen=True, kw_only=True):
    """A turn of phrase with its figures, names and quotations masked."""

    text: str
    count: int


class ProseStatistics(Record, frozen=True, kw_only=True):
    """What the days are made of."""

    words: int
    words_a_day: NumberSpread | None
    under_200: int
    """Days of fewer words."""
    from_300_to_900: int
    over_900: int
    new_sentences: PartOfWhole
    """Of the sentences of six words or more, those no earlier day has word for word."""
    new_skeletons: PartOfWhole
    """Of the same sentences, those whose skeleton no earlier sentence has."""
    repeated: tuple[Skeleton, ...]
    """The skeletons told most often and more than once, most first."""
    used_once: PartOfWhole
    """Of all different words, those that occur once."""


def compute_prose(corpus: LintCorpus) -> ProseStatistics:
    """How the days of a story are told."""
    lengths = [_count_words(day) for day in corpus.days]
    new, total = count_new_sentences(corpus)
    skeletons = Counter(_list_skeletons(corpus))
    vocabulary = Counter(_list_vocabulary(corpus))
    return ProseStatistics(
        words=sum(lengths),
        words_a_day=compute_spread(lengths),
        under_200=sum(length < _SHORT_DAY for length in lengths),
        from_300_to_900=sum(_USUAL_DAY[0] <= length <= _USUAL_DAY[1] for length in lengths),
        over_900=sum(length > _LONG_DAY for length in lengths),
        new_sentences=PartOfWhole(part=new, whole=total),
        new_skeletons=PartOfWhole(part=len(skeletons), whole=skeletons.total()),
        repeated=tuple(
            Skeleton(text=text, count=count)
            for text, count in skeletons.most_common(_SHOWN)
            if count > 1
        ),
        used_once=PartOfWhole(part=list(vocabulary.values()).count(1), whole=len(vocabulary)),
    )


def mask_sentence(sentence: str, ordinary: frozenset[str]) -> str:
    """The sentence with its figures, names and quotations masked.

    Whatever has a digit is a figure. A word with a capital is a name; at the start of a
    sentence, where every word has one, only if it is not among the ordinary words.
    """
    masked = _QUOTED.sub(QUOTATION, normalise_text(sentence))
    first = _TOKEN.search(masked)
    start = first.start() if first else 0

    def mask_token(token: re.Match[str]) -> str:
        word = token[0]
        if any(letter.isdigit() for letter in word):
            return FIGURE
        if not word[:1].isupper() or _I.match(word):
            return word
        is_name = token.start() != start or word.lower() not in ordinary
        return NAME if is_name else word

    return _NAMES.sub(NAME, _TOKEN.sub(mask_token, masked))


def _list_skeletons(corpus: LintCorpus) -> Iterator[str]:
    """The skeleton of every long sentence, in order."""
    ordinary = _find_ordinary_words(corpus)
    for day in corpus.days:
        for sentence in day.sentences:
            if len(sentence.text.split()) >= _LONG:
                yield mask_sentence(sentence.text, ordinary)


def _find_ordinary_words(corpus: LintCorpus) -> frozenset[str]:
    """Words written small at least as often as with a capital they do not owe to their place."""
    small: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for day in corpus.days:
        small.update(word for word in _WORD.findall(normalise_text(day.body)) if word.islower())
        for sentence in day.sentences:
            inner = islice(_WORD.findall(normalise_text(sentence.text)), 1, None)
            capital.update(word.lower() for word in inner if word[0].isupper())
    return STOPWORDS.union(word for word, count in small.items() if count >= capital[word])


def _list_vocabulary(corpus: LintCorpus) -> Iterator[str]:
    for day in corpus.days:
        for _, part in day.split_sessions():
            yield from _WORD.findall(normalise_text(part).lower())


def _count_words(day: DayLog) -> int:
    """Words as people count them, figures too; the headings of sessions are not told."""
    return sum(
        _VISIBLE.search(token) is not None
        for _, part in day.split_sessions()
        for token in part.split()
    )
