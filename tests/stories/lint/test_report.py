"""A report counts what was found, gravest first, and shows a few of each."""

from pathlib import Path

import msgspec
import pytest

from recall_bench.stories.lint.lint_corpus import Severity
from recall_bench.stories.lint.lint_report import SHOWN, LintReport, lint_story, render_lint_report
from recall_bench.stories.shipped import unpack_story
from tests.stories.lint.lint_story import ARCS, question, write


@pytest.fixture
def report(tmp_path: Path) -> LintReport:
    """Eight answers that no day states, and a period nobody named."""
    asked = [question(f"What did barge {n} pay?", f"£{n}1.", 1) for n in range(2, 10)]
    asked.append(question("Who came during this window?", "Hob.", 1))
    return lint_story(
        write(tmp_path, {1: "Hob came down with an empty barge at noon."}, asked), arcs=ARCS
    )


def test_the_gravest_come_first_and_then_by_place(report: LintReport) -> None:
    ranks = [finding.severity.rank for finding in report.findings]
    lines = [f.line or 0 for f in report.findings if f.code == "answer-unsupported"]

    assert ranks == sorted(ranks)
    assert lines == sorted(lines)


def test_findings_are_counted_by_lint_and_by_severity(report: LintReport) -> None:
    assert report.counts["answer-unsupported"] == 8
    assert report.counts["unnamed-period"] == 1
    assert report.count(Severity.ERROR) == 8
    assert report.days == 1
    assert report.questions == 9


def test_what_matters_less_can_be_left_out(report: LintReport) -> None:
    assert {f.severity for f in report.filter_severity(Severity.ERROR).findings} == {Severity.ERROR}
    assert "unnamed-period" in report.filter_severity(Severity.WARNING).counts
    assert report.filter_severity(Severity.NOTE) == report


def test_the_text_shows_a_few_of_each_and_says_how_many_more(report: LintReport) -> None:
    text = render_lint_report(report)

    assert text.count("which is the answer") == SHOWN
    assert f"and {8 - SHOWN} more; --all lists them" in text


def test_the_text_shows_all_if_asked(report: LintReport) -> None:
    text = render_lint_report(report, everything=True)

    assert text.count("which is the answer") == 8
    assert "--all" not in text


def test_every_finding_names_its_place(report: LintReport) -> None:
    finding = report.findings[0]

    assert f"lock/qa-20d/questions.yaml:{finding.line} {finding.question}" in render_lint_report(
        report
    )


def test_figures_are_taken_over_something(report: LintReport) -> None:
    figures = {figure.name: figure for figure in report.figures}

    assert figures["new-sentences"].value == 1
    assert figures["known-early"].of == 8
    assert "constant-no" not in figures


def test_a_report_survives_json(report: LintReport) -> None:
    assert msgspec.json.decode(msgspec.json.encode(report), type=LintReport) == report


def test_an_empty_story_has_no_figures_and_raises_nothing(tmp_path: Path) -> None:
    report = lint_story(tmp_path / "nobody", arcs=ARCS)

    assert report.figures == ()
    assert list(report.counts) == ["format-problem"]
    assert "nobody" in render_lint_report(report)


def test_a_persona_written_with_care_has_neither_errors_nor_warnings() -> None:
    report = lint_story(unpack_story("harbour-office"), arcs="arcs-30d.yaml")

    assert report.questions == 91
    assert report.filter_severity(Severity.WARNING).findings == ()
