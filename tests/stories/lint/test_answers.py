"""A reference is stated on its relevant days, and not before them."""

from pathlib import Path

import pytest

from tests.stories.lint.lint_story import found, question, write

FEE = question("What is the fee for a barge?", "£40.", 2)


def test_an_answer_its_day_does_not_state_is_an_error_with_its_line(tmp_path: Path) -> None:
    folder = write(tmp_path, {1: "The fee is £40.", 2: "Rain."}, [FEE])

    (finding,) = found(folder, "answer-unsupported")

    assert finding.severity == "error"
    assert finding.question == FEE["id"]
    assert finding.file == "lock/qa-20d/questions.yaml"
    assert finding.line == 2
    assert "£40" in finding.message
    assert "day 2" in finding.message


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("£40.", "A barge pays 40 pounds."),
        ("14 boats.", "Fourteen boats went through."),
        ("Hob Tarn.", "Hob took the rope."),
        ("By 18:30.", "Home by 6:30 PM."),
        ("On 4 March 2025.", "Rain."),
        ("On 7 March 2025.", "The diver comes on Friday."),
        ("On 5 March 2025.", "The diver comes tomorrow."),
        ("It was Sluice.", "Rain."),
        ("The wet one.", "Rain."),
    ],
)
def test_another_spelling_supports_it_too(tmp_path: Path, answer: str, text: str) -> None:
    folder = write(tmp_path, {1: "Sun.", 2: text}, [question("And?", answer, 2)])

    assert found(folder, "answer-unsupported") == ()


@pytest.mark.parametrize("category", ["synthesis", "temporal-reasoning", "cross-reference"])
def test_an_amount_that_may_be_worked_out_need_not_be_stated(tmp_path: Path, category: str) -> None:
    asked = question("How long?", "12 days.", 1, category=category)

    assert found(write(tmp_path, {1: "Rain."}, [asked]), "answer-unsupported") == ()


def test_half_an_answer_is_a_warning_of_its_own(tmp_path: Path) -> None:
    asked = question("What do they pay?", "£40, and £15 for punts.", 1)
    folder = write(tmp_path, {1: "A barge pays £40."}, [asked])

    (finding,) = found(folder, "answer-partly-unsupported")

    assert finding.severity == "warning"
    assert "£15" in finding.message
    assert found(folder, "answer-unsupported") == ()


def test_an_answer_stated_before_its_first_day_was_known_early(tmp_path: Path) -> None:
    days = {1: "The toll for a loaded barge is £40.", 5: "The toll for a loaded barge is £40."}
    asked = question("What toll does a loaded barge pay?", "£40.", 5)

    (finding,) = found(write(tmp_path, days, [asked]), "answer-known-early")

    assert "day 1" in finding.message


def test_so_it_was_where_the_half_of_the_day_is_left_out(tmp_path: Path) -> None:
    days = {1: "The upper gate opens at 6:30.", 5: "The upper gate opens at 6:30 AM."}
    asked = question("When does the upper gate open?", "At 6:30 AM.", 5)

    assert len(found(write(tmp_path, days, [asked]), "answer-known-early")) == 1


def test_what_is_not_on_record_has_no_day(tmp_path: Path) -> None:
    days = {1: "The toll for a barge is £40.", 5: "Nothing new."}
    asked = question("Who set the toll for a barge?", "Nobody but £40 is on record.", 5)

    folder = write(tmp_path, days, [{**asked, "evidence": [], "expects": "abstain"}])

    assert found(folder, "answer-known-early") == ()
    assert found(folder, "answer-unsupported") == ()


def test_the_same_value_on_another_matter_was_not(tmp_path: Path) -> None:
    days = {1: "Hob lost £40 at cards.", 5: "The toll for a loaded barge is £40."}
    asked = question("What toll does a loaded barge pay?", "£40.", 5)

    assert found(write(tmp_path, days, [asked]), "answer-known-early") == ()


def test_a_value_stated_on_many_other_days_is_noted(tmp_path: Path) -> None:
    days = dict.fromkeys(range(1, 8), "The toll for a loaded barge is £40.")
    asked = question("What toll does a loaded barge pay?", "£40.", 1)

    (finding,) = found(write(tmp_path, days, [asked]), "answer-elsewhere")

    assert "6 days" in finding.message


def test_four_other_days_are_too_few_to_note(tmp_path: Path) -> None:
    days = dict.fromkeys(range(1, 6), "The toll for a loaded barge is £40.")
    asked = question("What toll does a loaded barge pay?", "£40.", 1)

    assert found(write(tmp_path, days, [asked]), "answer-elsewhere") == ()


@pytest.mark.parametrize(
    ("text", "answer", "count"),
    [
        ("Who, if not the diver, is the diver?", "The diver.", 1),
        ("Did the diver come or go first?", "The diver did go.", 0),
        ("Did the diver come?", "No diver.", 0),
        ("Who came?", "The diver.", 0),
    ],
)
def test_a_question_does_not_hold_its_answer(
    tmp_path: Path, text: str, answer: str, count: int
) -> None:
    folder = write(tmp_path, {1: "The diver came."}, [question(text, answer, 1)])

    assert len(found(folder, "answer-in-question")) == count


def test_atoms_the_dataset_lists_are_taken_instead_of_guesses(tmp_path: Path) -> None:
    asked = question("What?", "£40, as the board of 12 trustees has it.", 1, atoms=["£40"])
    folder = write(tmp_path, {1: "It costs £40."}, [asked])

    assert found(folder, "answer-partly-unsupported") == ()
