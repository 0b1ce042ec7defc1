"""Faults the original harness lets pass, or meets with a stack trace, are said before a run.

One test for each row of the table that was measured on it. A fault is said when `inspect`
returns a problem, and a problem names the file and what to do.
"""

import shutil
from pathlib import Path

import pytest

from recall_bench.core.errors import DataError, UsageError
from recall_bench.stories.persona import Inspection, inspect_persona
from recall_bench.stories.persona_files import list_persona_ids
from tests.conftest import shared_data
from tests.stories.persona_folder import edit, plant, write_day

STORY = "arcs-6d.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plant(tmp_path)


@pytest.fixture
def questions(folder: Path) -> Path:
    return folder / "qa-6d" / "questions.yaml"


@pytest.fixture(scope="module")
def long_story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred and eighty days of which every one is busy, and a question on each tenth."""
    folder = plant(tmp_path_factory.mktemp("long"))
    edit(folder / STORY, "endDay: 3", "endDay: 180")
    for day in range(1, 181):
        write_day(folder, day, f"The log of day {day}.\n")
    asked = (
        f"- {{id: q{day}, question: What?, answer: That., category: factual-recall, "
        f"difficulty: easy, relevant_days: [{day}]}}\n"
        for day in range(10, 181, 10)
    )
    (folder / "qa-6d" / "questions.yaml").write_text("".join(asked), encoding="utf-8")
    return folder


def told(folder: Path) -> list[str]:
    """Every problem as people read it, each with its kind checked."""
    found: Inspection = inspect_persona(folder, arcs=STORY)
    assert found.card is None
    assert all(isinstance(problem, DataError) for problem in found.problems)
    return [str(problem) for problem in found.problems]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("- id: a\n  question: [\n", "line 2: is not YAML", id="syntax error"),
        pytest.param("", "holds empty; write a list", id="empty"),
        pytest.param("questions: 1\n", "holds a mapping; write a list", id="mapping"),
    ],
)
def test_questions_that_are_no_list(
    folder: Path, questions: Path, content: str, words: str
) -> None:
    questions.write_text(content, encoding="utf-8")

    (problem,) = told(folder)

    assert problem.startswith("nursery/qa-6d/questions.yaml")
    assert words in problem


@pytest.mark.parametrize("value", ["", "  relevant_days: 2\n", "  relevant_days: two\n"])
def test_an_item_without_a_list_of_relevant_days(folder: Path, questions: Path, value: str) -> None:
    edit(questions, "  relevant_days: [2]\n", value)

    (problem,) = told(folder)

    assert "question nursery-q1" in problem
    assert "relevant_days" in problem


@pytest.mark.parametrize("item", ["- just a sentence\n", "- null\n", "-\n"])
def test_an_item_that_is_a_bare_string_or_null(folder: Path, questions: Path, item: str) -> None:
    edit(questions, "- id: nursery-q1", f"{item}- id: nursery-q1")

    (problem,) = told(folder)

    assert "line 1: question number 1 is" in problem


@pytest.mark.parametrize(
    ("days", "words"),
    [
        ("[]", "is an empty list"),
        ("[five]", "holds the text 'five'"),
        ("[9999]", "needs day 9999"),
    ],
)
def test_relevant_days_that_do_not_exist(
    folder: Path, questions: Path, days: str, words: str
) -> None:
    edit(questions, "relevant_days: [5]", f"relevant_days: {days}")

    (problem,) = told(folder)

    assert "question nursery-q3" in problem or "of question nursery-q3" in problem
    assert words in problem


def test_an_unknown_category_and_an_unknown_difficulty(folder: Path, questions: Path) -> None:
    edit(questions, "category: decision-tracking", "category: decisions-tracking")
    edit(questions, "difficulty: easy", "difficulty: trivial")

    category, difficulty = told(folder)

    assert "did you mean decision-tracking?" in category
    assert "use one of easy, medium, hard" in difficulty


def test_ids_given_three_times(folder: Path, questions: Path) -> None:
    edit(questions, "nursery-q2", "nursery-q1")
    edit(questions, "nursery-q3", "nursery-q1")

    assert len([problem for problem in told(folder) if "two questions have the id" in problem]) == 2


@pytest.mark.parametrize("key", ["question", "answer"])
def test_a_question_or_an_answer_missing(folder: Path, questions: Path, key: str) -> None:
    edit(questions, f"  {key}: ", "  temporal_scope: ")

    (problem,) = told(folder)

    assert f"question nursery-q1 has no {key}" in problem


def test_ten_days_missing_in_the_middle(long_story: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(long_story, tmp_path / "nursery")
    for day in range(61, 71):
        (folder / "memories-6d" / f"day-{day:04}.md").unlink()

    gap, question = told(folder)

    assert "the files of days 61–70 are missing" in gap
    assert "question q70 needs day 70" in question


def test_the_end_of_the_story_missing(long_story: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(long_story, tmp_path / "nursery")
    for day in range(60, 181):
        (folder / "memories-6d" / f"day-{day:04}.md").unlink()

    problems = told(folder)

    assert len(problems) == 13
    assert all("which the history does not have" in problem for problem in problems)
    assert any(
        "goes on to day 180" in text for text in inspect_persona(folder, arcs=STORY).warnings
    )


def test_no_day_file_at_all(folder: Path) -> None:
    for path in (folder / "memories-6d").iterdir():
        path.unlink()

    assert told(folder) == ["nursery/memories-6d: holds no day file; add day-0001.md and so on"]


def test_a_day_file_with_too_few_digits(folder: Path) -> None:
    (folder / "memories-6d" / "day-10.md").write_text("Ten.", encoding="utf-8")

    (problem,) = told(folder)

    assert "rename it to day-0010.md" in problem


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n\0", b"\xff\xd8\xff\xe0"])
def test_an_empty_or_binary_day_file(folder: Path, content: bytes) -> None:
    (folder / "memories-6d" / "day-0002.md").write_bytes(content)

    (problem,) = told(folder)

    assert problem.startswith("nursery/memories-6d/day-0002.md")


def test_no_folder_of_days(folder: Path) -> None:
    shutil.rmtree(folder / "memories-6d")

    (problem,) = inspect_persona(folder, arcs=STORY).problems

    assert isinstance(problem, UsageError)
    assert "nursery/memories-6d" in str(problem)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param("arcs:\n", "arcs: [\n", "is not YAML", id="broken"),
        pytest.param("arcs:\n", "arc:\n", "has no list named arcs", id="without arcs"),
        pytest.param("maxConcurrent: 4", "epoch: 01/02/2026", "not a date", id="bad epoch"),
    ],
)
def test_arcs_that_cannot_be_used(folder: Path, old: str, new: str, words: str) -> None:
    edit(folder / STORY, old, new)

    (problem,) = told(folder)

    assert problem.startswith(f"nursery/{STORY}")
    assert words in problem


@pytest.mark.parametrize("name", ["orchard", "nursery/memories-6d/day-0001.md"])
def test_an_unknown_persona_first_or_second(folder: Path, name: str) -> None:
    """Each persona is inspected by itself, so the second is met before the first is run."""
    (problem,) = inspect_persona(folder.parent / name, arcs=STORY).problems

    assert isinstance(problem, UsageError)
    assert problem.exit_code == 2


def test_no_persona_named_means_those_there_are(folder: Path) -> None:
    (folder.parent / "results").mkdir()

    assert list_persona_ids(folder.parent) == ("nursery",)
    assert list_persona_ids(shared_data("recall-ea")) == ("executive-assistant",)
