"""Tool calls and conversations are read day by day, and a file that departs is named."""

from datetime import date
from pathlib import Path

import pytest

from recall_bench.core.errors import DataError, Malformed
from recall_bench.core.scenario import Turn
from tests.conftest import shared_data
from tests.stories.persona_folder import plant
from tests.stories.transcript_files import load_conversations, load_tool_calls

STORY = "arcs-6d.yaml"

CALLS = """\
# what was saved

day: 2
date: 2026-02-02
day_of_week: Monday
persona: nursery
calls:
  - session: crew
    tool: memorySave
    content: |-
      Bid B accepted:
      valve included
  - {session: internal, tool: memorySave, content: "No"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = plant(tmp_path)
    (folder / "tools-6d").mkdir()
    (folder / "conversations-6d").mkdir()
    return folder


def write_calls(folder: Path, name: str, text: str) -> None:
    (folder / "tools-6d" / name).write_text(text, encoding="utf-8")


def write_talk(folder: Path, name: str, text: str) -> None:
    (folder / "conversations-6d" / name).write_text(text, encoding="utf-8")


def test_a_day_of_tool_calls_is_read_whole(folder: Path) -> None:
    write_calls(folder, "day-0002.yaml", CALLS)

    (day,) = load_tool_calls(folder, STORY)

    assert (day.day, day.dated, day.day_of_week) == (2, date(2026, 2, 2), "Monday")
    assert [call.session for call in day.calls] == ["crew", "internal"]
    assert day.calls[0].content == "Bid B accepted:\nvalve included"
    assert day.calls[1].content == "No"


def test_days_come_in_story_order(folder: Path) -> None:
    for day in (10_000, 9_999, 3):
        write_calls(folder, f"day-{day:04}.yaml", f"day: {day}\ncalls: []\n")

    assert [found.day for found in load_tool_calls(folder, STORY)] == [3, 9_999, 10_000]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("day: 2", "day: 3", "line 3: the day is not 2, as in the file name"),
        ("calls:", "call:", "has no list named calls"),
        ("    tool: memorySave\n", "", "line 8: call number 1 has no tool"),
        ("date: 2026-02-02", "date: Monday", "line 4: date of the file"),
    ],
)
def test_tool_calls_that_depart_are_named(folder: Path, old: str, new: str, words: str) -> None:
    write_calls(folder, "day-0002.yaml", CALLS.replace(old, new, 1))

    with pytest.raises(DataError) as caught:
        list(load_tool_calls(folder, STORY))

    assert "nursery/tools-6d/day-0002.yaml" in str(caught.value)
    assert words in str(caught.value)


def test_a_list_in_place_of_tool_calls_is_named(folder: Path) -> None:
    write_calls(folder, "day-0002.yaml", "- 1\n")

    with pytest.raises(Malformed, match="holds a list"):
        list(load_tool_calls(folder, STORY))


TURNS = (Turn(speaker="user", text="Which bid?"), Turn(speaker="assistant", text="Bid B.\n\nYes."))


def test_a_conversation_in_json_is_read(folder: Path) -> None:
    write_talk(
        folder,
        "conv-0002.json",
        '[{"role": "user", "content": "Which bid?"},'
        ' {"role": "assistant", "content": "Bid B.\\n\\nYes."}]',
    )

    (talk,) = load_conversations(folder, STORY)

    assert (talk.day, talk.turns) == (2, TURNS)


@pytest.mark.parametrize("label", ["**{}:**", "**{}**:"])
def test_a_conversation_in_markdown_is_read(folder: Path, label: str) -> None:
    user, assistant = label.format("User"), label.format("Assistant")
    text = f"{user}\n\nWhich bid?\n\n{assistant}\n\nBid B.\n\nYes.\n\n"
    write_talk(folder, "conv-0002.md", text)

    (talk,) = load_conversations(folder, STORY)

    assert talk.turns == TURNS


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("conv-0002.json", '{"role": "user"}', "is not a list of role and content"),
        ("conv-0002.json", "[", "is not a list of role and content"),
        ("conv-0002.json", '[{"role": "user", "content": 7}]', "is not a list of role"),
        ("conv-0002.json", '[{"role": "system", "content": ""}]', "turn 1 is by 'system'"),
        ("conv-0002.json", "[]", "holds no turn"),
        ("conv-0002.md", "Hello.\n\n**User:**\n\nHi.\n", "before the first"),
        ("conv-0002.md", "", "holds no turn"),
    ],
)
def test_a_conversation_that_departs_is_named(
    folder: Path, name: str, text: str, words: str
) -> None:
    write_talk(folder, name, text)

    with pytest.raises(Malformed) as caught:
        list(load_conversations(folder, STORY))

    assert f"nursery/conversations-6d/{name}" in str(caught.value)
    assert words in str(caught.value)


def test_two_conversations_of_one_day_are_not_chosen_between(folder: Path) -> None:
    write_talk(folder, "conv-0002.json", "[]")
    write_talk(folder, "conv-0002.md", "")

    with pytest.raises(Malformed, match="is for the same day"):
        load_conversations(folder, STORY)


def test_the_public_tool_calls_are_read_whole() -> None:
    days = list(load_tool_calls(shared_data("recall-ea/executive-assistant"), "arcs-180d.yaml"))

    assert [day.day for day in days] == list(range(1, 181))
    assert sum(len(day.calls) for day in days) == 4780
    assert {call.tool for day in days for call in day.calls} == {"memorySave"}
    assert days[67].dated == date(2026, 3, 9)
    counts = [len(day.calls) for day in days]
    assert (min(counts), max(counts)) == (3, 53)
