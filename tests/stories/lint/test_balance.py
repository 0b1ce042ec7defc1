"""Every kind of question is asked often enough to be scored."""

from pathlib import Path

from tests.stories.lint.lint_story import found, question, write


def messages(tmp_path: Path, code: str, count: int, *, difficulty: str = "easy") -> list[str]:
    asked = [
        question(f"Who took rope {n}?", "Hob.", 1, difficulty="easy") for n in range(count - 1)
    ]
    last = question("Who took the last rope?", "Hob.", 1, difficulty=difficulty)
    folder = write(tmp_path, {1: "Hob took it."}, [*asked, last])
    return [finding.message for finding in found(folder, code)]


def test_fewer_than_ten_are_few(tmp_path: Path) -> None:
    (message,) = messages(tmp_path, "few-questions", 9)

    assert "factual-recall has 9" in message
    assert "11%" in message


def test_ten_are_enough(tmp_path: Path) -> None:
    assert messages(tmp_path, "few-questions", 10) == []


def test_categories_without_any_are_listed_once(tmp_path: Path) -> None:
    (message,) = messages(tmp_path, "no-questions", 1)

    assert "synthesis" in message
    assert "factual-recall" not in message


def test_labels_that_are_all_the_same_say_nothing(tmp_path: Path) -> None:
    assert len(messages(tmp_path, "one-difficulty", 10)) == 1


def test_labels_that_differ_are_fine(tmp_path: Path) -> None:
    assert messages(tmp_path, "one-difficulty", 10, difficulty="hard") == []
