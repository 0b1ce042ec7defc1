"""Every test agent, over every way to reach one: killed, continued, and reported for what it is."""

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.reporting.run_brief import render_brief
from tests.engine.result_views import done_twice
from tests.faulty.agent_server import AgentServer
from tests.features.agents.targets import (
    WAYS,
    Journal,
    name_agent,
    name_garden_run,
    run_garden,
)
from tests.thoroughness import IS_EXHAUSTIVE
from tests.warm_commands import run_command


@dataclass(frozen=True)
class KilledAgent:
    """A test agent, the event after which its run is killed, and how it has to be reported."""

    behaviour: str
    kind: str
    count: int
    code: int
    said: str


FEED_FAILED = "Feed failed gardener at 6d, day {day} (ingest): {fault}"


USUAL = {
    "openai": ("forgetful", "slow", "streams", "endless"),
    "a2a": ("echo", "slow", "crashes", "endless"),
    "agent": ("slow", "crashes"),
}
"""Each agent over one way, and over those where it shows in another way.

Each message to a program is a process.
"""


def list_agents(way: str) -> list[KilledAgent]:
    """The test agents as they show over one way to reach them."""
    unfinished = "UNFINISHED (6 of 6 trials open)"
    crashed = FEED_FAILED.format(day=5, fault="SystemFault: python agent_program.py ended")
    too_late = FEED_FAILED.format(day=1, fault="SystemTimeout")
    agents = [
        KilledAgent("echo", "Answered", 3, 0, "knows nothing: 17 of 100 (9 to 55)"),
        KilledAgent("forgetful", "Answered", 3, 0, "by so few questions: 31 of 100 (17 to 100)"),
        KilledAgent("slow", "Answered", 3, 0, "100 of 100"),
        KilledAgent("streams", "Answered", 3, 0, "100 of 100"),
        KilledAgent("crashes", "Ingested", 3, 4, crashed if way == "agent" else unfinished),
        # A chat that only calls tools was told everything, and answers nothing.
        KilledAgent("endless", "NotAnswered", 3, 5, "6 × NotAnAnswer")
        if way == "openai"
        else KilledAgent("endless", "FeedFailed", 1, 4, too_late),
    ]
    return [each for each in agents if IS_EXHAUSTIVE or each.behaviour in USUAL[way]]


@pytest.mark.parametrize("way", WAYS)
def test_each_agent_goes_on_after_a_kill_and_is_reported_for_what_it_is(
    way: str, agents: AgentServer, garden: Path, tmp_path: Path
) -> None:
    for each in list_agents(way):
        into, adapter = tmp_path / each.behaviour, name_agent(way, each.behaviour, agents)
        given: dict[str, Any] = {}
        if each.behaviour == "streams" and way != "agent":
            given["config"] = {"stream": True}
        if each.behaviour == "endless":
            given["ingest_timeout_ms"] = 1000
        words = name_garden_run(garden, into, adapter, **given)
        killed = run_command(words, events=each.count, kind=each.kind)
        assert killed == -signal.SIGKILL, each

        code = run_garden(garden, into, adapter, **given)

        folder, journal = RunFolder.open(into), Journal(into)
        brief = " ".join(render_brief(folder, summarise(folder)).split())
        assert (each.behaviour, code) == (each.behaviour, each.code)
        assert each.said in brief
        assert len(journal.list_events("run_resumed")) == 1
        assert done_twice(into) == []
        if each.code == 0:
            assert len(journal.answers) == len(journal.list_events("answered")) == 6
        # What was sent before the kill was paid for too.
        replies = sum(exchange.get("fault") is None for exchange in journal.exchanges)
        assert folder.service.metered_total.calls == replies
        if each.behaviour == "slow":
            assert (folder.service.compute_latency(0.5) or 0.0) >= agents.pause_s
