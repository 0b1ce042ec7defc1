"""Whether `relevant_days` are the days an answer rests on, no more and no fewer."""

from collections.abc import Iterator

from recall_bench.datasets.days import runs
from recall_bench.lint.answers import telling_days
from recall_bench.lint.asked import Asked
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.finding import Lint, Remark, Severity

_WINDOW = 7
"""A week of relevant days in a row is the window a question was written from."""
_SYNTHESIS = "synthesis"
_NEGATIVE = "negative-recall"


def lists_window(asked: Asked) -> bool:
    """Whether the relevant days hold a week or more without a gap."""
    return any(last - first + 1 >= _WINDOW for first, last in runs(asked.days))


def wants_one_fact(asked: Asked) -> bool:
    """Whether one fact is asked for; a denial and a synthesis may rest on every day of a week."""
    is_one_fact = asked.category not in {_SYNTHESIS, _NEGATIVE} and not asked.denies
    return is_one_fact and not asked.item.truth.requires_synthesis


def _windows(corpus: Corpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if wants_one_fact(asked) and lists_window(asked):
            yield corpus.of_question(
                asked,
                f"it lists {len(asked.days)} relevant days, {asked.days[0]} to {asked.days[-1]}, "
                "for one fact; list the days that state it",
            )


def _single_day(corpus: Corpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if _is_synthesis(asked) and len(asked.days) == 1:
            yield corpus.of_question(
                asked,
                f"it asks for synthesis and has one relevant day, {asked.days[0]}; "
                "list the others, or call it what it is",
            )


def _in_one_day(corpus: Corpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if not _is_synthesis(asked) or len(asked.days) < 2 or len(asked.exact) < 2:
            continue
        together = telling_days(corpus, asked).intersection(
            asked.days, *(corpus.index.days(atom) for atom in asked.atoms)
        )
        if together:
            yield corpus.of_question(
                asked,
                f"day {min(together)} alone states every value and name of the answer, so nothing "
                "need be put together; ask for what only several days tell",
            )


def _is_synthesis(asked: Asked) -> bool:
    return asked.category == _SYNTHESIS or asked.item.truth.requires_synthesis


LINTS = (
    Lint(
        code="whole-window",
        severity=Severity.WARNING,
        summary="A question for one fact does not list seven relevant days or more in a row.",
        check=_windows,
    ),
    Lint(
        code="synthesis-one-day",
        severity=Severity.WARNING,
        summary="A question that asks for synthesis rests on more than one day.",
        check=_single_day,
    ),
    Lint(
        code="synthesis-told-whole",
        severity=Severity.WARNING,
        summary="No single day states every value and name of a synthesis of two values or more.",
        check=_in_one_day,
    ),
)
