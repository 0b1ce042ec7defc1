"""The lints that say something of one question, and what kind of problem that is."""

from collections.abc import Iterator, Sequence
from itertools import chain

from recall_bench.generate.checks.checker import ProblemKind, QuestionProblem
from recall_bench.lint import answers, boundary, dates, duplicates, evidence, negatives, wording
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.finding import Lint, Severity

_KINDS = {
    "answer-unsupported": ProblemKind.SUPPORT,
    "answer-partly-unsupported": ProblemKind.SUPPORT,
    "no-but-stated": ProblemKind.SUPPORT,
    "synthesis-one-day": ProblemKind.SUPPORT,
    "misdated": ProblemKind.SUPPORT,
    "wrong-weekday": ProblemKind.SUPPORT,
    "unnamed-period": ProblemKind.VAGUENESS,
    "day-number": ProblemKind.VAGUENESS,
    "benchmark-words": ProblemKind.VAGUENESS,
    "answer-in-question": ProblemKind.VAGUENESS,
    "two-answers": ProblemKind.DUPLICATE,
    "repeated-question": ProblemKind.DUPLICATE,
    "near-repeat": ProblemKind.DUPLICATE,
    "boundary-discloses": ProblemKind.BOUNDARY,
    "boundary-incomplete": ProblemKind.BOUNDARY,
    "boundary-asker": ProblemKind.BOUNDARY,
    "boundary-insider": ProblemKind.BOUNDARY,
    "canary-misplaced": ProblemKind.BOUNDARY,
}


def _select_lints(*several: Sequence[Lint]) -> tuple[Lint, ...]:
    return tuple(lint for lint in chain(*several) if lint.code in _KINDS)


OF_ONE = _select_lints(
    answers.ANSWER_LINTS,
    negatives.NEGATIVE_LINTS,
    evidence.EVIDENCE_LINTS,
    dates.DATE_LINTS,
    wording.WORDING_LINTS,
    boundary.BOUNDARY_LINTS,
)
"""What can be said of a question by itself."""

OF_SEVERAL = _select_lints(duplicates.DUPLICATE_LINTS)
"""What can be said of it beside others."""


def run_lints(corpus: LintCorpus, lints: Sequence[Lint]) -> Iterator[QuestionProblem]:
    """Everything these lints remark on in the corpus's questions."""
    for lint in lints:
        for remark in lint.check(corpus):
            yield QuestionProblem(
                kind=_KINDS[lint.code],
                message=remark.message,
                is_grave=lint.severity is Severity.ERROR,
            )
