"""Relevant days are those that state the answer, not the window it was taken from."""

from pathlib import Path

import pytest

from tests.stories.lint.lint_story import found, question, write

DAYS = {day: f"The barge had to pay £{day}00 toll." for day in range(1, 13)}


def count(tmp_path: Path, code: str, *days: int, **more: object) -> int:
    asked = question("What toll did the barge pay?", "£100.", *days, **more)
    return len(found(write(tmp_path, DAYS, [asked]), code))


def test_a_week_of_days_for_one_fact_is_a_window(tmp_path: Path) -> None:
    assert count(tmp_path, "whole-window", *range(1, 8)) == 1


@pytest.mark.parametrize("days", [(1, 2, 3, 4, 5, 6), (1, 3, 5, 7, 9, 11, 12)])
def test_six_days_or_days_apart_are_not(tmp_path: Path, days: tuple[int, ...]) -> None:
    assert count(tmp_path, "whole-window", *days) == 0


@pytest.mark.parametrize("category", ["synthesis", "negative-recall"])
def test_a_synthesis_and_a_denial_may_rest_on_a_week(tmp_path: Path, category: str) -> None:
    assert count(tmp_path, "whole-window", *range(1, 8), category=category) == 0


@pytest.mark.parametrize("more", [{"category": "synthesis"}, {"requires_synthesis": True}])
def test_a_synthesis_of_one_day_is_none(tmp_path: Path, more: dict[str, object]) -> None:
    assert count(tmp_path, "synthesis-one-day", 3, **more) == 1


def test_a_synthesis_one_day_tells_whole_is_found(tmp_path: Path) -> None:
    days = {**DAYS, 3: "The barge had to pay £100 toll and then £200."}
    asked = question(
        "What toll did the barge pay, twice?", "£100, then £200.", 1, 3, category="synthesis"
    )

    (finding,) = found(write(tmp_path, days, [asked]), "synthesis-told-whole")

    assert "day 3" in finding.message


def test_one_that_needs_both_days_is_fine(tmp_path: Path) -> None:
    asked = question(
        "What toll did the barge pay, twice?", "£100, then £200.", 1, 2, category="synthesis"
    )

    assert found(write(tmp_path, DAYS, [asked]), "synthesis-told-whole") == ()


def test_a_day_that_is_not_relevant_tells_nothing_whole(tmp_path: Path) -> None:
    days = {**DAYS, 9: "The barge had to pay £100 toll and then £200."}
    asked = question(
        "What toll did the barge pay, twice?", "£100, then £200.", 1, 2, category="synthesis"
    )

    assert found(write(tmp_path, days, [asked]), "synthesis-told-whole") == ()
