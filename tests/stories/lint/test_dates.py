"""Days, questions and answers live by one calendar: that of the text."""

from pathlib import Path

import pytest

from tests.stories.lint.lint_story import found, question, write

SHIFTED = {
    day: f"### 2025-03-{day + 1:02} — log\nThe gates were quiet, run {day}." for day in range(1, 9)
}
"""Every day is one behind the epoch: day 1 should be 3 March."""
RIGHT = {
    day: f"### 2025-03-{day + 2:02} — log\nThe gates were quiet, run {day}." for day in range(1, 9)
}


def dated(days: dict[int, str]) -> dict[int, str]:
    return {day: f"# session: principal\n\n{text}" for day, text in days.items()}


def test_a_text_behind_the_epoch_is_found(tmp_path: Path) -> None:
    (finding,) = found(write(tmp_path, dated(SHIFTED)), "calendar-shift")

    assert "days 1–8" in finding.message
    assert "one day behind" in finding.message


def test_it_is_not_said_twice(tmp_path: Path) -> None:
    folder = write(tmp_path, dated(SHIFTED), [question("How were the gates?", "Quiet.", 8)])

    assert len(found(folder, "calendar-shift")) == 1
    assert not any("behind" in finding.message for finding in found(folder, "format-warning"))


def test_a_text_in_step_is_fine(tmp_path: Path) -> None:
    assert found(write(tmp_path, dated(RIGHT)), "calendar-shift") == ()


def test_a_question_dated_by_the_epoch_misses_the_day_it_means(tmp_path: Path) -> None:
    asked = question("How were the gates on 2025-03-10?", "Quiet.", 8)

    (finding,) = found(write(tmp_path, dated(SHIFTED), [asked]), "misdated")

    assert "2025-03-10" in finding.message
    assert "2025-03-09" in finding.message


def test_a_question_dated_by_the_text_is_fine(tmp_path: Path) -> None:
    asked = question("How were the gates on 9 March 2025?", "Quiet.", 8)

    assert found(write(tmp_path, dated(SHIFTED), [asked]), "misdated") == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Who came on Monday, 3 March 2025?", 0),
        ("Who came on Tuesday, 3 March 2025?", 1),
        ("Who came on Tuesday 3 March?", 1),
        ("Who came on 2025-03-03 (Monday)?", 0),
        ("Who came on 2025-03-03 (Tuesday)?", 1),
        ("Who came on 31 February 2025?", 0),
    ],
)
def test_a_weekday_fits_its_date(tmp_path: Path, text: str, count: int) -> None:
    folder = write(tmp_path, {1: "Hob came."}, [question(text, "Hob.", 1)])

    assert len(found(folder, "wrong-weekday")) == count
