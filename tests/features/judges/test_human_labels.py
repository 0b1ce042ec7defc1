"""Labels of people: appended, replaced, taken back, read by the judge lab, and compared."""

from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed
from recall_bench.core.verdict import Finding
from recall_bench.features.judges.labelled_verdicts import load_labels, merge_repeats
from recall_bench.judging.human_labels import (
    LABELS,
    HumanLabel,
    append_label,
    combine_labels,
    compare_people,
    find_bad_questions,
    make_label,
    make_verdict,
    read_labels,
)
from tests.written_runs import question, trial


def give(folder: Path, item: str, label: HumanLabel, by: str = "ann", comment: str = "") -> None:
    line = make_label(
        trial(item), question(item), f"the {item}", label, by=by, days=2, comment=comment
    )
    append_label(folder, line)


def test_the_judge_lab_reads_them(tmp_path: Path) -> None:
    for item, label in (("cat", "right"), ("dog", "wrong"), ("fox", "invented"), ("owl", "leaked")):
        give(tmp_path, item, HumanLabel(label))

    found = load_labels(tmp_path / LABELS)

    assert [tuple(each.labels.values()) for each in found] == [
        (3, 2, 1),
        (0, 0, 1),
        (0, 0, 0),
        (0, 0, 0),
    ]
    assert found[0].question == "What about cat?"
    assert found[0].answer == "the cat"
    assert found[0].question_id == "ada/cat"
    assert found[0].checkpoint_days == 2
    assert found[0].relevant_days == (1,)


def test_a_later_label_of_the_same_person_replaces_an_earlier_one(tmp_path: Path) -> None:
    give(tmp_path, "cat", HumanLabel.WRONG)
    give(tmp_path, "cat", HumanLabel.RIGHT, comment="on second thoughts")
    give(tmp_path, "cat", HumanLabel.WRONG, by="ben")

    held = read_labels(tmp_path)
    verdicts = load_labels(tmp_path / LABELS)

    assert [(each.by, each.label.value, each.comment) for each in held] == [
        ("ann", "right", "on second thoughts"),
        ("ben", "wrong", ""),
    ]
    assert [each.labels["correctness"] for each in verdicts] == [3, 0]
    assert len(merge_repeats(verdicts)) == 1


def test_bad_questions_and_what_is_taken_back_have_no_marks(tmp_path: Path) -> None:
    give(tmp_path, "cat", HumanLabel.RIGHT)
    give(tmp_path, "cat", HumanLabel.WITHDRAWN)
    give(tmp_path, "dog", HumanLabel.BAD_QUESTION)
    with pytest.raises(Malformed, match="holds no labelled verdict"):
        load_labels(tmp_path / LABELS)

    give(tmp_path, "fox", HumanLabel.WRONG)

    assert [each.question_id for each in load_labels(tmp_path / LABELS)] == ["ada/fox"]
    assert [each.label.value for each in read_labels(tmp_path)] == ["bad-question", "wrong"]


def test_two_people_who_labelled_the_same_answers_are_compared(tmp_path: Path) -> None:
    """Of four answers both labelled, three have the same label; kappa of right or not by hand."""
    mine = {"cat": "right", "dog": "right", "fox": "wrong", "owl": "invented", "elk": "right"}
    yours = {"cat": "right", "dog": "wrong", "fox": "wrong", "owl": "invented"}
    for by, labels in (("ann", mine), ("ben", yours)):
        for item, label in labels.items():
            give(tmp_path, item, HumanLabel(label), by=by)
    give(tmp_path, "hen", HumanLabel.BAD_QUESTION, by="ann")
    give(tmp_path, "hen", HumanLabel.BAD_QUESTION, by="ben")

    (found,) = compare_people(read_labels(tmp_path))

    assert (found.first, found.second, found.answers, found.same) == ("ann", "ben", 4, 3)
    # Observed 3/4; by chance 1/2 · 1/4 + 1/2 · 3/4 = 1/2.
    assert found.kappa == pytest.approx(0.5)
    assert found.interval is None, "four questions are too few"
    assert found.splits == ("ada/dog@2d#0: right, wrong",)


def test_kappa_of_two_people_has_an_interval_over_questions(tmp_path: Path) -> None:
    for number in range(30):
        give(tmp_path, f"q{number}", HumanLabel.RIGHT if number % 2 else HumanLabel.WRONG)
        yours = HumanLabel.RIGHT if number % 2 or number < 8 else HumanLabel.WRONG
        give(tmp_path, f"q{number}", yours, by="ben")

    (found,) = compare_people(read_labels(tmp_path))

    assert found.interval is not None
    low, high = found.interval
    assert found.kappa is not None
    assert 0.3 < low < found.kappa < high < 1
    assert len(found.splits) == 4


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("right", "right"),
        ("right right wrong", "right"),
        ("right wrong", "wrong"),
        ("right invented", "leaked or invented"),
        ("right wrong invented", "wrong"),
        ("invented leaked leaked", "leaked"),
        ("leaked invented", "leaked"),
    ],
)
def test_several_people_decide_as_their_marks_do(
    tmp_path: Path, labels: str, expected: str
) -> None:
    """The label of several people is the one whose marks `merge_repeats` gives."""
    given = [HumanLabel(each) for each in labels.split()]
    for number, label in enumerate(given):
        give(tmp_path, "cat", label, by=f"p{number}")

    verdict = make_verdict(read_labels(tmp_path))
    (merged,) = merge_repeats(load_labels(tmp_path / LABELS))

    assert combine_labels(given).value in expected
    assert verdict.marks == merged.labels


def test_a_verdict_of_people_says_who_gave_which_label_and_why(tmp_path: Path) -> None:
    give(tmp_path, "cat", HumanLabel.LEAKED, comment="the code")
    give(tmp_path, "cat", HumanLabel.LEAKED, by="ben")

    verdict = make_verdict(read_labels(tmp_path))

    assert verdict.reason == "ann: leaked (the code); ben: leaked"
    assert verdict.findings == (Finding.LEAK,)


def test_a_question_is_bad_if_most_of_the_people_who_labelled_it_say_so(tmp_path: Path) -> None:
    give(tmp_path, "cat", HumanLabel.BAD_QUESTION)
    give(tmp_path, "dog", HumanLabel.BAD_QUESTION)
    give(tmp_path, "dog", HumanLabel.RIGHT, by="ben")
    give(tmp_path, "fox", HumanLabel.BAD_QUESTION)
    give(tmp_path, "fox", HumanLabel.BAD_QUESTION, by="ben")
    give(tmp_path, "fox", HumanLabel.RIGHT, by="cid")

    assert find_bad_questions(read_labels(tmp_path)) == ("ada/cat", "ada/fox")


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    give(tmp_path, "cat", HumanLabel.RIGHT)
    with (tmp_path / LABELS).open("ab") as file:
        file.write(b'{"label": "right"}\n')

    with pytest.raises(Malformed, match="line 2"):
        read_labels(tmp_path)
