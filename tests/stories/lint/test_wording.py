"""A question can be placed by somebody who has lived through the days and nothing else."""

from pathlib import Path

import pytest

from tests.stories.lint.lint_story import found, question, write


def count(tmp_path: Path, code: str, text: str, *, day: str = "Rain.", answer: str = "Hob.") -> int:
    return len(found(write(tmp_path, {1: day}, [question(text, answer, 1)]), code))


@pytest.mark.parametrize(
    "text",
    [
        "Who came during this window?",
        "Who came in the reporting period?",
        "Who came this week?",
        "Who has come recently?",
        "Who came across the week?",
    ],
)
def test_an_unnamed_period_is_found(tmp_path: Path, text: str) -> None:
    assert count(tmp_path, "unnamed-period", text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Who came in the week of 3 March 2025?",
        "Who came this week, from 2025-03-03 on?",
        "Who came in this period of March?",
    ],
)
def test_a_dated_one_is_fine(tmp_path: Path, text: str) -> None:
    assert count(tmp_path, "unnamed-period", text) == 0


def test_a_window_of_glass_is_no_period(tmp_path: Path) -> None:
    text = "Who cleaned the window?"

    assert count(tmp_path, "unnamed-period", text, day="Hob cleaned the window.") == 0


def test_day_numbers_are_not_for_questions(tmp_path: Path) -> None:
    assert count(tmp_path, "day-number", "Who came on days 8–14?") == 1


def test_nor_for_answers(tmp_path: Path) -> None:
    assert count(tmp_path, "day-number", "When did Hob come?", answer="On day 8.") == 1


def test_unless_the_log_numbers_its_days(tmp_path: Path) -> None:
    text = "Who came on day 8 of the stoppage?"

    assert count(tmp_path, "day-number", text, day="Day 8 of the stoppage.") == 0


def test_words_of_the_benchmark_are_not_for_questions(tmp_path: Path) -> None:
    assert count(tmp_path, "benchmark-words", "Who came, as of this checkpoint?") == 1


def test_unless_the_log_uses_them_too(tmp_path: Path) -> None:
    text = "Who waited at the checkpoint?"

    assert count(tmp_path, "benchmark-words", text, day="Hob at the checkpoint.") == 0


def test_a_session_heading_is_not_the_logs_own_word(tmp_path: Path) -> None:
    assert count(tmp_path, "benchmark-words", "Who spoke in that session?") == 1


def presents(tmp_path: Path, **more: object) -> int:
    questions = [
        question("What toll does a loaded barge pay now?", "£40.", 1, **more),
        question("What toll does a loaded barge pay since the spring?", "£45.", 9),
    ]
    days = {1: "The toll is £40.", 9: "The toll is £45."}
    return len(found(write(tmp_path, days, questions), "undated-present"))


def test_what_holds_now_is_retired_when_another_answer_comes(tmp_path: Path) -> None:
    assert presents(tmp_path) == 1


def test_one_that_is_retired_is_fine(tmp_path: Path) -> None:
    assert presents(tmp_path, irrelevant_after=8) == 0


@pytest.mark.parametrize(("fact", "findings"), [("toll-lock-gate", 0), ("toll", 1)])
def test_an_answer_from_another_fact_is_not_a_change(
    tmp_path: Path, fact: str, findings: int
) -> None:
    questions = [
        question(
            "What toll is paid at the lock now?",
            "£40.",
            1,
            derive={"form": "latest", "states": ["toll.1"]},
        ),
        question(
            "What toll is paid at the gate now?",
            "£45.",
            9,
            derive={"form": "latest", "states": [f"{fact}.2"]},
        ),
    ]
    days = {1: "The toll is £40.", 9: "The toll is £45."}

    assert len(found(write(tmp_path, days, questions), "undated-present")) == findings


def test_an_answer_that_was_another_before_is_fine(tmp_path: Path) -> None:
    questions = [
        question("What toll did a loaded barge pay in the winter?", "£40.", 1),
        question("What toll does a loaded barge pay now?", "£45.", 9),
    ]
    days = {1: "The toll is £40.", 9: "The toll is £45."}

    assert found(write(tmp_path, days, questions), "undated-present") == ()


def test_one_whose_own_change_is_known_is_found_too(tmp_path: Path) -> None:
    asked = question("Who has the key now?", "Hob.", 1, changes_on=5)

    assert len(found(write(tmp_path, {1: "Hob has it."}, [asked]), "undated-present")) == 1
