"""Targets that read settings: profiles, matrices, rules of a gate, and files about systems.

Settings become part of the plan, or of the card of a system, so that a change shows there; what is
compared here is that the same text means the same, and that no text ends in a traceback.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from unittest import mock

from recall_bench.core.plan import parse_ranges
from recall_bench.core.profile import read_profile
from recall_bench.core.settings import Settings, apply_overrides
from recall_bench.features.comparison.gate.gate_rules import merge_rules, read_rules_file
from recall_bench.features.comparison.matrix_file import read_matrix
from recall_bench.features.mcp.server_map import read_server_map
from recall_bench.features.selection.selectors.agent_settings import read_conf
from recall_bench.systems.transports.http_system import read_server_file
from tests.fuzz.target import FuzzTarget, Reading, make_file_target, write_files

_PROFILE = """\
persona:
  id: executive-assistant
  arcs: arcs-30d.yaml
env:
  file: keys.env
models:
  judge: offline
  reader: extractive
harness:
  adapter: bm25
  config: {k: 3}
run:
  ranges: [10d, 30d]
  seed: 7
  parallelism: 2
  maxCost: 1.5
  sample: 20
  into: runs/x
generate:
  days: 30
  temperature: 0.5
"""
_KEYS = "# keys\nexport RECALL_BENCH_FUZZ=one\nRECALL_BENCH_FUZZ_TWO='two words'\n\nnot a line\n"
_MATRIX = """\
name: three
into: runs/matrix
run:
  ranges: {start: 10, end: 30, step: 10}
systems:
  - bm25
  - name: other
    adapter: hybrid
    config: {k: 4}
    run: {timeout: 30}
seeds: [1, 2]
settings:
  - name: long
    ranges: [30d]
baseline: bm25
limits: {maxCost: 3, maxCalls: 100}
executor: local
"""
_GATE = """\
minScore: 40
minCategory: {factual-recall: 50, synthesis: 20.5}
maxInvented: 10
margin: 2
maxLeaks: 0
"""
_SERVER = """\
transport: http
server:
  command: [python, "{here}/server.py", "--port", "{port}"]
  env: {A: b}
  health: /health
  ready_timeout_s: 5
  max_shards: 2
  config: {"conf/a.ini": "port = {port}"}
"""
_MAP = """\
transport: mcp
server:
  command: [python, "{here}/server.py", "{state_dir}"]
ingest:
  tool: remember
  batch: 3
  arguments: {entries: [{id: "{id}", text: "{text}"}]}
search:
  tool: recall
  arguments: {query: "{question}", k: "{k}"}
  results: hits
  text: text
  id: id
  score: score
snapshots: copy
"""
_CONF = (
    "MEMORY_RECALL_SCHEME=single\n# a comment\nexport MEMORY_RECALL_MODELS='openai:x'\n"
    'MEMORY_RECALL_PRESEARCH="on" # yes\nOTHER=1\n'
)


def _look_at(name: str, read: Callable[[Path], object]) -> Callable[[Path], Reading]:
    def look(folder: Path) -> Reading:
        found = read(folder / name)
        return Reading(found, found)

    return look


def _read_profile(path: Path) -> object:
    with mock.patch.dict(os.environ):
        given = read_profile(path)
    settings = apply_overrides(Settings(), given)
    parse_ranges(settings.ranges, 1000)
    return asdict(settings)


def _read_rules(path: Path) -> object:
    return merge_rules(read_rules_file(path, "--rules"))


def list_settings_targets() -> Sequence[FuzzTarget]:
    """Every file of settings."""
    files: dict[str, tuple[dict[str, str], Callable[[Path], object]]] = {
        "profile": ({"p.yaml": _PROFILE, "keys.env": _KEYS}, _read_profile),
        "matrix": ({"m.yaml": _MATRIX}, read_matrix),
        "rules of a gate": ({"gate.yaml": _GATE}, _read_rules),
        "file of an HTTP server": ({"server.yaml": _SERVER}, read_server_file),
        "map of an MCP server": ({"map.yaml": _MAP}, read_server_map),
        "conf of a recall agent": ({"agent.conf": _CONF}, read_conf),
    }
    return [
        make_file_target(name, write_files(content), _look_at(next(iter(content)), read))
        for name, (content, read) in files.items()
    ]
