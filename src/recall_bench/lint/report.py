"""A persona's story looked at with every lint, and what came of it."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from recall_bench.core.record import Record
from recall_bench.lint.catalogue import LINTS
from recall_bench.lint.corpus import read_corpus
from recall_bench.lint.figures import LintFigure, compute_figures
from recall_bench.lint.finding import Lint, LintFinding, Severity


class LintReport(Record, frozen=True, kw_only=True):
    """What the lints found in one story."""

    persona: str
    arcs: str
    days: int
    questions: int
    figures: tuple[LintFigure, ...]
    findings: tuple[LintFinding, ...]
    """Gravest first, then in the order of the lints, then by place."""

    def count(self, severity: Severity) -> int:
        """How many findings are of this severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def counts(self) -> dict[str, int]:
        """How many findings each lint has that has any, in the order of `findings`."""
        return dict(Counter(finding.code for finding in self.findings))

    def filter_severity(self, severity: Severity) -> "LintReport":
        """The same report without what matters less."""
        kept = (f for f in self.findings if f.severity.rank <= severity.rank)
        return self.replace(findings=tuple(kept))


def lint_story(folder: Path, *, arcs: str, lints: Collection[Lint] = LINTS) -> LintReport:
    """Look at one story of the persona in this folder; nothing wrong with it raises."""
    corpus = read_corpus(folder, arcs)
    found = [finding for lint in lints for finding in _sort_by_place(lint.run(corpus))]
    return LintReport(
        persona=corpus.layout.id,
        arcs=arcs,
        days=len(corpus.days),
        questions=len(corpus.questions),
        figures=tuple(compute_figures(corpus)),
        findings=tuple(sorted(found, key=lambda finding: finding.severity.rank)),
    )


def _sort_by_place(found: tuple[LintFinding, ...]) -> list[LintFinding]:
    return sorted(found, key=lambda finding: (finding.file, finding.line or 0))
