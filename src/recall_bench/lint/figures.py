"""The numbers behind the findings, whether or not they are bad enough to be one."""

from collections.abc import Iterator
from statistics import median

from recall_bench.core.record import Record
from recall_bench.lint.answers import telling_days
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.evidence import lists_window
from recall_bench.lint.history import novelty
from recall_bench.lint.negatives import constant_no


class Figure(Record, frozen=True, kw_only=True):
    """One number about a dataset."""

    name: str
    value: float
    """A share from 0 to 1, or a count."""
    of: int
    """How many sentences or questions it was taken over."""
    meaning: str
    is_share: bool = True


def figures(corpus: Corpus) -> Iterator[Figure]:
    """Every number that can be taken; one over nothing is left out."""
    new, total = novelty(corpus)
    yield from _share("new-sentences", new, total, "sentences of six words or more are new")
    right, asked = constant_no(corpus)
    yield from _share("constant-no", right, asked, "negative-recall questions want a No")
    listing = sum(lists_window(asked) for asked in corpus.questions)
    yield from _share(
        "whole-window", listing, len(corpus.questions), "questions list a week of days or more"
    )
    exact = [asked for asked in corpus.questions if asked.exact]
    told = [(asked, telling_days(corpus, asked)) for asked in exact]
    early = sum(any(day < asked.days[0] for day in days) for asked, days in told)
    yield from _share(
        "known-early", early, len(exact), "answers with values are stated before their first day"
    )
    if told:
        yield Figure(
            name="other-days",
            value=float(median(len(days.difference(asked.days)) for asked, days in told)),
            of=len(told),
            meaning="other days state the values of an answer, in the median",
            is_share=False,
        )


def _share(name: str, part: int, total: int, meaning: str) -> Iterator[Figure]:
    if total:
        yield Figure(name=name, value=part / total, of=total, meaning=meaning)
