"""The numbers behind the findings, whether or not they are bad enough to be one."""

from collections.abc import Iterator
from statistics import median

from recall_bench.core.record import Record
from recall_bench.lint.answers import find_telling_days
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.evidence import is_whole_window
from recall_bench.lint.history import count_new_sentences
from recall_bench.lint.negatives import count_constant_no


class LintFigure(Record, frozen=True, kw_only=True):
    """One number about a dataset."""

    name: str
    value: float
    """A share from 0 to 1, or a count."""
    of: int
    """How many sentences or questions it was taken over."""
    meaning: str
    is_share: bool = True


def compute_figures(corpus: LintCorpus) -> Iterator[LintFigure]:
    """Every number that can be taken; one over nothing is left out."""
    new, total = count_new_sentences(corpus)
    yield from _make_share("new-sentences", new, total, "sentences of six words or more are new")
    right, asked = count_constant_no(corpus)
    yield from _make_share("constant-no", right, asked, "negative-recall questions want a No")
    listing = sum(is_whole_window(asked) for asked in corpus.questions)
    yield from _make_share(
        "whole-window", listing, len(corpus.questions), "questions list a week of days or more"
    )
    exact = [asked for asked in corpus.questions if asked.exact]
    told = [(asked, find_telling_days(corpus, asked)) for asked in exact]
    early = sum(any(day < asked.days[0] for day in days) for asked, days in told)
    yield from _make_share(
        "known-early", early, len(exact), "answers with values are stated before their first day"
    )
    if told:
        yield LintFigure(
            name="other-days",
            value=float(median(len(days.difference(asked.days)) for asked, days in told)),
            of=len(told),
            meaning="other days state the values of an answer, in the median",
            is_share=False,
        )


def _make_share(name: str, part: int, total: int, meaning: str) -> Iterator[LintFigure]:
    if total:
        yield LintFigure(name=name, value=part / total, of=total, meaning=meaning)
