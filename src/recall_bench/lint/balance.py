"""Whether there are enough questions of each kind for a score to mean something."""

from collections import Counter
from collections.abc import Iterator

from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.finding import Lint, Remark, Severity

_FEWEST = 10
"""With fewer, one answer moves a category's score by more than a tenth."""


def _check_few_questions(corpus: LintCorpus) -> Iterator[Remark]:
    for category, asked in corpus.by_category.items() if corpus.questions else ():
        if 0 < len(asked) < _FEWEST:
            yield corpus.note_questions(
                f"{category} has {len(asked)} questions, so one answer moves its score by "
                f"{1 / len(asked):.0%}; ask at least {_FEWEST}"
            )


def _check_no_questions(corpus: LintCorpus) -> Iterator[Remark]:
    absent = [category for category, asked in corpus.by_category.items() if not asked]
    if absent and corpus.questions:
        yield corpus.note_questions(
            f"no question is of the category {', '.join(absent)}; nothing will be known about it"
        )


def _check_difficulties(corpus: LintCorpus) -> Iterator[Remark]:
    labels = Counter(asked.item.truth.difficulty for asked in corpus.questions)
    if len(labels) == 1 and labels.total() >= _FEWEST:
        yield corpus.note_questions(
            f"all {labels.total()} questions are {next(iter(labels))}; "
            "label them by how hard they are"
        )


BALANCE_LINTS = (
    Lint(
        code="few-questions",
        severity=Severity.NOTE,
        summary=f"A category that is asked about has at least {_FEWEST} questions.",
        check=_check_few_questions,
    ),
    Lint(
        code="no-questions",
        severity=Severity.NOTE,
        summary="Every one of the ten categories has questions.",
        check=_check_no_questions,
    ),
    Lint(
        code="one-difficulty",
        severity=Severity.NOTE,
        summary="Difficulty labels differ, or they say nothing.",
        check=_check_difficulties,
    ),
)
