"""Questions are added window by window, once, whatever happens in between; nothing else changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import FolderBusy, Malformed, ModelFault, UsageError
from recall_bench.core.usage import Usage
from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.personas.pass_request import QuestionsRequest
from recall_bench.features.personas.questions.question_pass import generate_questions
from recall_bench.features.personas.questions.question_store import WindowRecord
from recall_bench.systems.models.model import Finish, Prompt, Reply
from tests.features.personas.scripted_questions import (
    STRANGE,
    OneWord,
    Scripted,
    asked,
    blocks,
    candidate,
    files,
    one_word,
    usual,
    write_day,
    write_story,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_story(tmp_path / "mill")


def questions(folder: Path) -> list[dict[str, Any]]:
    found: Any = load_yaml(folder / "qa-14d" / "questions.yaml")
    return list(found)


def rejected(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "qa-14d" / "rejected.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_what_is_sound_is_kept_and_the_rest_lies_beside_with_its_reason(folder: Path) -> None:
    lines: list[str] = []
    request = QuestionsRequest(persona=folder, model="scripted")

    done = generate_questions(request, lines.append, Scripted(), make_checker=one_word)

    assert [entry["id"] for entry in questions(folder)] == [f"mill-q{n:03}" for n in range(1, 13)]
    assert [each["window"] for each in rejected(folder)] == ["days 1–7", "days 8–14"]
    assert rejected(folder)[0]["problems"] == [{"kind": "vagueness", "message": "disliked"}]
    assert lines[0].startswith("hands excerpts of 14 days of mill to Python code on this machine")
    assert lines[2:] == [
        "Window 1/2 (days 1–7): 6 kept, 1 rejected",
        "Window 2/2 (days 8–14): 6 kept, 1 rejected",
    ]
    assert "12 questions kept, 2 rejected (2 vagueness)" in done.notes[0]
    assert (done.written, done.kept, done.exit_code) == (2, 0, 0)


def test_an_entry_points_to_the_very_sentence(folder: Path) -> None:
    asked(folder)

    entry = questions(folder)[0]
    text = (folder / "memories-14d" / "day-0002.md").read_text(encoding="utf-8")
    [span] = entry["evidence"]
    assert text[span["start"] : span["end"]] == "The mill ground 42 sacks today."
    assert (span["day"], span["session"]) == (2, "principal")
    assert entry["relevant_days"] == [2]
    assert (entry["answerable_from"], entry["query_session"]) == (2, "principal")


def test_existing_questions_stay_to_the_byte(folder: Path) -> None:
    path = folder / "qa-14d" / "questions.yaml"
    path.parent.mkdir()
    path.write_text(STRANGE, encoding="utf-8")

    asked(folder)
    asked(folder, overwrite=True)

    assert path.read_bytes().startswith(STRANGE.encode() + b"\n- id:")
    ids = [entry["id"] for entry in questions(folder)]
    assert ids == ["mill-q007", "mill-q003", *(f"mill-q{n:03}" for n in range(20, 32))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]\n", "cannot be added to"),
        ("[{id: a}]\n", "cannot be added to"),
        ("- id: a\n...\n", "cannot be added to"),
        ("id: a\n", "write a list"),
        ("- id: [\n", "is not YAML"),
    ],
)
def test_a_file_that_nothing_can_be_added_to_is_refused_before_any_call(
    folder: Path, text: str, words: str
) -> None:
    path = folder / "qa-14d" / "questions.yaml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    model = Scripted()

    with pytest.raises(Malformed, match=words):
        asked(folder, model)

    assert not model.asked
    assert path.read_text(encoding="utf-8") == text


def test_an_indented_list_is_added_to_where_its_dashes_stand(folder: Path) -> None:
    path = folder / "qa-14d" / "questions.yaml"
    path.parent.mkdir()
    path.write_text("  - id: mine\n    question: Why?\n", encoding="utf-8")

    asked(folder)
    asked(folder, overwrite=True)

    assert [entry["id"] for entry in questions(folder)][:2] == ["mine", "mill-q013"]


def test_the_same_command_again_asks_nothing(folder: Path) -> None:
    asked(folder)
    before, model = files(folder), Scripted()

    done = asked(folder, model)

    assert not model.asked
    assert (done.written, done.kept, done.exit_code) == (0, 2, 0)
    assert files(folder) == before


def test_a_question_file_that_was_taken_away_is_written_again_at_no_cost(folder: Path) -> None:
    asked(folder)
    before, model = files(folder), Scripted()
    (folder / "qa-14d" / "questions.yaml").unlink()

    asked(folder, model)

    assert not model.asked
    assert files(folder) == before


def test_questions_taken_out_by_hand_stay_out(folder: Path) -> None:
    asked(folder)
    path = folder / "qa-14d" / "questions.yaml"
    text = path.read_bytes()
    path.write_bytes(text[: text.index(b'- id: "mill-q007')])

    asked(folder)
    left = questions(folder)
    asked(folder, overwrite=True)

    assert len(left) == 6
    assert questions(folder)[0]["id"] == "mill-q013"


def test_money_that_is_spent_stops_the_pass_and_loses_nothing(folder: Path) -> None:
    def dear(prompt: Prompt) -> Reply:
        return Reply(text=usual(prompt), usage=Usage(calls=1, cost_usd=0.4))

    done = asked(folder, Scripted(dear), max_cost_usd=0.3, parallelism=1)
    more = asked(folder, Scripted(dear), max_cost_usd=3.0, parallelism=1)

    assert done.stopped is not None
    assert (done.exit_code, done.written) == (8, 1)
    assert (more.exit_code, more.written, more.kept) == (0, 1, 1)
    assert more.spent.calls == 2


def test_a_window_that_gave_nothing_is_not_asked_again(folder: Path) -> None:
    asked(folder, Scripted(lambda _: '{"questions": []}'))
    model = Scripted()

    done = asked(folder, model)

    assert not model.asked
    assert done.exit_code == 0


def test_a_window_that_failed_is_asked_again_and_the_others_are_not(folder: Path) -> None:
    def prose_first(prompt: Prompt) -> str:
        return "Sorry." if max(blocks(prompt)) == 7 else usual(prompt)

    done = asked(folder, Scripted(prose_first), resume_command="recall-bench generate-qa")
    model = Scripted()
    again = asked(folder, model)

    assert done.exit_code == 10
    assert "missing: window 1 (days 1–7)" in done.in_words
    assert "to fill them: recall-bench generate-qa" in done.in_words
    assert {max(blocks(prompt)) for prompt in model.asked} == {7}
    assert again.exit_code == 0
    assert len(questions(folder)) == 12


def test_a_model_that_faults_costs_its_window_alone(folder: Path) -> None:
    def faulty(prompt: Prompt) -> str:
        if max(blocks(prompt)) == 7:
            raise ModelFault("no reply")
        return usual(prompt)

    done = asked(folder, Scripted(faulty))

    assert [each.reason for each in done.missing] == ["no reply"]
    assert len(questions(folder)) == 6


def test_the_file_is_the_same_however_many_calls_are_made_at_once(
    folder: Path, tmp_path: Path
) -> None:
    other = write_story(tmp_path / "other" / "mill")

    asked(folder, parallelism=1, interval=2)
    asked(other, parallelism=8, interval=2)

    assert files(folder) == files(other)


def test_days_stated_since_are_asked_about_once(folder: Path) -> None:
    for day in (12, 13, 14):
        (folder / "memories-14d" / f"day-{day:04}.md").unlink()
    asked(folder)
    for day in (12, 13, 14):
        write_day(folder, day)
    model = Scripted()

    asked(folder, model)

    assert len(model.asked) == 1
    assert "<<day 14," in model.asked[0].user
    assert "- 5 × " not in model.asked[0].user
    last = [entry["relevant_days"] for entry in questions(folder)][-2:]
    assert last == [[13], [14]]


def test_bounds_keep_to_the_days_asked_for(folder: Path) -> None:
    model = Scripted()

    asked(folder, model, start=8, end=10)

    assert [max(blocks(prompt)) for prompt in model.asked] == [10]
    with pytest.raises(UsageError, match="beyond the story's last day"):
        asked(folder, start=40)


def test_overwriting_replaces_what_was_generated_and_not_what_was_edited(folder: Path) -> None:
    asked(folder)
    path = folder / "qa-14d" / "questions.yaml"
    text = path.read_text(encoding="utf-8")
    text = text.replace('- id: "mill-q003"\n', '- id: "mill-q003"\n  irrelevant_after: 60\n')
    text = text.replace('- id: "mill-q006"', '  reviewed: true\n- id: "mill-q006"')
    path.write_text(text + "- id: mine\n  question: Why?\n", encoding="utf-8")
    lines: list[str] = []
    request = QuestionsRequest(persona=folder, model="scripted", overwrite=True)

    generate_questions(request, lines.append, Scripted(), make_checker=one_word)

    ids = [entry["id"] for entry in questions(folder)]
    assert ids == ["mill-q003", "mill-q005", "mine", *(f"mill-q{n:03}" for n in range(13, 23))]
    assert questions(folder)[0]["irrelevant_after"] == 60
    assert questions(folder)[1]["reviewed"] is True
    assert "[questions] mill-q003 was edited by hand, so it stays" in lines
    assert [each["problems"][0]["message"] for each in rejected(folder)] == [
        "disliked",
        "mill-q003 asks the same",
        "mill-q005 asks the same",
        "disliked",
    ]


def test_overwriting_asks_anew_each_time_and_once_each_time(folder: Path) -> None:
    asked(folder)
    model = Scripted()

    asked(folder, model, overwrite=True)
    asked(folder, model, overwrite=True)
    asked(folder, model)

    assert len(model.asked) == 4
    assert len(questions(folder)) == 12


def test_overwriting_one_mode_leaves_the_other_alone(folder: Path) -> None:
    asked(folder)
    before = questions(folder)

    asked(folder, Scripted(lambda _: '{"questions": []}'), mode="boundary", overwrite=True)

    assert questions(folder) == before


def test_overwriting_with_another_interval_replaces_each_question_once(folder: Path) -> None:
    asked(folder, interval=2)

    asked(folder, overwrite=True, interval=7)

    assert len(questions(folder)) == 12
    assert len(rejected(folder)) == 2


def test_overwriting_a_part_of_a_window_leaves_its_questions(folder: Path) -> None:
    asked(folder)
    before = [entry["id"] for entry in questions(folder)]

    asked(folder, overwrite=True, interval=5, end=5)

    assert [entry["id"] for entry in questions(folder)][:12] == before


def test_what_one_window_asked_no_other_asks_again(folder: Path) -> None:
    asked(folder, Scripted(lambda _: json.dumps([candidate(2)])))

    assert len(questions(folder)) == 1
    [again] = rejected(folder)
    assert (again["window"], again["problems"][0]["message"]) == (
        "days 8–14",
        "mill-q001 asks the same",
    )


def test_a_reply_that_was_cut_gives_what_is_whole_in_it(folder: Path) -> None:
    def cut(prompt: Prompt) -> Reply:
        text = usual(prompt)
        return Reply(text=text[: int(len(text) * 0.6)], usage=Usage(calls=1), finish=Finish.LENGTH)

    model = Scripted(cut)
    asked(folder, model)

    assert len(model.asked) == 2
    assert 4 <= len(questions(folder)) < 12


def test_what_cannot_be_printed_is_left_out(folder: Path) -> None:
    text = "How\u2028many\x07 sacks\ud800 on\n3\u00a0March 2025?"

    asked(folder, Scripted(lambda _: json.dumps([candidate(1, question=text)])), end=7)

    assert questions(folder)[0]["question"] == "How many sacks on 3 March 2025?"


def test_two_runs_at_once_are_refused(folder: Path) -> None:
    with WindowRecord(folder, "14d"), pytest.raises(FolderBusy):
        asked(folder)


def test_a_repair_is_applied_and_checked_again(folder: Path) -> None:
    from recall_bench.features.personas.checks.check_result import (
        ProblemKind,
        QuestionCheck,
        QuestionProblem,
        QuestionRepair,
    )

    class Stale(OneWord):
        def check(self, entry: Any) -> QuestionCheck:
            if "irrelevant_after" in entry:
                return QuestionCheck(problems=())
            return QuestionCheck(
                problems=(QuestionProblem(kind=ProblemKind.STALENESS, message="it changes"),),
                repair=QuestionRepair(changes={"irrelevant_after": 9}, why="day 10 says otherwise"),
            )

    request = QuestionsRequest(persona=folder, model="scripted", end=7)
    generate_questions(request, model=Scripted(), make_checker=lambda *_: Stale())

    entry = questions(folder)[0]
    assert (entry["irrelevant_after"], entry["changes_on"]) == (9, 10)
    assert list(entry)[7:11] == [
        "query_session",
        "irrelevant_after",
        "answerable_from",
        "changes_on",
    ]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"mode": "essay"}, "there is no mode 'essay'; say standard or boundary"),
        ({"interval": 0}, "--interval: 0 is too few"),
        ({"query_session": "attic"}, "there is no session attic; there is principal, yard, bank"),
        (
            {"mode": "boundary", "query_session": "principal"},
            "principal has no participant outside",
        ),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(
    folder: Path, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        asked(folder, **fields)


def test_what_a_checker_of_nothing_lets_through_still_has_to_be_quoted(folder: Path) -> None:
    def invented(prompt: Prompt) -> str:
        quote = {"day": 1, "session": "principal", "quote": "The mill ground 99 sacks today."}
        return json.dumps([candidate(1, evidence=[quote]), candidate(2, evidence=[])])

    asked(folder, Scripted(invented), end=7)

    assert [each["problems"][0]["message"] for each in rejected(folder)] == [
        "“The mill ground 99 sacks today.” stands in nothing that was shown",
        "no quotation proves it",
    ]
    assert not (folder / "qa-14d" / "questions.yaml").exists()
