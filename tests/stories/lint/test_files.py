"""What a run would refuse is an error, what it would warn of a warning; the rest is looked at."""

from pathlib import Path

from tests.stories.lint.lint_story import found, question, write

ASKED = question("What is the fee for a barge?", "£40.", 1)


def test_a_file_a_run_would_refuse_is_an_error_with_its_place(tmp_path: Path) -> None:
    broken = {**ASKED, "id": "lock-q9", "category": "factual"}

    folder = write(tmp_path, {1: "£40."}, [ASKED, broken])
    lines = (folder / "qa-20d" / "questions.yaml").read_text().splitlines()

    (finding,) = found(folder, "format-problem")

    assert finding.severity == "error"
    assert finding.file == "lock/qa-20d/questions.yaml"
    assert '"factual"' in lines[(finding.line or 0) - 1]
    assert finding.question == "lock-q9"


def test_the_sound_questions_beside_it_are_still_looked_at(tmp_path: Path) -> None:
    broken = {**ASKED, "id": "lock-q9", "category": "factual"}

    assert len(found(write(tmp_path, {1: "Rain."}, [ASKED, broken]), "answer-unsupported")) == 1


def test_what_is_missing_altogether_is_said(tmp_path: Path) -> None:
    folder = write(tmp_path, {1: "Rain."})
    (folder / "qa-20d" / "questions.yaml").unlink()

    (finding,) = found(folder, "format-problem")

    assert "questions.yaml" in finding.message


def test_a_file_that_is_not_yaml_stops_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path, {1: "Rain."})
    for name in ("persona.yaml", "arcs-20d.yaml", "qa-20d/questions.yaml"):
        (folder / name).write_text("[")

    assert len(found(folder, "format-problem")) == 3
    assert len(found(folder, "day-size")) == 1


def test_a_day_that_cannot_be_read_stops_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path, {1: "£40.", 2: "Sun."}, [ASKED])
    (folder / "memories-20d" / "day-0002.md").write_bytes(b"\xff")

    assert len(found(folder, "format-problem")) == 1
    assert len(found(folder, "day-size")) == 1


def test_what_a_run_would_warn_of_is_a_warning(tmp_path: Path) -> None:
    folder = write(tmp_path, {1: "£40."}, [ASKED])
    (folder / "memories-20d" / "notes.md").write_text("Aside.")

    findings = found(folder, "format-warning")

    assert "lock/memories-20d/notes.md" in {finding.file for finding in findings}
    assert {finding.severity for finding in findings} == {"warning"}
