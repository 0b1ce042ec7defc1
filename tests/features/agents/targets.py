"""How each test agent is named over each way to reach one."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import recall_bench
from tests.faulty import agent_program
from tests.faulty.agent_server import AgentServer

PROGRAM = f"{shlex.quote(sys.executable)} -I -S {shlex.quote(agent_program.__file__)}"
WAYS = ("openai", "a2a", "agent")


def name_agent(way: str, behaviour: str, agents: AgentServer) -> str:
    """The `--adapter` of a test agent."""
    match way:
        case "openai":
            return f"openai:{agents.url}/{behaviour}/v1"
        case "agent":
            return f"agent:{PROGRAM} {behaviour} --pause {agents.pause_s}"
    return f"a2a:{agents.url}/{behaviour}/{way}"


def run_garden(garden: Path, into: Path, adapter: str, **given: Any) -> int:
    """Run the six days, and return the exit code."""
    usual: dict[str, Any] = {"ranges": ("6d",), "heatmap_png": False, "allow_gaps": True}
    result = recall_bench.run(adapter=adapter, data=garden, into=into, **usual | given)
    return result.exit_code


def name_garden_run(
    garden: Path,
    into: Path,
    adapter: str,
    *,
    config: Mapping[str, object] | None = None,
    ingest_timeout_ms: int | None = None,
) -> list[object]:
    """The words of the command that does the same."""
    return [
        *("run", "--adapter", adapter, "--data", garden, "--into", into, "--ranges", "6d"),
        *("--no-heatmap-png", "--no-page", "--allow-gaps"),
        *(() if ingest_timeout_ms is None else ("--ingest-timeout", ingest_timeout_ms)),
        *(f"--config={name}={json.dumps(value)}" for name, value in (config or {}).items()),
    ]


class Journal:
    """What a run recorded."""

    def __init__(self, folder: Path) -> None:
        lines = (folder / "journal.jsonl").read_text().splitlines()
        self.events: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def list_events(self, kind: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def card(self) -> dict[str, Any]:
        """The system's."""
        found: dict[str, Any] = self.events[0]["plan"]["system"]
        return found

    @property
    def answers(self) -> dict[str, str]:
        """The answer to each trial."""
        return {
            json.dumps(each["trial"]): each["answer"]["text"]
            for each in self.list_events("answered")
        }

    @property
    def days(self) -> list[int]:
        """The days that were fed."""
        return [each["day"] for each in self.list_events("ingested")]

    @property
    def exchanges(self) -> list[dict[str, Any]]:
        """The transcript."""
        return [each["exchange"] for each in self.list_events("exchanged")]

    @property
    def failures(self) -> Counter[str]:
        """The faults of questions."""
        return Counter(each["fault"] for each in self.list_events("not_answered"))
