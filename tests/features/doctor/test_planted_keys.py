"""A key goes where it was sent and nowhere else: planted everywhere, found in nothing written."""

import json
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from recall_bench.core import redaction
from recall_bench.core.folders import find_cache_folder
from recall_bench.features.doctor import doctor
from recall_bench.reporting.pages import document
from tests.commands import Invoke

MARK = "qzhidden"
KEY = f"{MARK}-3f9a1c77"
SHORT = "qz#hdn7!"

ADAPTER = """
import logging, os, sys

class Adapter:
    def __init__(self, **config):
        self.config = config
        self.key = config.get("api_key") or os.environ.get("GARDEN_API_KEY") or "{shape}"

    def setup(self):
        print("connecting with", self.key)
        print("connecting with", self.key, file=sys.stderr)
        logging.getLogger("garden").warning("header: Bearer %s", self.key)

    def ingest_day(self, day, content, metadata):
        pass

    def finalize_ingestion(self):
        pass

    def query(self, question):
        self.asked = getattr(self, "asked", 0) + 1
        if self.asked % 3 == 1:
            raise ValueError(f"401 for {self.key} at http://ada:{self.key}@host/v1?token={self.key}")
        if self.asked % 3 == 2:
            raise TimeoutError(f"busy: api_key={self.key}")
        return {
            "answer": f"Bed 7, and the key is {self.key}.",
            "passages": [{"text": f"said {self.key}", "source": f"http://ada:{self.key}@host"}],
            "tool_calls": [{"name": "search", "token": self.key, "arguments": [self.key]}],
        }

    def teardown(self):
        raise RuntimeError(f"cannot close {self.key}")
""".replace("{{", "{").replace("}}", "}")

PROGRAM = """
import json, sys

key = sys.argv[-1].rpartition("=")[2]
for line in sys.stdin:
    request = json.loads(line)
    print("request with", key, file=sys.stderr, flush=True)
    body = {"name": "program", "version": f"1 with {key}"} if request["do"] == "health" else {}
    if request["do"] == "open":
        body = {"memory": "m"}
    if request["do"] == "ask":
        body = {"answer": f"The key is {key}."}
    print(json.dumps({"id": request["id"], "body": body}), flush=True)
"""


@dataclass(frozen=True)
class Plant:
    """Where a key is planted: the words of the command, variables, and files beside it."""

    words: tuple[str, ...]
    environ: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    command: str = "run"
    shape: str = "none"
    is_run: bool = True
    """Whether the command gets as far as a run folder."""
    is_read: bool = False
    """Whether the other commands read the folder then: they have nothing but what is in it, which
    is looked at in every case."""


SHAPES = {
    "openai": "sk-proj-qzhidden0123456789abc",
    "github": "ghp_qzhidden0123456789abcdef",
    "github fine": "github_pat_qzhidden0123456789abcdef",
    "aws": "AKIAQZHIDDEN01245678",
    "google": "AIzaqzhidden0123456789abcdefghijklmno",
    "slack": "xoxb-qzhidden-0123456789",
    "token of the web": "eyJhbGciOiJIUzI1NiIsInR5.eyJzdWIiOiJwbGFudGVkIn0.qzhidden0123",
    "assigned": "api_key=qzhidden0123456789ab",
}

PROFILE = """
harness: {adapter: in/adapter.py, config: {api_key: KEY, k: 3}}
env: {file: in/keys.env}
run: {ranges: [5d]}
""".replace("KEY", KEY)

MATRIX = """
name: m
run: {ranges: [5d], data: DATA, heatmapPng: false}
systems:
  - {name: mine, adapter: in/adapter.py, config: {api_key: KEY}}
  - {name: theirs, adapter: "http://ada:KEY@127.0.0.1:9"}
""".replace("KEY", KEY)

PLANTS = {
    "config": Plant(("--adapter", "in/adapter.py", "--config", f"api_key={KEY}"), is_read=True),
    "short password": Plant(
        ("--adapter", "in/adapter.py", "--config", f"api_key={SHORT}", "--config", "k=3")
    ),
    "nested config": Plant(
        ("--adapter", "in/adapter.py", "--config", f"auth={{client: ada, accessToken: {KEY}}}")
    ),
    "address in a config": Plant(
        ("--adapter", "in/adapter.py", "--config", f"url=http://ada:{KEY}@host/?api_key={KEY}")
    ),
    "variable": Plant(
        ("--adapter", "in/adapter.py", "--env", "GARDEN_API_KEY"),
        {"GARDEN_API_KEY": KEY},
        is_read=True,
    ),
    "flag": Plant(
        ("--adapter", f"command:{sys.executable} in/program.py --api-key={KEY}"), is_read=True
    ),
    "flag and word": Plant(("--adapter", f"command:{sys.executable} in/program.py --token {KEY}")),
    "address": Plant(("--adapter", f"http://ada:{KEY}@127.0.0.1:9"), is_run=False),
    "unknown scheme": Plant(("--adapter", f"ftp://ada:{KEY}@127.0.0.1:9"), is_run=False),
    "adapter that is none": Plant(("--adapter", f"bm25?api_key={KEY}"), is_run=False),
    "judge": Plant(("--judge", f"sk-{KEY}"), is_run=False),
    "judge's server": Plant(
        ("--judge", "openai:m", "--judge-base-url", f"http://ada:{KEY}@127.0.0.1:9/v1"),
        {"OPENAI_API_KEY": KEY},
        is_run=False,
    ),
    "plan": Plant(
        ("--adapter", "in/adapter.py", "--config", f"api_key={KEY}"), command="plan", is_run=False
    ),
    "doctor": Plant(
        ("in/adapter.py", "--seed", "7"), {"GARDEN_API_KEY": KEY}, command="doctor", is_run=False
    ),
    "profile": Plant(
        ("--profile", "in/profile.yaml"),
        files={"profile.yaml": PROFILE.replace("in/", ""), "keys.env": f"GARDEN_API_KEY={KEY}b"},
    ),
    "matrix": Plant(
        ("in/matrix.yaml",), files={"matrix.yaml": MATRIX}, command="matrix", is_run=False
    ),
    **{name: Plant(("--adapter", "in/adapter.py"), shape=shape) for name, shape in SHAPES.items()},
}


