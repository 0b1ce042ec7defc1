"""Folders that change, break or fill up under a pass: the numbers stay true, nothing is lost."""

import shutil
from pathlib import Path

import pytest

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import Problems, UsageError
from recall_bench.features.personas import day_pass
from recall_bench.features.personas.conversations import generate_conversations
from recall_bench.features.personas.creation.persona_writer import create_persona
from recall_bench.features.personas.days import diary
from recall_bench.features.personas.days.day_plan import plan_story
from recall_bench.features.personas.days.day_writer import generate_days
from recall_bench.features.personas.days.diary import PastReader
from recall_bench.features.personas.days.ledger_days import write_from_ledger
from recall_bench.features.personas.pass_request import (
    ConversationsRequest,
    CreateRequest,
    DaysRequest,
    QuestionsRequest,
)
from recall_bench.features.personas.questions.question_pass import generate_questions
from recall_bench.features.personas.questions.question_store import WindowRecord
from recall_bench.features.personas.questions.window import QuestionWindow
from recall_bench.stories.persona_files import Layout
from recall_bench.stories.persona_story import read_persona, read_story
from recall_bench.stories.shipped import unpack_story
from recall_bench.systems.models.model import Prompt
from recall_bench.text.text_values import collect_topics
from tests.features.personas.days.test_ledger_days import by_the_notes
from tests.features.personas.scripted_days import ARCS as DAYS_ARCS
from tests.features.personas.scripted_days import Scripted, nursery
from tests.features.personas.scripted_model import ScriptedModel
from tests.features.personas.told_persona import write_dialogue

ARCS = "arcs-30d.yaml"


@pytest.fixture
def persona(tmp_path: Path) -> Path:
    return Path(shutil.copytree(unpack_story("harbour-office"), tmp_path / "harbour-office"))


def request(persona: Path, **fields: object) -> ConversationsRequest:
    usual = {"persona": persona, "model": "m", "days": 6, "parallelism": 1}
    return ConversationsRequest(**{**usual, **fields})  # type: ignore[arg-type]


def test_a_file_taken_away_in_the_middle_of_overwriting_is_written_again(persona: Path) -> None:
    generate_conversations(request(persona), model=ScriptedModel(write_dialogue))
    asked = 0

    def three_times(prompt: Prompt) -> str:
        nonlocal asked
        asked += 1
        return write_dialogue(prompt) if asked <= 3 else "no"

    cut = generate_conversations(request(persona, overwrite=True), model=ScriptedModel(three_times))
    assert len(cut.missing) == 3
    taken = Layout(persona, ARCS).conversations / "conv-0002.md"
    taken.unlink()
    model = ScriptedModel(write_dialogue)
    done = generate_conversations(request(persona, overwrite=True), model=model)

    assert taken.exists()
    assert (done.exit_code, done.written, done.kept) == (0, 4, 2)
    # The reply for the file that was taken away is on record.
    assert len(model.asked) == 3


def test_a_day_that_cannot_be_read_is_said_before_anything_is_paid_for(persona: Path) -> None:
    model = ScriptedModel(write_dialogue)
    (Layout(persona, ARCS).memories / "day-0005.md").write_bytes(b"caf\xe9\n")
    with pytest.raises(Problems, match=r"day-0005\.md, line 1: byte 0xe9"):
        generate_conversations(request(persona), model=model)
    assert model.asked == []


def test_a_day_that_goes_while_others_are_retold_costs_only_itself(persona: Path) -> None:
    gone = Layout(persona, ARCS).memories / "day-0004.md"

    def taking(prompt: Prompt) -> str:
        gone.unlink(missing_ok=True)
        return write_dialogue(prompt)

    done = generate_conversations(request(persona), model=ScriptedModel(taking))

    assert (done.exit_code, done.written) == (10, 5)
    assert [each.day for each in done.missing] == [4]
    assert "day-0004.md: cannot be read" in done.missing[0].reason


