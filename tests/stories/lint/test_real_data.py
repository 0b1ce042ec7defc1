"""The lints find again what reviewers found by hand in published data."""

import pytest

from recall_bench.stories.lint.lint_report import LintReport, lint_story
from tests.conftest import shared_data

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published() -> LintReport:
    """The executive assistant's 180 days and 316 questions."""
    return lint_story(shared_data("recall-ea") / "executive-assistant", arcs="arcs-180d.yaml")


def figure(report: LintReport, name: str) -> float:
    return next(figure.value for figure in report.figures if figure.name == name)


def named(report: LintReport, code: str) -> set[str]:
    return {(finding.question or "")[-4:] for finding in report.findings if finding.code == code}


def test_four_fifths_of_its_sentences_are_old(published: LintReport) -> None:
    assert figure(published, "new-sentences") == pytest.approx(0.204, abs=0.015)
    assert published.counts["copied-day"] > 50


def test_a_constant_no_wins_its_negative_questions(published: LintReport) -> None:
    assert figure(published, "constant-no") == pytest.approx(50 / 52)
    assert published.counts["constant-answer"] == 1


def test_half_its_questions_list_the_window_they_came_from(published: LintReport) -> None:
    assert figure(published, "whole-window") == pytest.approx(159 / 316, abs=0.02)


def test_its_values_are_known_early_and_everywhere(published: LintReport) -> None:
    assert 0.7 < figure(published, "known-early") < 0.95
    assert 50 < figure(published, "other-days") < 120


def test_three_of_four_boundary_references_disclose(published: LintReport) -> None:
    assert named(published, "boundary-discloses") == {"q313", "q314", "q316"}
    assert published.counts["boundary-insider"] == 4
    assert published.counts["boundary-one-sided"] == 1


def test_its_calendar_is_a_day_early_from_day_68_on(published: LintReport) -> None:
    (shift,) = (f.message for f in published.findings if f.code == "calendar-shift")

    assert shift.startswith("days 68–180: the text is one day behind")
    assert "q205" in named(published, "misdated")


def test_its_corrections_are_known_before_they_are_made(published: LintReport) -> None:
    messages = [f.message for f in published.findings if f.code == "correction-early"]

    assert any(m.startswith("6:30 AM is stated on 18 days from day 1 on") for m in messages)
    assert any(m.startswith("$465M is stated on 45 days from day 55 on") for m in messages)


def test_its_questions_name_windows_and_day_numbers(published: LintReport) -> None:
    assert 84 <= published.counts["unnamed-period"] <= 95
    assert published.counts["day-number"] == 21
    assert len(named(published, "repeated-question")) == 3
