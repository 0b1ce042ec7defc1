"""What never happened is asked for as often as what did."""

from pathlib import Path

import pytest

from tests.stories.lint.lint_story import found, question, write


def balance(tmp_path: Path, noes: int, yeses: int) -> list[str]:
    answers = ["No."] * noes + ["Yes, Hob did."] * yeses
    asked = [
        question(f"Did Hob lose rope number {n}?", answer, 1, category="negative-recall")
        for n, answer in enumerate(answers)
    ]
    folder = write(tmp_path, {1: "Hob lost a rope."}, asked)
    return [finding.message for finding in found(folder, "constant-answer")]


@pytest.mark.parametrize(("noes", "yeses"), [(5, 5), (6, 4), (4, 6), (3, 0)])
def test_near_half_or_too_few_to_tell_is_fine(tmp_path: Path, noes: int, yeses: int) -> None:
    assert balance(tmp_path, noes, yeses) == []


def test_a_constant_no_that_wins_is_found(tmp_path: Path) -> None:
    (message,) = balance(tmp_path, 9, 1)

    assert "No" in message
    assert "9 times out of 10 (90%)" in message


def test_so_is_a_constant_yes(tmp_path: Path) -> None:
    (message,) = balance(tmp_path, 1, 9)

    assert "Yes" in message
    assert "9 times out of 10 (90%)" in message


def stated(tmp_path: Path, text: str) -> int:
    asked = question("Did Hob Tarn repair the lower gate?", "No.", 1, category="negative-recall")
    return len(found(write(tmp_path, {1: text}, [asked]), "no-but-stated"))


def test_a_no_that_the_day_contradicts_is_found(tmp_path: Path) -> None:
    assert stated(tmp_path, "Rain. Hob Tarn repaired the lower gate after lunch.") == 1


@pytest.mark.parametrize(
    "text",
    [
        "Hob Tarn did not repair the lower gate.",
        "Hob Tarn would repair the lower gate if asked.",
        "Hob Tarn looked at the lower gate.",
    ],
)
def test_a_no_that_the_day_bears_out_is_fine(tmp_path: Path, text: str) -> None:
    assert stated(tmp_path, text) == 0
