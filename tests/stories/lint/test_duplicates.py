"""A question is asked once, and has one answer at a time."""

from pathlib import Path

from tests.stories.lint.lint_story import Question, found, question, write

TOLL = "What toll does a loaded barge pay?"
DAYS = {1: "£40.", 9: "£45."}


def counts(tmp_path: Path, *questions: Question) -> list[int]:
    folder = write(tmp_path, DAYS, questions)
    return [
        len(found(folder, code)) for code in ("two-answers", "repeated-question", "near-repeat")
    ]


def test_two_answers_at_once_are_an_error(tmp_path: Path) -> None:
    assert counts(tmp_path, question(TOLL, "£40.", 1), question(TOLL, "£45.", 9)) == [1, 0, 0]


def test_one_after_the_other_is_fine(tmp_path: Path) -> None:
    first = question(TOLL, "£40.", 1, irrelevant_after=8)

    assert counts(tmp_path, first, question(TOLL, "£45.", 9)) == [0, 0, 0]


def test_a_yes_and_a_no_are_two_answers(tmp_path: Path) -> None:
    asked = ("Did Hob pay?", "Yes, in coin.", 1), ("Did Hob pay?", "No.", 9)

    assert counts(tmp_path, *(question(*each) for each in asked)) == [1, 0, 0]


def test_the_same_question_twice_is_a_warning(tmp_path: Path) -> None:
    again = question("What toll does a loaded barge pay", "It is £40.", 9)

    assert counts(tmp_path, question(TOLL, "£40.", 1), again) == [0, 1, 0]


def test_another_asker_makes_another_question(tmp_path: Path) -> None:
    again = question(TOLL, "I cannot say.", 9, query_session="boats")

    assert counts(tmp_path, question(TOLL, "£40.", 1), again) == [0, 0, 0]


def test_a_question_in_nearly_the_same_words_is_noted(tmp_path: Path) -> None:
    again = question("What toll would a loaded barge be paying?", "£40.", 9)

    assert counts(tmp_path, question(TOLL, "£40.", 1), again) == [0, 0, 1]


def test_other_names_and_numbers_make_other_questions(tmp_path: Path) -> None:
    asked = [
        question(
            f"What evening toll does the heavily loaded coal barge {name} pay at the upper gate?",
            "£40.",
            1,
        )
        for name in ("Heron", "Coot", "B-17", "B-18")
    ]

    assert counts(tmp_path, *asked) == [0, 0, 0]
