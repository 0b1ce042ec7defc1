"""Pass 2: days as dialogues, by a model or without one."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.personas.conversations import build_dialogue, generate_conversations
from recall_bench.features.personas.day_log import count_coverage
from recall_bench.features.personas.pass_request import ConversationsRequest
from recall_bench.stories.shipped import unpack_story
from recall_bench.systems.models.model import Prompt
from tests.features.personas.scripted_model import ScriptedModel
from tests.features.personas.told_persona import a_day, write_dialogue
from tests.stories.transcript_files import load_conversations

ARCS = "arcs-30d.yaml"


@pytest.fixture
def persona(tmp_path: Path) -> Path:
    return Path(shutil.copytree(unpack_story("harbour-office"), tmp_path / "harbour-office"))


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_offline_every_day_becomes_a_dialogue_that_the_harness_reads(
    persona: Path, form: str
) -> None:
    done = generate_conversations(
        ConversationsRequest(persona=persona, format=form)  # type: ignore[arg-type]
    )
    found = list(load_conversations(persona, ARCS))

    assert (done.exit_code, done.written) == (0, 30)
    assert [each.day for each in found] == list(range(1, 31))
    assert all(4 <= len(each.turns) <= 12 for each in found)
    assert all(turn.speaker == "user" for each in found for turn in each.turns[::2])


@pytest.mark.parametrize("topics", [1, 2, 6, 7, 40])
@pytest.mark.parametrize("sessions", [1, 3, 9])
def test_a_dialogue_holds_all_of_the_log_whatever_its_shape(topics: int, sessions: int) -> None:
    day = a_day(sessions=sessions, topics=topics)
    turns = build_dialogue(day)
    said = "\n".join(turn.text for turn in turns)

    assert 4 <= len(turns) <= 12
    assert all(topic.text in said for topic in day.topics)
    assert count_coverage(said, day) == (len(day.values), len(day.values))
    assert all(f"[session: {name}]" in said for name in day.sessions)


def test_what_is_there_is_skipped_before_any_call(persona: Path) -> None:
    model = ScriptedModel(write_dialogue)
    request = ConversationsRequest(persona=persona, model="m", start=3, end=6)
    assert generate_conversations(request, model=model).written == 4
    again = generate_conversations(replace(request, start=1), model=model)

    assert (again.written, again.kept) == (2, 4)
    assert len(model.asked) == 6
    other = generate_conversations(replace(request, format="json"), model=model)
    assert (other.written, other.kept) == (0, 4)


def test_overwriting_asks_anew_and_leaves_one_file_a_day(persona: Path) -> None:
    model = ScriptedModel(write_dialogue)
    request = ConversationsRequest(persona=persona, model="m", days=4)
    generate_conversations(request, model=model)
    done = generate_conversations(replace(request, overwrite=True, format="json"), model=model)
    names = sorted(path.name for path in (persona / "conversations-30d").iterdir())

    assert done.written == 4
    assert len(model.asked) == 8
    assert names == [f"conv-000{day}.json" for day in range(1, 5)]


def test_a_failed_day_costs_itself_alone_and_the_same_request_fills_it(persona: Path) -> None:
    def script(asked: Prompt) -> str:
        return (
            "I would rather not."
            if "log of Wednesday, 5 March" in asked.user
            else write_dialogue(asked)
        )

    lines: list[str] = []
    request = ConversationsRequest(persona=persona, model="m", days=5, resume_command="the same")
    done = generate_conversations(request, lines.append, ScriptedModel(script))

    assert done.exit_code == 10
    assert [each.day for each in done.missing] == [3]
    assert any(
        line.startswith("[conversations] day=3 skipped: it is not one JSON") for line in lines
    )
    again = generate_conversations(request, model=ScriptedModel(write_dialogue))
    assert (again.exit_code, again.written) == (0, 1)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda turns: turns[:2], "it has 2 turns"),
        (lambda turns: turns * 5, "turns; write 4 to 12"),
        (lambda turns: turns[1:], "alternate"),
        (lambda turns: [*turns[:-1], {"role": "bot", "content": "x"}], "has no role"),
        (lambda turns: [*turns[:-1], {"role": "assistant", "content": " "}], "has no role"),
        (
            lambda turns: [*turns[:-1], {"role": "assistant", "content": "It cost £7,777."}],
            "£7,777 is not in the log",
        ),
        (
            lambda turns: [{**turn, "content": "[session: pub]\nx"} for turn in turns],
            "there is no session pub",
        ),
        (
            lambda turns: [{**turn, "content": "Indeed."} for turn in turns],
            "nothing is marked as said in session principal",
        ),
    ],
)
def test_what_is_wrong_with_a_reply_is_said(persona: Path, spoil: object, problem: str) -> None:
    def script(asked: Prompt) -> str:
        return json.dumps(spoil(json.loads(write_dialogue(asked))))  # type: ignore[operator]

    request = ConversationsRequest(persona=persona, model="m", days=1)
    done = generate_conversations(request, model=ScriptedModel(script))

    assert problem in done.missing[0].reason
    assert not list((persona / "conversations-30d").glob("*"))


def test_a_day_that_was_written_anew_since_is_named(persona: Path) -> None:
    generate_conversations(ConversationsRequest(persona=persona, days=5))
    conversation = persona / "conversations-30d" / "conv-0003.md"
    day = persona / "memories-30d" / "day-0003.md"
    os.utime(day, ns=(0, conversation.stat().st_mtime_ns + 10**9))
    again = generate_conversations(ConversationsRequest(persona=persona, days=5))

    assert again.notes == (
        "the logs of day 3 were written after these conversations; --overwrite writes them again",
    )


def test_without_days_it_says_what_writes_them(persona: Path) -> None:
    shutil.rmtree(persona / "memories-30d")
    with pytest.raises(UsageError, match="recall-bench generate"):
        generate_conversations(ConversationsRequest(persona=persona))


def test_a_line_of_the_log_cannot_begin_a_turn(persona: Path) -> None:
    day = persona / "memories-30d" / "day-0001.md"
    day.write_text(day.read_text() + "\n**User:**\n\nI was never here.\n")
    generate_conversations(ConversationsRequest(persona=persona, days=1))
    (found,) = load_conversations(persona, ARCS)

    assert [turn.speaker for turn in found.turns[:4]] == ["user", "assistant"] * 2
    assert "I was never here." in found.turns[-1].text
