"""Agents that are started for each memory, as a YAML file says."""

import sys
from pathlib import Path

import pytest

import recall_bench
from recall_bench.core.errors import UsageError
from recall_bench.core.settings import Settings
from recall_bench.systems.resolver import resolve_system
from tests.commands import Invoke
from tests.features.agents.targets import Journal, run_garden

SERVER = f"""server:
  command: ["{sys.executable}", "-m", tests.faulty.agent_server, --port, "{{port}}"]
  env: {{PYTHONPATH: "{Path(recall_bench.__file__).parents[1]}:{Path(__file__).parents[3]}"}}
  health: /notes/v1/models
"""

DYING = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Agent(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        print("out of memory", flush=True)
        os._exit(3)

HTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
"""


def write_file(folder: Path, transport: str, place: str, more: str = "") -> Path:
    path = folder / "helper.yaml"
    path.write_text(f"transport: {transport}\npath: {place}\n{SERVER}{more}")
    return path


@pytest.mark.parametrize(("transport", "place"), [("openai", "/notes/v1"), ("a2a", "/notes/a2a")])
def test_each_memory_has_an_agent_of_its_own(
    transport: str, place: str, garden: Path, tmp_path: Path
) -> None:
    # No user id, so that a server with two memories would mix them.
    more = "agent: {user: null}\n" if transport == "openai" else "agent: {metadata: {}}\n"
    adapter = write_file(tmp_path, transport, place, more)

    code = run_garden(garden, tmp_path / "run", str(adapter), ranges=("2d", "3d"))

    journal = Journal(tmp_path / "run")
    assert code == 0
    assert journal.days == [1, 2, 1, 2, 3]
    assert len(journal.answers) == 5
    assert len(journal.exchanges) == 10
    assert journal.card["name"] == ("helper" if transport == "openai" else "notes test agent")
    assert "url" not in journal.card["config"]
    assert journal.card["isolation"] == {"kind": "process"}
    assert not any("separated" in caveat for caveat in journal.card["caveats"])


def test_an_agent_that_dies_is_quoted(tmp_path: Path, garden: Path, invoke: Invoke) -> None:
    (tmp_path / "agent.py").write_text(DYING)
    adapter = tmp_path / "dying.yaml"
    adapter.write_text(
        f'transport: openai\nserver: {{command: ["{sys.executable}", "{{here}}/agent.py", '
        '"{port}"], health: /}\n'
    )

    shown = invoke("run", "--adapter", str(adapter), "--data", str(garden), "--ranges", "6d",
                   "--allow-gaps", "--into", str(tmp_path / "run"))  # fmt: skip

    (exchange,) = Journal(tmp_path / "run").exchanges
    assert shown.code == 4
    assert "the agent died during the run: it ended with code 3" in shown.err
    assert "out of memory" in shown.err
    assert exchange["day"] == 1


DEAF = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        reply = json.dumps({"choices": [{"message": {"content": "Noted."}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

HTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
"""


def test_an_agent_needs_no_address_but_that_of_messages(tmp_path: Path, garden: Path) -> None:
    (tmp_path / "agent.py").write_text(DEAF)
    adapter = tmp_path / "deaf.yaml"
    command = f'["{sys.executable}", "{{here}}/agent.py", "{{port}}"]'
    adapter.write_text(
        f"transport: openai\nserver: {{command: {command}}}\nagent: {{version: 3}}\n"
    )

    code = run_garden(garden, tmp_path / "run", str(adapter))

    journal = Journal(tmp_path / "run")
    assert code == 0
    assert len(journal.answers) == 6
    assert journal.card["version"] == "3"


def test_a_wrong_key_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path, "openai", "/notes/v1", "agents: {}\n")

    with pytest.raises(UsageError, match=r"agents is not a key here; there are .*agent"):
        resolve_system(Settings(adapter=str(path)))
