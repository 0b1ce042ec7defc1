"""What a lint is, and what it says when it has found something."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from recall_bench.core.record import Record

if TYPE_CHECKING:
    from recall_bench.lint.corpus import LintCorpus


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """An answer is wrong, two are right, or a right one would be marked wrong."""
    WARNING = "warning"
    """The questions measure something else, or less, than they say."""
    NOTE = "note"
    """Worth knowing before the numbers are believed."""

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing found: where it is, what it is, and what to do about it."""

    message: str
    file: str
    """As people find it: from the data folder on."""
    line: int | None = None
    question: str | None = None


class LintFinding(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A remark, and which lint made it."""

    code: str
    severity: Severity
    message: str
    file: str
    line: int | None = None
    question: str | None = None

    @property
    def where(self) -> str:
        """File, line and question, as far as there are any."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return place if self.question is None else f"{place} {self.question}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """One thing to look for in a dataset."""

    code: str
    severity: Severity
    summary: str
    """One sentence: what a sound dataset has, and why."""
    check: Callable[["LintCorpus"], Iterable[Remark]]

    def run(self, corpus: "LintCorpus") -> tuple[LintFinding, ...]:
        """Everything the check remarks on, in its order."""
        return tuple(
            LintFinding(
                code=self.code,
                severity=self.severity,
                message=remark.message,
                file=remark.file,
                line=remark.line,
                question=remark.question,
            )
            for remark in self.check(corpus)
        )
