"""What a run would refuse or warn about: everything the public format asks of the files."""

import re
from collections.abc import Iterator

from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.finding import Lint, Remark, Severity

_PLACED = re.compile(r"(?P<file>[^:\n]+?)(?:, line (?P<line>\d+))?: (?P<message>.+)", re.DOTALL)
_QUESTION = re.compile(r"\bquestion (?!number\b)(\S+)")


def _check_problems(corpus: LintCorpus) -> Iterator[Remark]:
    for problem in corpus.inspection.problems:
        yield _parse_remark(corpus, str(problem))


def _check_warnings(corpus: LintCorpus) -> Iterator[Remark]:
    shifts = corpus.inspection.calendar.shifts if corpus.inspection.calendar else ()
    said_elsewhere = {f"{corpus.days_name}, {shift}" for shift in shifts}
    for warning in corpus.inspection.warnings:
        if warning not in said_elsewhere:
            yield _parse_remark(corpus, warning)


def _parse_remark(corpus: LintCorpus, sentence: str) -> Remark:
    """The sentence, its file and line taken apart where it opens with them."""
    placed = _PLACED.fullmatch(sentence)
    if placed is None or not placed["file"].startswith(f"{corpus.layout.id}/"):
        return Remark(message=sentence, file=corpus.layout.id)
    named = _QUESTION.search(placed["message"])
    return Remark(
        message=placed["message"],
        file=placed["file"],
        line=int(placed["line"]) if placed["line"] else None,
        question=named[1].rstrip(",;:") if named else None,
    )


FILE_LINTS = (
    Lint(
        code="format-problem",
        severity=Severity.ERROR,
        summary="A run would accept the files.",
        check=_check_problems,
    ),
    Lint(
        code="format-warning",
        severity=Severity.WARNING,
        summary="A run would accept the files without a word.",
        check=_check_warnings,
    ),
)
