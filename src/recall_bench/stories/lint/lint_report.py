"""All lints, the report of a story, its figures, and its text."""

import textwrap
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import groupby
from pathlib import Path
from statistics import median

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import Column, Table, find_nearest, format_quantity, render_text
from recall_bench.core.record import Record
from recall_bench.stories.lint import (
    answer_checks,
    boundary_checks,
    history_checks,
    question_checks,
)
from recall_bench.stories.lint.answer_checks import (
    count_constant_no,
    find_telling_days,
    is_whole_window,
)
from recall_bench.stories.lint.history_checks import count_new_sentences
from recall_bench.stories.lint.lint_corpus import (
    Lint,
    LintCorpus,
    LintFinding,
    Severity,
    read_corpus,
)

LINTS: tuple[Lint, ...] = (
    *history_checks.FILE_LINTS,
    *answer_checks.ANSWER_LINTS,
    *answer_checks.EVIDENCE_LINTS,
    *history_checks.CORRECTION_LINTS,
    *question_checks.WORDING_LINTS,
    *history_checks.DATE_LINTS,
    *question_checks.DUPLICATE_LINTS,
    *boundary_checks.BOUNDARY_LINTS,
    *answer_checks.NEGATIVE_LINTS,
    *history_checks.HISTORY_LINTS,
    *question_checks.BALANCE_LINTS,
)
"""All lints, in the order of the report."""


def choose_lints(only: Collection[str] = (), skip: Collection[str] = ()) -> tuple[Lint, ...]:
    """Return the lints of these codes, or all, without the skipped ones."""
    known = {lint.code for lint in LINTS}
    for flag, codes in (("--only", only), ("--skip", skip)):
        for code in codes:
            if code not in known:
                near = find_nearest(code, sorted(known))
                hint = f"did you mean {near}?" if near else f"there are {', '.join(sorted(known))}"
                raise UsageError(f"{flag}: there is no lint {code!r}; {hint}")
    return tuple(
        lint for lint in LINTS if (not only or lint.code in only) and lint.code not in skip
    )


class LintFigure(Record, frozen=True, kw_only=True):
    """One number about a dataset."""

    name: str
    value: float
    """A share from 0 to 1, or a count."""
    of: int
    """The number of sentences or questions it was computed from."""
    meaning: str
    is_share: bool = True


def compute_figures(corpus: LintCorpus) -> Iterator[LintFigure]:
    """Yield every figure that can be computed."""
    new, total = count_new_sentences(corpus)
    yield from _make_share("new-sentences", new, total, "sentences of six words or more are new")
    right, question = count_constant_no(corpus)
    yield from _make_share("constant-no", right, question, "negative-recall questions want a No")
    listing = sum(is_whole_window(question) for question in corpus.questions)
    yield from _make_share(
        "whole-window", listing, len(corpus.questions), "questions list a week of days or more"
    )
    exact = [question for question in corpus.questions if question.exact]
    telling = [(question, find_telling_days(corpus, question)) for question in exact]
    early = sum(any(day < question.days[0] for day in days) for question, days in telling)
    yield from _make_share(
        "known-early", early, len(exact), "answers with values are stated before their first day"
    )
    if telling:
        yield LintFigure(
            name="other-days",
            value=float(median(len(days.difference(question.days)) for question, days in telling)),
            of=len(telling),
            meaning="other days state the values of an answer, in the median",
            is_share=False,
        )


def _make_share(name: str, part: int, total: int, meaning: str) -> Iterator[LintFigure]:
    if total:
        yield LintFigure(name=name, value=part / total, of=total, meaning=meaning)


class LintReport(Record, frozen=True, kw_only=True):
    """The findings of the lints in one story."""

    persona: str
    arcs: str
    days: int
    questions: int
    figures: tuple[LintFigure, ...]
    findings: tuple[LintFinding, ...]
    """Most serious first, then in the order of the lints, then by place."""

    def count(self, severity: Severity) -> int:
        """Count the findings of this severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings by lint, in the order of `findings`."""
        return dict(Counter(finding.code for finding in self.findings))

    def filter_severity(self, severity: Severity) -> "LintReport":
        """Return the report without less serious findings."""
        findings = (f for f in self.findings if f.severity.rank <= severity.rank)
        return self.replace(findings=tuple(findings))


def lint_story(folder: Path, *, arcs: str, lints: Collection[Lint] = LINTS) -> LintReport:
    """Lint one story of the persona in this folder; its problems are findings, not errors."""
    corpus = read_corpus(folder, arcs)
    findings = [finding for lint in lints for finding in _sort_by_place(lint.run(corpus))]
    return LintReport(
        persona=corpus.layout.id,
        arcs=arcs,
        days=len(corpus.days),
        questions=len(corpus.questions),
        figures=tuple(compute_figures(corpus)),
        findings=tuple(sorted(findings, key=lambda finding: finding.severity.rank)),
    )


def _sort_by_place(found: tuple[LintFinding, ...]) -> list[LintFinding]:
    return sorted(found, key=lambda finding: (finding.file, finding.line or 0))


SHOWN = 5
"""Findings of one lint that are listed without --all."""

_WIDTH = 100


def render_lint_report(report: LintReport, *, everything: bool = False) -> str:
    """Render the counts of each lint, the figures, then the findings."""
    parts = [*_render_head(report), *_render_table(report)]
    if report.figures:
        parts += ["", *map(_render_figure, report.figures)]
    for code, group in groupby(report.findings, key=lambda finding: finding.code):
        parts += ["", *_render_findings(code, list(group), everything=everything)]
    return "\n".join(parts)


def _render_head(report: LintReport) -> Iterator[str]:
    size = f"{format_quantity(report.days, 'day')}, {format_quantity(report.questions, 'question')}"
    yield f"{report.persona}, {report.arcs}: {size}"
    counts = [format_quantity(report.count(severity), severity) for severity in Severity]
    yield ", ".join(counts) if report.findings else "nothing found"


def _render_table(report: LintReport) -> Iterator[str]:
    if not report.findings:
        return
    severities = {finding.code: finding.severity for finding in report.findings}
    rows = [(severities[code], code, f"{count:,}") for code, count in report.counts.items()]
    columns = [Column("", 8, is_text=True), Column("", is_text=True), Column("", 6)]
    _, *lines = render_text(Table(columns, rows, gap=" "))
    yield ""
    yield from (f"  {line}" for line in lines)


def _render_figure(figure: LintFigure) -> str:
    value = f"{figure.value:.0%}" if figure.is_share else f"{figure.value:g}"
    return (
        f"  {value:>5} of {figure.of:,} {figure.meaning}"
        if figure.is_share
        else (f"  {value:>5} {figure.meaning} (of {figure.of:,})")
    )


def _render_findings(code: str, found: list[LintFinding], *, everything: bool) -> Iterator[str]:
    summary = next(lint.summary for lint in LINTS if lint.code == code)
    yield from textwrap.wrap(
        f"{code} ({found[0].severity}): {summary}", _WIDTH, subsequent_indent="  "
    )
    shown = found if everything else found[:SHOWN]
    for finding in shown:
        yield f"  {finding.where}"
        yield from textwrap.wrap(
            finding.message, _WIDTH, initial_indent="    ", subsequent_indent="    "
        )
    if len(shown) < len(found):
        yield f"  and {len(found) - len(shown):,} more; --all lists them"