def test_a_disk_that_is_full_stops_in_good_order(
    persona: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        if path.name == "conv-0003.md":
            raise UsageError(f"{path}: cannot be written (No space left on device)")
        replace_file(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(day_pass, "replace_file", full)
        stopped = generate_conversations(
            request(persona, resume_command="the command"), model=ScriptedModel(write_dialogue)
        )
    assert stopped.stopped is not None
    assert "No space left" in stopped.stopped.reason
    assert (stopped.exit_code, stopped.written) == (2, 2)
    assert "to fill them: the command" in stopped.in_words
    model = ScriptedModel(write_dialogue)
    done = generate_conversations(request(persona), model=model)

    assert (done.exit_code, done.written, done.kept) == (0, 4, 2)
    # What was replied before the disk was full is on record.
    assert len(model.asked) == 3


def test_a_day_of_the_world_taken_away_in_the_middle_of_overwriting_is_written_again(
    tmp_path: Path,
) -> None:
    persona = tmp_path / "vigil"
    create_persona(CreateRequest(persona=persona, trade="er-physician", days=60))
    wanted = DaysRequest(persona=persona, model="m", days=3, from_ledger=True, overwrite=True)
    dates: list[str] = []

    def first_day(prompt: Prompt) -> str:
        dates.append(prompt.user.partition("the notes of ")[2].partition(" for one")[0])
        return by_the_notes(prompt) if dates[-1] == dates[0] else "no"

    cut = write_from_ledger(wanted, model=ScriptedModel(first_day))
    assert cut.missing
    there = sorted((persona / "memories-60d").glob("day-*.md"))
    assert len(there) == cut.written > 0
    there[0].unlink()
    lines: list[str] = []
    done = write_from_ledger(wanted, lines.append, ScriptedModel(by_the_notes))

    assert there[0].exists()
    assert (done.exit_code, done.written + done.kept) == (0, done.wanted)
    assert lines[-1].endswith(f"({done.wanted} unique)")


def test_what_was_stated_before_is_looked_at_once_however_long_the_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = nursery(tmp_path)
    generate_days(DaysRequest(persona=folder, model="command:x"), model=Scripted())
    layout = Layout(folder, DAYS_ARCS)
    persona, story = read_persona(folder), read_story(folder, DAYS_ARCS)
    looked_at: list[str] = []

    def counted(text: str) -> frozenset[str]:
        looked_at.append(text)
        return collect_topics(text)

    diary._parse_headings.cache_clear()
    monkeypatch.setattr(diary, "collect_topics", counted)
    kept = diary.Diary(layout)
    plan = plan_story(persona, story)
    hindsight = PastReader(kept, plan.days, story.epoch, lag=8, window=3)
    seen = [
        hindsight.collect_past(planned, telling)
        for planned in plan.days
        for telling in planned.session_plans
    ]
    assert any(each.headings for each in seen)
    entries = [kept.find_entry(day, name) for day in kept.days for name in ("crew", "principal")]
    text = "\n".join(entry or "" for entry in entries)
    headings = [each for each in looked_at if f"### {each}" in text]
    assert 0 < len(headings) <= text.count("### ")


def test_questions_taken_away_after_a_kill_are_all_asked_for_again(persona: Path) -> None:
    asking = QuestionsRequest(persona=persona, model="m", days=14)
    file = Layout(persona, ARCS).questions_file
    file.unlink()
    with WindowRecord(persona, "30d") as record:
        for number in (1, 2):
            window = QuestionWindow(number=number, first=7 * number - 6, last=7 * number)
            kept: tuple[dict[str, object], ...] = (
                {"id": f"harbour-office-q00{number}", "question": "Who?"},
            )
            record.record_decision("standard", window, "m", kept=kept, refused=(), anew=False)
            if number == 1:
                record.mark_done()
    model = ScriptedModel(lambda _: '{"questions": []}')
    lines: list[str] = []
    done = generate_questions(asking, lines.append, model)

    assert (done.written, done.kept) == (2, 0)
    assert lines[0].endswith("is gone, so every window is asked about again")
    assert not file.exists()
    assert generate_questions(asking, model=model).kept == 2


def test_the_only_window_that_was_decided_before_a_kill_is_written(persona: Path) -> None:
    asking = QuestionsRequest(persona=persona, model="m", days=7)
    Layout(persona, ARCS).questions_file.unlink()
    with WindowRecord(persona, "30d") as record:
        kept: tuple[dict[str, object], ...] = ({"id": "harbour-office-q001", "question": "Who?"},)
        window = QuestionWindow(number=1, first=1, last=7)
        record.record_decision("standard", window, "m", kept=kept, refused=(), anew=False)
    model = ScriptedModel(lambda _: '{"questions": []}')

    assert generate_questions(asking, model=model).kept == 1
    text = Layout(persona, ARCS).questions_file.read_text(encoding="utf-8")
    assert "harbour-office-q001" in text
    assert model.asked == []
