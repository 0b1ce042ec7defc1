"""Agents with known faults, from start to report, over each way to reach an agent."""

from pathlib import Path

import pytest

from tests.faulty.agent_server import AgentServer
from tests.features.agents.targets import WAYS, Journal, name_agent, run_garden
from tests.gardener import PLANTS

each_way = pytest.mark.parametrize("way", WAYS)
each_dialect = pytest.mark.parametrize("way", [*WAYS, "a2a-0.3"])

LINES = {f"I planted {plant} in bed number {7 * day}." for day, plant in enumerate(PLANTS, 1)}


def run_agent(
    behaviour: str, way: str, agents: AgentServer, garden: Path, into: Path, **given: object
) -> tuple[int, Journal]:
    code = run_garden(garden, into, name_agent(way, behaviour, agents), **given)
    return code, Journal(into)


@each_dialect
def test_an_agent_that_takes_notes_knows_every_day(
    way: str, agents: AgentServer, garden: Path, tmp_path: Path
) -> None:
    code, journal = run_agent("notes", way, agents, garden, tmp_path / "run")

    assert code == 0
    assert set(journal.answers.values()) <= LINES
    assert len(journal.answers) == 6
    # Each message is recorded at once, before the day or the answer that it belongs to.
    kinds = [each["type"] for each in journal.events]
    fed = [kind for kind in kinds if kind in ("exchanged", "metered", "ingested", "answered")]
    told, asked = (["exchanged", "metered", kind] for kind in ("ingested", "answered"))
    assert fed == [*told * 6, *asked * 6]
    assert [each["day"] for each in journal.exchanges if "day" in each] == [1, 2, 3, 4, 5, 6]
    assert sum("question" in each for each in journal.exchanges) == 6
    assert len({each["conversation"] for each in journal.exchanges}) == 12
    stages = [each["stage"] for each in journal.list_events("metered")]
    assert stages == [*["ingest"] * 6, *["query"] * 6]
    assert all(each["usage"]["calls"] == 1 for each in journal.list_events("metered"))
    assert journal.card["caveats"]


@each_dialect
def test_a_streamed_reply_is_read_to_the_end(
    way: str, agents: AgentServer, garden: Path, tmp_path: Path
) -> None:
    config = {} if way == "agent" else {"stream": True}

    code, journal = run_agent("streams", way, agents, garden, tmp_path / "run", config=config)

    assert code == 0
    assert set(journal.answers.values()) <= LINES
    assert len(journal.answers) == 6


@each_way
def test_an_echo_is_no_memory(way: str, agents: AgentServer, garden: Path, tmp_path: Path) -> None:
    code, journal = run_agent("echo", way, agents, garden, tmp_path / "run")

    assert code == 0
    said = sorted(journal.answers.values())
    assert said == sorted(
        f"Today is Sunday, 2025-04-06. Which bed took the {plant}?" for plant in PLANTS[:6]
    )


@each_way
def test_a_forgetful_agent_knows_the_last_day_alone(
    way: str, agents: AgentServer, garden: Path, tmp_path: Path
) -> None:
    code, journal = run_agent("forgetful", way, agents, garden, tmp_path / "run")

    assert code == 0
    assert set(journal.answers.values()) == {"I planted fennel in bed number 42."}
    assert len(journal.answers) == 6


@each_way
def test_a_slow_agent_is_timed(way: str, agents: AgentServer, garden: Path, tmp_path: Path) -> None:
    code, journal = run_agent("slow", way, agents, garden, tmp_path / "run")

    assert code == 0
    assert set(journal.answers.values()) <= LINES
    assert all(each["seconds"] >= agents.pause_s for each in journal.list_events("answered"))
    assert all(each["seconds"] >= agents.pause_s for each in journal.exchanges)


@each_way
def test_an_agent_that_crashes_at_the_fifth_day_is_recorded_up_to_there(
    way: str, agents: AgentServer, garden: Path, tmp_path: Path
) -> None:
    code, journal = run_agent("crashes", way, agents, garden, tmp_path / "run")

    assert code == 4
    assert journal.days == [1, 2, 3, 4]
    assert journal.answers == {}
    assert journal.exchanges[-1]["day"] == 5
    if way == "agent":
        assert "AgentCrash: message 5 is too much for me" in journal.exchanges[-1]["fault"]
        assert [each["day"] for each in journal.list_events("feed_failed")] == [5]
    else:
        assert journal.exchanges[-1]["fault"].startswith("SystemGone: http://127.0.0.1")


@each_dialect
def test_an_agent_that_never_stops_calling_tools_costs_no_more_than_its_time(
    way: str, agents: AgentServer, garden: Path, tmp_path: Path
) -> None:
    config = {"stream": True} if way == "a2a-0.3" else {}

    code, journal = run_agent(
        "endless", way, agents, garden, tmp_path / "run", config=config, ingest_timeout_ms=400
    )

    if way == "openai":
        # It was told everything, and has no text for any question.
        assert code == 5
        assert journal.failures.keys() == {"NotAnAnswer"}
        assert all(each["tool_calls"] == 1 for each in journal.exchanges)
        return
    assert code == 4
    (failure,) = journal.list_events("feed_failed")
    wanted = "NotAnAnswer" if way == "a2a-0.3" else "SystemTimeout"
    assert (failure["day"], failure["fault"]) == (1, wanted)
    assert journal.exchanges[-1]["fault"]
