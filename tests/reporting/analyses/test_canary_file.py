"""The file of canaries is read by people, changes only where canaries do, and is checked."""

import json
from pathlib import Path

import pytest

from recall_bench.core.errors import DataError, UsageError
from recall_bench.reporting.analyses.canaries import CanaryQuestion, read_canaries, write_canaries
from tests.reporting.analyses.answer_tables import MADE_UP, asked, table_of

CANARY = CanaryQuestion(
    persona="ada",
    question="q1",
    text="What about it?",
    category="synthesis",
    digest="d1",
    asked=4,
    hallucinated=4,
    runs=1,
    sizes=4,
    repeats=1,
)
RUN = table_of([asked("q1", MADE_UP), asked("q2")])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "canaries.json"
    write_canaries(path, [CANARY, CANARY.replace(question="q0")], [RUN])
    return path


def test_what_was_written_is_read_by_persona_and_question(file: Path) -> None:
    assert read_canaries(file) == (CANARY.replace(question="q0"), CANARY)


def test_the_file_says_by_which_rule_and_from_which_runs(file: Path) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))

    assert content["version"] == 1
    assert "judged 3 times or more" in content["rule"]
    assert content["runs"] == [
        {
            "plan": RUN.plan.digest[:16],
            "system": "scripted 1",
            "judge": "exact 1",
            "judged": 2,
            "hallucinated": 1,
        }
    ]


def test_the_same_canaries_and_runs_in_any_order_give_the_same_bytes(tmp_path: Path) -> None:
    other = table_of([asked("q1")], seed=7)
    first, second = tmp_path / "first.json", tmp_path / "second.json"

    write_canaries(first, [CANARY, CANARY.replace(persona="bo")], [RUN, other])
    write_canaries(second, [CANARY.replace(persona="bo"), CANARY], [other, RUN])

    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().endswith(b"}\n")
    assert b'\n      "question": "q1",\n' in first.read_bytes()


def test_hostile_text_stays_one_string(tmp_path: Path) -> None:
    path = tmp_path / "canaries.json"
    hostile = CANARY.replace(text='"}]\n\x1b[2J</script>\u2028')

    write_canaries(path, [hostile], [])

    assert read_canaries(path) == (hostile,)
    assert b"\x1b" not in path.read_bytes()


def changed(file: Path, old: str, new: str) -> Path:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param('"q0",', '"q0"', r"canaries\.json: .*malformed", id="comma"),
        pytest.param('"asked": 4', '"asked": "4"', r"canaries\[0\]\.asked", id="type"),
        pytest.param('"asked": 4', '"put": 4', r"unknown field `put` .*canaries\[0\]", id="field"),
        pytest.param('"digest": "d1",', "", r"missing .*`digest` .*canaries\[0\]", id="missing"),
        pytest.param(
            '"hallucinated": 4', '"hallucinated": 5', r"canaries\[0\]` hallucinated 5 times of 4"
        ),
        pytest.param('"q0"', '"q1"', r"canaries\[1\]` is the same question as", id="twice"),
        pytest.param('"version": 1', '"version": 2', "version 2, and only version 1", id="newer"),
        pytest.param('"version": 1,', "", "missing required field `version`", id="unnamed"),
    ],
)
def test_a_file_that_is_not_one_is_named_with_the_place(
    file: Path, old: str, new: str, problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        read_canaries(changed(file, old, new))


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\n\n\xff\xfe", b"{"])
def test_anything_else_is_no_file_of_canaries(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "canaries.json"
    path.write_bytes(content)

    with pytest.raises(DataError, match=r"canaries\.json"):
        read_canaries(path)


def test_a_file_that_is_not_there_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`recall-bench canaries update` makes"):
        read_canaries(tmp_path / "none.json")
