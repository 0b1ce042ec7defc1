"""Whether `relevant_days` are the days an answer rests on, no more and no fewer."""

from collections.abc import Iterator

from recall_bench.datasets.days import find_runs
from recall_bench.lint.answers import find_telling_days
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.finding import Lint, Remark, Severity

_WINDOW = 7
"""A week of relevant days in a row is the window a question was written from."""
_SYNTHESIS = "synthesis"
_NEGATIVE = "negative-recall"


def is_whole_window(asked: LintQuestion) -> bool:
    """Whether the relevant days hold a week or more without a gap."""
    return any(last - first + 1 >= _WINDOW for first, last in find_runs(asked.days))


def is_single_fact(asked: LintQuestion) -> bool:
    """Whether one fact is asked for; a denial and a synthesis may rest on every day of a week."""
    is_one_fact = asked.category not in {_SYNTHESIS, _NEGATIVE} and not asked.denies
    return is_one_fact and not asked.item.truth.requires_synthesis


def _check_windows(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if is_single_fact(asked) and is_whole_window(asked):
            yield corpus.note_question(
                asked,
                f"it lists {len(asked.days)} relevant days, {asked.days[0]} to {asked.days[-1]}, "
                "for one fact; list the days that state it",
            )


def _check_single_day(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if _is_synthesis(asked) and len(asked.days) == 1:
            yield corpus.note_question(
                asked,
                f"it asks for synthesis and has one relevant day, {asked.days[0]}; "
                "list the others, or call it what it is",
            )


def _check_synthesis(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        if not _is_synthesis(asked) or len(asked.days) < 2 or len(asked.exact) < 2:
            continue
        together = find_telling_days(corpus, asked).intersection(
            asked.days, *(corpus.index.find_days(atom) for atom in asked.atoms)
        )
        if together:
            yield corpus.note_question(
                asked,
                f"day {min(together)} alone states every value and name of the answer, so nothing "
                "need be put together; ask for what only several days tell",
            )


def _is_synthesis(asked: LintQuestion) -> bool:
    return asked.category == _SYNTHESIS or asked.item.truth.requires_synthesis


EVIDENCE_LINTS = (
    Lint(
        code="whole-window",
        severity=Severity.WARNING,
        summary="A question for one fact does not list seven relevant days or more in a row.",
        check=_check_windows,
    ),
    Lint(
        code="synthesis-one-day",
        severity=Severity.WARNING,
        summary="A question that asks for synthesis rests on more than one day.",
        check=_check_single_day,
    ),
    Lint(
        code="synthesis-told-whole",
        severity=Severity.WARNING,
        summary="No single day states every value and name of a synthesis of two values or more.",
        check=_check_synthesis,
    ),
)
