"""A story is fed as dialogues or as tool calls, and its logs stay the truth."""

import json
from datetime import date
from pathlib import Path

import pytest

from recall_bench.core.errors import Problems
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import (
    Calendar,
    Checkpoint,
    Ingest,
    Lifecycle,
    Plan,
    ScenarioCard,
    build_scenario_card,
)
from recall_bench.core.scenario import Turn
from recall_bench.core.verdict import JudgeCard
from recall_bench.stories.persona import Inspection, inspect_persona, load_persona
from tests.conftest import shared_data
from tests.stories.persona_folder import TOLD, plant, write_day

STORY = "arcs-6d.yaml"
RETOLD = (Ingest.CONVERSATIONS, Ingest.TOOL_CALLS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The nursery with a dialogue and tool calls for every day that has a log."""
    folder = plant(tmp_path)
    for day in TOLD:
        write_talk(folder, day)
        write_calls(folder, day)
    return folder


def write_talk(folder: Path, day: int, said: str = "Bid B.") -> None:
    path = folder / "conversations-6d" / f"conv-{day:04}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"**User:**\n\nDay {day}?\n\n**Assistant:**\n\n{said}\n", encoding="utf-8")


def write_calls(folder: Path, day: int, saved: str = "Bid B accepted.") -> None:
    path = folder / "tools-6d" / f"day-{day:04}.yaml"
    path.parent.mkdir(exist_ok=True)
    calls = [
        {"session": "crew", "tool": "memorySave", "content": f"Day {day}."},
        {"session": "crew", "tool": "memorySave", "content": f"{saved}\nValve included."},
        {"session": "internal", "tool": "noteSave", "content": "Ask Bram."},
    ]
    path.write_text(json.dumps({"day": day, "calls": calls}), encoding="utf-8")


def files_of(folder: Path, ingest: Ingest) -> list[Path]:
    names = {Ingest.CONVERSATIONS: "conversations-6d", Ingest.TOOL_CALLS: "tools-6d"}
    return sorted((folder / names[ingest]).iterdir())


def looked_at(folder: Path, ingest: Ingest, *, allow_gaps: bool = False) -> Inspection:
    return inspect_persona(folder, arcs=STORY, ingest=ingest, allow_gaps=allow_gaps)


def digest(folder: Path, ingest: Ingest) -> str:
    card = looked_at(folder, ingest).card
    assert card is not None
    return card.history_digest


def test_a_plan_that_feeds_days_has_the_digest_it_had_before_there_was_a_choice() -> None:
    plan = Plan(
        scenarios=(
            ScenarioCard(
                id="nursery",
                epoch=date(2026, 2, 1),
                episodes=5,
                last_day=6,
                items=3,
                history_digest="h",
                questions_digest="q",
            ),
        ),
        checkpoints=(Checkpoint(label="6d", days=6),),
        system=SystemCard(name="bm25", version="1"),
        judge=JudgeCard(name="offline", version="1"),
        lifecycle=Lifecycle.FORKED,
        calendar=Calendar.TEXT,
    )

    assert plan.digest == "908e0890934260dffabc106aea7a4f6fd06660fdfa535d8df693303caefb9e08"
    assert len({plan.replace(ingest=form).digest for form in Ingest}) == 3


def test_so_has_a_history_that_is_fed_as_days(folder: Path) -> None:
    before = "03d3c18f5bc5d23b67dc14b2f757036707c2bca0867818c7ffb5946117816377"

    assert digest(folder, Ingest.DAYS) == before
    assert load_persona(folder, arcs=STORY).retold is None


@pytest.mark.parametrize("ingest", RETOLD)
def test_a_day_stated_again_keeps_all_but_its_words(folder: Path, ingest: Ingest) -> None:
    scenario = load_persona(folder, arcs=STORY, ingest=ingest)

    assert scenario.fed_episodes == scenario.retold != scenario.episodes
    assert [(day.id, day.day, day.at, day.arcs) for day in scenario.fed_episodes] == [
        (day.id, day.day, day.at, day.arcs) for day in scenario.episodes
    ]
    assert scenario.episodes == load_persona(folder, arcs=STORY).episodes
    assert scenario.items == load_persona(folder, arcs=STORY).items


def test_a_dialogue_reads_the_same_from_either_kind_of_file(folder: Path) -> None:
    said = [{"role": "user", "content": "Day 2?"}, {"role": "assistant", "content": "Bid B."}]
    (folder / "conversations-6d" / "conv-0002.md").unlink()
    (folder / "conversations-6d" / "conv-0002.json").write_text(json.dumps(said))

    first, second = load_persona(folder, arcs=STORY, ingest=Ingest.CONVERSATIONS).fed_episodes[:2]

    assert first.text == "**User:**\n\nDay 1?\n\n**Assistant:**\n\nBid B.\n"
    assert second.text == first.text.replace("1", "2")
    assert second.turns == (
        Turn(speaker="user", text="Day 2?"),
        Turn(speaker="assistant", text="Bid B."),
    )


def test_calls_are_written_under_their_sessions(folder: Path) -> None:
    first = load_persona(folder, arcs=STORY, ingest=Ingest.TOOL_CALLS).fed_episodes[0]

    assert first.text == (
        "# session: crew\n\n"
        "### memorySave\n\nDay 1.\n\n"
        "### memorySave\n\nBid B accepted.\nValve included.\n\n"
        "# session: internal\n\n"
        "### noteSave\n\nAsk Bram.\n"
    )
    assert first.turns == ()


@pytest.mark.parametrize("ingest", RETOLD)
def test_what_is_looked_at_is_what_is_loaded(folder: Path, ingest: Ingest) -> None:
    found = looked_at(folder, ingest)

    assert not found.problems
    assert not found.warnings
    assert found.days == TOLD
    assert found.card == build_scenario_card(load_persona(folder, arcs=STORY, ingest=ingest))


@pytest.mark.parametrize("ingest", RETOLD)
def test_the_digest_covers_what_is_fed_and_what_is_true(folder: Path, ingest: Ingest) -> None:
    before = digest(folder, ingest)
    assert before != digest(folder, Ingest.DAYS)

    write_talk(folder, 2, "Bid C.")
    write_calls(folder, 2, "Bid C.")
    fed = digest(folder, ingest)
    write_day(folder, 2, "### Log\n\nAnother log.\n")

    assert len({before, fed, digest(folder, ingest)}) == 3


def test_the_digest_leaves_out_the_form_that_is_not_fed(folder: Path) -> None:
    before = digest(folder, Ingest.DAYS), digest(folder, Ingest.TOOL_CALLS)

    write_talk(folder, 2, "Bid C.")

    assert (digest(folder, Ingest.DAYS), digest(folder, Ingest.TOOL_CALLS)) == before


def test_a_day_stated_again_has_the_date_of_its_log(folder: Path) -> None:
    for day, told in ((1, 1), (2, 2), (3, 2), (6, 5)):
        weekday = date(2026, 2, told).strftime("%A")
        write_day(folder, day, f"### Log\n\nQuiet on {weekday}, 2026-02-{told:02}.\n")

    scenario = load_persona(folder, arcs=STORY, calendar=Calendar.TEXT, ingest=Ingest.TOOL_CALLS)

    assert [day.at.day for day in scenario.fed_episodes] == [1, 2, 2, 4, 5]


@pytest.mark.parametrize(
    ("ingest", "place", "command"),
    [
        (Ingest.CONVERSATIONS, "conversations-6d", "generate-conversations"),
        (Ingest.TOOL_CALLS, "tools-6d", "generate-tool-calls"),
    ],
)
def test_days_without_a_file_are_one_problem(
    folder: Path, ingest: Ingest, place: str, command: str
) -> None:
    for path in files_of(folder, ingest)[1:3]:
        path.unlink()

    [problem] = looked_at(folder, ingest).problems

    assert str(problem) == (
        f"nursery/{place}: has no file for days 2–3; write what is missing with "
        f"recall-bench {command} --persona {folder} --arcs {STORY}, "
        "or accept the gaps with --allow-gaps"
    )
    assert not looked_at(folder, Ingest.DAYS).problems
    with pytest.raises(Problems):
        load_persona(folder, arcs=STORY, ingest=ingest)


@pytest.mark.parametrize("ingest", RETOLD)
def test_gaps_that_are_accepted_are_not_fed(folder: Path, ingest: Ingest) -> None:
    files_of(folder, ingest)[1].unlink()

    found = looked_at(folder, ingest, allow_gaps=True)
    scenario = load_persona(folder, arcs=STORY, ingest=ingest, allow_gaps=True)

    assert not found.problems
    assert any("no file for day 2, so nothing is fed" in warning for warning in found.warnings)
    assert found.days == tuple(day.day for day in scenario.fed_episodes) == (1, 3, 5, 6)
    assert [day.day for day in scenario.episodes] == list(TOLD)
    assert found.card == build_scenario_card(scenario)


@pytest.mark.parametrize("ingest", RETOLD)
def test_a_file_without_a_log_is_not_fed(folder: Path, ingest: Ingest) -> None:
    write_talk(folder, 4)
    write_calls(folder, 4)

    found = looked_at(folder, ingest)

    assert not found.problems
    assert "for day 4, without a log, is not fed" in found.warnings[0]
    assert found.days == TOLD


@pytest.mark.parametrize("ingest", RETOLD)
def test_a_form_that_is_not_there_is_a_problem_gaps_or_no_gaps(
    folder: Path, ingest: Ingest
) -> None:
    files = files_of(folder, ingest)
    for path in files:
        path.unlink()

    [nothing] = looked_at(folder, ingest, allow_gaps=True).problems
    files[0].parent.rmdir()
    [nowhere] = looked_at(folder, ingest, allow_gaps=True).problems

    assert "has no file for days 1–3, 5–6; write what is missing with" in str(nothing)
    assert "--allow-gaps" not in str(nothing)
    assert f"of {STORY}, does not exist; write what is missing with" in str(nowhere)


def test_everything_wrong_with_the_files_is_said_at_once(folder: Path) -> None:
    talks = folder / "conversations-6d"
    (talks / "conv-0001.md").write_text("Hello.\n")
    (talks / "conv-0002.md").write_bytes(b"**User:**\n\n\0\n")
    (talks / "conv-0003.md").write_text("**User:**\n\n**Assistant:**\n")
    (talks / "conv-0005.md").unlink()
    (talks / "conv-0005.md").mkdir()
    (talks / "conv-6.md").write_text("**User:**\n\nHi.\n")

    found = looked_at(folder, Ingest.CONVERSATIONS)

    assert [str(problem).split(";")[0].split(" or ")[0] for problem in found.problems] == [
        "nursery/conversations-6d/conv-0001.md, line 1: there is text before the first **User:**",
        "nursery/conversations-6d/conv-0002.md, line 3: holds a NUL byte, so it is not text",
        "nursery/conversations-6d/conv-0003.md: all its turns are empty",
        "nursery/conversations-6d/conv-0005.md: cannot be read (Is a directory)",
    ]
    assert found.card is None
    assert found.warnings == [
        "nursery/conversations-6d/conv-6.md: is not named like a day of this form and is not read"
    ]


def test_all_faults_of_one_file_of_calls_are_said(folder: Path) -> None:
    (folder / "tools-6d" / "day-0001.yaml").write_text("day: 2\ncalls: [{tool: t, content: c}]\n")
    (folder / "tools-6d" / "day-0002.yaml").write_text("day: 2\ncalls: []\n")

    first, second, third = (str(each) for each in looked_at(folder, Ingest.TOOL_CALLS).problems)

    assert "the day is not 1" in first
    assert "has no session" in second
    assert "day-0002.yaml: holds no call" in third


def test_two_dialogues_of_one_day_are_a_problem(folder: Path) -> None:
    (folder / "conversations-6d" / "conv-0002.json").write_text("[]")

    [problem] = looked_at(folder, Ingest.CONVERSATIONS).problems

    assert "is for the same day; remove one of the two" in str(problem)


def test_the_real_tool_calls_can_be_fed() -> None:
    folder = shared_data("recall-ea/executive-assistant")

    scenario = load_persona(folder, arcs="arcs-180d.yaml", ingest=Ingest.TOOL_CALLS)

    assert len(scenario.fed_episodes) == 180
    assert sum(day.text.count("### memorySave") for day in scenario.fed_episodes) == 4780
    assert scenario.fed_episodes[0].text.startswith(
        "# session: principal\n\n### memorySave\n\nAs of 2026"
    )
