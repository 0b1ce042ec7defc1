"""Any question file can be verified; repairs are a new version, and the file stays as it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.personas.checks.check_result import QuestionVerdict, VerifyResult
from recall_bench.features.personas.checks.verify_pass import verify_questions
from recall_bench.features.personas.pass_request import VerifyRequest
from tests.commands import Invoke
from tests.stories.lint.lint_story import Question, question, secret, write

WEEK = {day: f"Fog on the cut. Tally of day: {day + 20} boats passed the gate." for day in (2, 3)}
DAYS = {
    1: "Lock rules: the toll for barges is £40, paid to Hob Tarn at the upper gate.",
    **WEEK,
    4: "Hob Tarn bought the pump *Heron* at auction for £615 in the evening.",
    **{day: f"Quiet water, {day} herons on the weir." for day in (5, 7, 8, 10)},
    6: "Lock rules: the toll for barges is £45, paid to Hob Tarn at the upper gate.",
    9: "# session: boats\n\n### Moorings\nThree boats lay at the quay.\n\n"
    "# session: audit\n\n### Shortfall\nVera Sand put the shortfall at £9,300.",
}
SOUND = question("Which pump did Hob Tarn buy in March 2025?", "The Heron, for £615.", 4, mood="x")
STALE = question("What is the toll for barges at the upper gate?", "£40.", 1)
NUMBERED = question("How many boats passed the gate on day 2?", "22 boats.", 2)
TWIN = {**SOUND, "id": "lock-twin", "question": "Which pump did Hob Tarn buy in March, 2025?"}
WINDOW = question("What did Hob Tarn pay for the pump *Heron* at auction?", "£615.", *range(2, 11))
INSIDE = secret("How large was the shortfall?", "£9,300.", 9, query_session="principal")
VAGUE = question("How many herons sat on the weir in this window?", "8 herons.", 8)
ALL = (SOUND, STALE, NUMBERED, TWIN, WINDOW, INSIDE, VAGUE)


def verified(folder: Path, **fields: Any) -> VerifyResult:
    return verify_questions(VerifyRequest(persona=folder, **fields))


def lines(folder: Path, name: str = "verification.jsonl") -> list[dict[str, Any]]:
    text = (folder / "qa-20d" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def proposed(folder: Path, number: int = 1) -> Path:
    return folder / "qa-20d" / f"questions.proposed-{number}.yaml"


def entries(path: Path) -> dict[str, Question]:
    rows = load_yaml(path)
    assert isinstance(rows, list)
    return {row["id"]: row for row in rows}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, DAYS, ALL)


def test_every_question_has_a_line_in_file_order(folder: Path) -> None:
    found = verified(folder)

    assert [line["id"] for line in lines(folder)] == [each["id"] for each in ALL]
    assert lines(folder)[0] == {
        "id": SOUND["id"],
        "verdict": "ANSWERABLE",
        "problems": [],
        "repair": None,
        "model": None,
        "refused": None,
    }
    assert [line.verdict for line in found.lines][1:] == [
        QuestionVerdict.DEFECTIVE,
        QuestionVerdict.NEEDS_CLEANUP,
        QuestionVerdict.NEEDS_CLEANUP,
        QuestionVerdict.NEEDS_CLEANUP,
        QuestionVerdict.DEFECTIVE,
        QuestionVerdict.NEEDS_CLEANUP,
    ]
    assert found.exit_code == 3


def test_what_can_be_repaired_is_in_a_new_version(folder: Path) -> None:
    original = (folder / "qa-20d" / "questions.yaml").read_bytes()

    verified(folder)

    assert (folder / "qa-20d" / "questions.yaml").read_bytes() == original
    new = entries(proposed(folder))
    assert new[str(SOUND["id"])] == SOUND
    assert new[str(VAGUE["id"])] == VAGUE
    assert TWIN["id"] not in new
    assert new[str(STALE["id"])] == {**STALE, "irrelevant_after": 5, "changes_on": 6}
    numbered = "How many boats passed the gate on 2025-03-04?"
    assert new[str(NUMBERED["id"])] == {**NUMBERED, "question": numbered}
    assert new[str(WINDOW["id"])]["relevant_days"] == [4]
    inside = new[str(INSIDE["id"])]
    assert inside["expected_disclosure"] == "answer"
    assert "forbidden_sessions" not in inside


def test_the_proposal_has_fewer_problems_none_new_and_no_further_repair(folder: Path) -> None:
    first = verified(folder)

    second = verified(folder, questions=proposed(folder))

    before = {(line.id, p.kind) for line in first.lines for p in line.problems}
    after = {(line.id, p.kind) for line in second.lines for p in line.problems}
    assert after < before
    assert second.proposal is None
    assert not proposed(folder, 2).exists()
    assert lines(folder, "verification.questions.proposed-1.jsonl")
    assert len(lines(folder)) == len(ALL)


def test_the_same_proposal_is_not_written_twice(folder: Path) -> None:
    verified(folder)
    mtime = proposed(folder).stat().st_mtime_ns
    verified(folder)

    assert proposed(folder).stat().st_mtime_ns == mtime
    assert not proposed(folder, 2).exists()


def test_a_proposal_never_takes_the_place_of_another(folder: Path) -> None:
    proposed(folder).write_text("[]")

    verified(folder)

    assert proposed(folder).read_text() == "[]"
    assert proposed(folder, 2).exists()


def test_a_sound_file_gives_no_proposal_and_no_fault(tmp_path: Path) -> None:
    folder = write(tmp_path, DAYS, [SOUND])

    found = verified(folder)

    assert found.exit_code == 0
    assert found.proposal is None
    assert sorted(path.name for path in (folder / "qa-20d").iterdir()) == [
        "questions.yaml",
        "verification.jsonl",
    ]


def test_any_file_can_be_verified_into_any_folder(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "mine.yaml"
    other.write_bytes(b"\xef\xbb\xbf" + json.dumps([NUMBERED]).encode())

    verified(folder, questions=other, out=tmp_path / "found")

    assert sorted(path.name for path in (tmp_path / "found").iterdir()) == [
        "mine.proposed-1.yaml",
        "verification.mine.jsonl",
    ]
    assert (tmp_path / "found" / "mine.proposed-1.yaml").read_bytes().startswith(b"\xef\xbb\xbf")
    assert not (folder / "qa-20d" / "verification.jsonl").exists()


def test_what_is_no_question_is_said_and_the_rest_looked_at(folder: Path) -> None:
    rows = ["a text", {**SOUND, "id": None}, SOUND, {**VAGUE, "id": SOUND["id"]}, {"id": "z"}]
    (folder / "qa-20d" / "questions.yaml").write_text(json.dumps(rows))

    found = verified(folder)

    said = [[problem.message for problem in line.problems] for line in found.lines]
    assert [line.id for line in found.lines][:2] == ["question number 1", "question number 2"]
    assert said[0] == ["it is the text 'a text'; write a mapping of its fields"]
    assert "leaves id empty" in said[1][0]
    assert said[2] == []
    assert said[3][0] == "question number 3 has this id; rename it"
    assert len(said[4]) == 5


@pytest.mark.parametrize("content", ["", "[]", "a: 1", "just words"])
def test_a_file_without_questions_is_malformed(folder: Path, content: str) -> None:
    (folder / "qa-20d" / "questions.yaml").write_text(content)

    with pytest.raises(Malformed, match="no questions"):
        verified(folder)


def test_a_file_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.yaml does not exist"):
        verified(folder, questions=Path("nowhere.yaml"))


def test_the_command_prints_a_table_and_exits_like_lint(folder: Path, invoke: Invoke) -> None:
    shown = invoke("verify-qa", "--persona", folder)

    assert shown.code == 3
    assert "lock/qa-20d/questions.yaml: 7 questions on 10 days" in shown.out
    assert "  duplicate         1          1              1" in shown.out
    assert "4 questions changed and 1 removed in" in shown.out
    told = json.loads(invoke("verify-qa", "--persona", folder, "--json").out)
    assert len(told["lines"]) == 7
    assert told["proposal"].endswith("questions.proposed-1.yaml")
