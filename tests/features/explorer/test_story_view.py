"""The story of a run: days in blocks, sentences that tell, facts with their revisions."""

import json
from pathlib import Path

import msgspec

from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.explorer.story_view import build_story_blocks, read_facts
from recall_bench.reporting.pages.page_data import collect_questions
from recall_bench.stories.story_folders import StoryFolder, StoryTexts
from tests.reporting.pages.sample_pages import DAY, SENTENCE, ada_run

LEDGER = (
    {"value": "Quince", "true_from": 2, "true_until": None, "learned": 4},
    {"value": "Fig", "true_from": 9, "true_until": 2, "learned": 1},
    {"value": "Plum", "true_from": 3, "true_until": None, "learned": 3},
)
"""Not in the order they are told in; the first is told of a day to come."""


def write_ledger(folder: Path) -> StoryFolder:
    asked = folder / "qa"
    asked.mkdir(parents=True)
    lines = (json.dumps({"name": "the cat", "attribute": "name", **line}) for line in LEDGER)
    (asked / "ledger.jsonl").write_text("\n".join(lines) + "\n")
    return StoryFolder(folder=folder, arcs="arcs.yaml")


def test_a_ledger_gives_facts_with_their_revisions(tmp_path: Path) -> None:
    (fact,) = read_facts(write_ledger(tmp_path / "ada"), {})

    assert fact.name == "the cat: name"
    assert [(each.value, each.start, each.end) for each in fact.states] == [
        ("Fig", 1, 2),
        ("Plum", 3, 3),
        ("Quince", 4, None),
    ]


def test_statements_last_until_another_value_is_stated(tmp_path: Path) -> None:
    asked = tmp_path / "qa"
    asked.mkdir()
    texts = {1: "at 06:50", 2: "still 06:50", 5: "at 07:15"}
    lines = (
        {"fact": "ferry-time", "day": 1, "start": 3, "end": 8},
        {"fact": "ferry-time", "day": 2, "start": 6, "end": 11},
        {"fact": "ferry-time", "day": 5, "start": 3, "end": 8, "state": 2, "kind": "time"},
    )
    (asked / "statements.jsonl").write_text("\n".join(map(json.dumps, lines)))

    (fact,) = read_facts(StoryFolder(folder=tmp_path, arcs="arcs.yaml"), texts)

    assert fact.name == "ferry time"
    assert [(each.value, each.start, each.end) for each in fact.states] == [
        ("06:50", 1, 4),
        ("07:15", 5, None),
    ]


def test_days_and_marks_are_those_of_the_story(tmp_path: Path) -> None:
    folder = ada_run(tmp_path / "run").open()
    table = read_trials(folder)
    questions = collect_questions(table, ())
    story = StoryTexts(write_ledger(tmp_path / "ada"), {1: DAY, 2: "The dog moved in."})

    found = {
        block.name: msgspec.json.decode(block.content)
        for block in build_story_blocks(folder, table, questions, {"ada": story})
    }

    index = found["story-0"]
    assert found["days-0-0"] == [DAY, "The dog moved in."]
    assert index["days"] == [1, 2]
    assert index["dates"][0] == "Mon 01 Jan 2024"
    (start, end, place), *others = index["marks"]["1"]
    assert not others
    # A browser counts an owl as two.
    assert (start, end) == (DAY.index(SENTENCE) + 1, DAY.index(SENTENCE) + len(SENTENCE) + 1)
    assert questions.items[place][1].id == "cat"
    assert index["marks"]["2"] == [[-1, -1, questions.places["ada", "dog"]]]
    known = dict(zip([str(row.trial) for row in table.rows], found["known"], strict=True))
    assert known["ada/cat@2d#0"] == 1
    assert known["ada/cat@4d#0"] == 0
    assert known["ada/fox@4d#0"] == -1


def test_facts_that_cannot_be_read_say_why_and_the_days_are_shown(tmp_path: Path) -> None:
    folder = ada_run(tmp_path / "run").open()
    table = read_trials(folder)
    story = StoryTexts(write_ledger(tmp_path / "ada"), {1: DAY})
    with (tmp_path / "ada" / "qa" / "ledger.jsonl").open("a") as file:
        file.write('{"name": 1}\n')

    found = {
        block.name: msgspec.json.decode(block.content)
        for block in build_story_blocks(folder, table, collect_questions(table, ()), {"ada": story})
    }

    assert found["story-0"]["facts"] == []
    assert "ledger.jsonl, line 4: " in found["story-0"]["problem"]
    assert found["days-0-0"] == [DAY]
