"""Every test agent, over every way to reach one: killed, continued, and reported for what it is."""

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recall_bench.reporting.run_brief import render_brief
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.summary import summarise
from recall_bench.testing.agent_server import AgentServer
from tests.running.result_views import done_twice
from tests.systems.agents.targets import WAYS, Journal, name_agent, run_garden

FORKS = """
import json, os, signal, sys
from pathlib import Path
from tests.systems.agents.targets import run_garden

def run_until(garden, into, adapter, settings, kind, count):
    left = [count]

    def observe(event, states):
        if type(event).__name__ == kind:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    run_garden(Path(garden), Path(into), adapter, observe=observe, **settings)

for job in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        run_until(**job)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs each job in a process of its own that kills itself; one process imports for all."""


@dataclass(frozen=True)
class KilledAgent:
    """A test agent, the event after which its run is killed, and how it has to be reported."""

    behaviour: str
    kind: str
    count: int
    code: int
    said: str


FEED_FAILED = "Feed failed gardener at 6d, day {day} (ingest): {fault}"


def list_agents(way: str) -> list[KilledAgent]:
    """The test agents as they show over one way to reach them."""
    unfinished = "UNFINISHED (6 of 6 trials open)"
    crashed = FEED_FAILED.format(day=5, fault="SystemFault: python agent_program.py ended")
    too_late = FEED_FAILED.format(day=1, fault="SystemTimeout")
    return [
        KilledAgent("echo", "Answered", 3, 0, "knows nothing: 0 of 100 (0 to 46)"),
        KilledAgent("forgetful", "Answered", 3, 0, "knows nothing: 31 of 100 (17 to 100)"),
        KilledAgent("slow", "Answered", 3, 0, "100 of 100"),
        KilledAgent("streams", "Answered", 3, 0, "100 of 100"),
        KilledAgent("crashes", "Ingested", 3, 4, crashed if way == "agent" else unfinished),
        # A chat that only calls tools was told everything, and answers nothing.
        KilledAgent("endless", "NotAnswered", 3, 5, "6 × NotAnAnswer")
        if way == "openai"
        else KilledAgent("endless", "FeedFailed", 1, 4, too_late),
    ]


@pytest.mark.parametrize("way", WAYS)
def test_each_agent_goes_on_after_a_kill_and_is_reported_for_what_it_is(
    way: str, agents: AgentServer, garden: Path, tmp_path: Path
) -> None:
    jobs: dict[KilledAgent, dict[str, Any]] = {}
    for each in list_agents(way):
        is_stream = each.behaviour == "streams" and way != "agent"
        jobs[each] = {
            "garden": str(garden),
            "into": str(tmp_path / each.behaviour),
            "adapter": name_agent(way, each.behaviour, agents),
            "settings": {
                "config": {"stream": True} if is_stream else {},
                "ingest_timeout_ms": 1000 if each.behaviour == "endless" else 60_000,
            },
            "kind": each.kind,
            "count": each.count,
        }
    killed = subprocess.run(
        (sys.executable, "-c", FORKS),
        input=json.dumps(list(jobs.values())),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert killed.stdout.split() == [str(-signal.SIGKILL)] * len(jobs)

    for each, job in jobs.items():
        into = tmp_path / each.behaviour
        code = run_garden(garden, into, job["adapter"], **job["settings"])

        folder, journal = RunFolder.open(into), Journal(into)
        brief = " ".join(render_brief(folder, summarise(folder)).split())
        assert (each.behaviour, code) == (each.behaviour, each.code)
        assert each.said in brief
        assert len(journal.list_events("run_resumed")) == 1
        assert done_twice(into) == []
        # What was sent before the kill was paid for too.
        replies = sum(exchange.get("fault") is None for exchange in journal.exchanges)
        assert folder.service.metered_total.calls == replies
        if each.behaviour == "slow":
            assert (folder.service.compute_latency(0.5) or 0.0) >= agents.pause_s
