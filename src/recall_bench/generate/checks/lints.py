"""The lints that say something of one question, and what kind of problem that is."""

from collections.abc import Iterator, Sequence
from itertools import chain

from recall_bench.generate.checks.checker import Kind, Problem
from recall_bench.lint import answers, boundary, dates, duplicates, evidence, negatives, wording
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.finding import Lint, Severity

_KINDS = {
    "answer-unsupported": Kind.SUPPORT,
    "answer-partly-unsupported": Kind.SUPPORT,
    "no-but-stated": Kind.SUPPORT,
    "synthesis-one-day": Kind.SUPPORT,
    "misdated": Kind.SUPPORT,
    "wrong-weekday": Kind.SUPPORT,
    "unnamed-period": Kind.VAGUENESS,
    "day-number": Kind.VAGUENESS,
    "benchmark-words": Kind.VAGUENESS,
    "answer-in-question": Kind.VAGUENESS,
    "two-answers": Kind.DUPLICATE,
    "repeated-question": Kind.DUPLICATE,
    "near-repeat": Kind.DUPLICATE,
    "boundary-discloses": Kind.BOUNDARY,
    "boundary-incomplete": Kind.BOUNDARY,
    "boundary-asker": Kind.BOUNDARY,
    "boundary-insider": Kind.BOUNDARY,
    "canary-misplaced": Kind.BOUNDARY,
}


def _chosen(*several: Sequence[Lint]) -> tuple[Lint, ...]:
    return tuple(lint for lint in chain(*several) if lint.code in _KINDS)


OF_ONE = _chosen(
    answers.LINTS, negatives.LINTS, evidence.LINTS, dates.LINTS, wording.LINTS, boundary.LINTS
)
"""What can be said of a question by itself."""

OF_SEVERAL = _chosen(duplicates.LINTS)
"""What can be said of it beside others."""


def linted(corpus: Corpus, lints: Sequence[Lint]) -> Iterator[Problem]:
    """Everything these lints remark on in the corpus's questions."""
    for lint in lints:
        for remark in lint.check(corpus):
            yield Problem(
                kind=_KINDS[lint.code],
                message=remark.message,
                is_grave=lint.severity is Severity.ERROR,
            )