@pytest.fixture
def planted(
    invoke: Invoke, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Plant], str]:
    """Run the command of a plant, and all that reads its folder; return what was printed."""
    shared = find_cache_folder()
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GARDEN_API_KEY", raising=False)
    # Each of three answers tells the key in a way of its own: eight questions are enough.
    monkeypatch.setattr(doctor, "QUESTIONS", 2 * doctor.ABSTENTIONS)
    # What another test planted must not be known here.
    monkeypatch.setattr(redaction, "_KNOWN", redaction._KnownSecrets())
    inputs = tmp_path / "in"
    inputs.mkdir()

    def run(plant: Plant) -> str:
        files = {"adapter.py": ADAPTER.replace("{shape}", plant.shape), "program.py": PROGRAM}
        for name, text in {**files, **plant.files}.items():
            placed = text.replace("DATA", str(data))
            (inputs / name).write_text(placed.replace("in/adapter.py", str(inputs / "adapter.py")))
        for name, value in plant.environ.items():
            monkeypatch.setenv(name, value)
        words: tuple[object, ...] = plant.words
        if plant.command in ("run", "plan"):
            words = (*words, "--data", data, "--ranges", "5d")
        if plant.command == "run":
            words = (*words, "--into", "r", "--error-budget", "1")
        shown = [invoke(plant.command, *words)]
        if plant.is_run:
            assert Path("r/journal.jsonl").is_file(), shown[0].err
            again = invoke(plant.command, *words)
            assert "holds a run with other" not in again.err, (
                "the same command does not continue the run"
            )
            shown.append(again)
        if plant.is_read:
            # To put the script of pages together takes seconds, and holds nothing of a run.
            monkeypatch.setattr(document, "find_cache_folder", lambda: shared)
            reading = [
                invoke("report", "r", "--into", "page"),
                invoke("verify", "r", "--data", data, "--json"),
                invoke("export", "r"),
                invoke("compare", "r", "r", "--json"),
                invoke("view", "r", "--export", "site"),
            ]
            assert [each.code for each in reading] == [0, 0, 0, 0, 0], [e.err for e in reading]
            shown += reading
        return "".join(f"{each.out}\n{each.err}" for each in shown)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_key_is_nowhere(
    planted: Callable[[Plant], str],
    name: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    said = planted(PLANTS[name])

    marks = (MARK.encode(), MARK.upper().encode(), SHORT.encode())
    outputs = {"terminal": said.encode(), "log": caplog.text.encode()}
    for path in tmp_path.rglob("*"):
        if path.is_file() and not path.is_relative_to(tmp_path / "in"):
            outputs[str(path.relative_to(tmp_path))] = path.read_bytes()
    found = {
        place: content[max(0, content.find(mark) - 60) : content.find(mark) + 60]
        for place, content in outputs.items()
        for mark in marks
        if mark in content
    }
    assert not found
    if PLANTS[name].is_run:
        assert b"[redacted]" in outputs["r/journal.jsonl"]
    if name in ("config", "variable", *SHAPES):
        assert b"401 for none" not in outputs["r/journal.jsonl"], "no key reached the adapter"


def test_a_changed_key_continues_the_same_run(invoke: Invoke, data: Path, tmp_path: Path) -> None:
    """A key changes no answer, so it is no part of what identifies a plan."""
    (tmp_path / "adapter.py").write_text(ADAPTER)
    words = ("--data", data, "--ranges", "5d", "--into", "r", "--error-budget", "1")
    for key in (f"{KEY}01", f"{KEY}02"):
        shown = invoke("run", *words, "--adapter", "adapter.py", "--config", f"api_key={key}")
        assert "holds a run with other" not in shown.err
    first = json.loads(Path("r/journal.jsonl").read_text().splitlines()[0])
    assert first["plan"]["system"]["config"] == {"api_key": "[redacted]"}
