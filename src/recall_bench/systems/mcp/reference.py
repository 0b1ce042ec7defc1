"""npm's reference memory server: a knowledge graph in one file, searched letter by letter.

True limits: it finds the notes that hold the letters of a query, wherever in a word, and ranks
nothing. So the question is put word by word and the ranking is ours; see `keywords`. It reads and
writes its whole file at every call.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from recall_bench.core.memory import MemorySystem
from recall_bench.errors import UsageError

REFERENCE_NAME = "mcp-server-memory"
REFERENCE_FOLDER_VARIABLE = "RECALL_BENCH_MCP_SERVER_MEMORY"
"""The environment variable that names the folder npm installed the server into."""

_REFERENCE_MAP = Path(__file__).with_name("servers") / f"{REFERENCE_NAME}.yaml"
_REFERENCE_PACKAGE = Path("node_modules", "@modelcontextprotocol", "server-memory")


def build_reference_server(config: Mapping[str, object]) -> MemorySystem:
    """The system, or UsageError that says what is missing. The one setting is `k`."""
    from recall_bench.systems.mcp.server_map import read_server_map
    from recall_bench.systems.mcp.system import McpSystem, require_mcp

    require_mcp()
    package = _find_package()
    node = shutil.which("node")
    if node is None:
        raise UsageError(
            f"{REFERENCE_NAME} needs the program node, which is not on the PATH; install it"
        )
    found = read_server_map(_REFERENCE_MAP)
    command = (node, str(package / "dist" / "index.js"))
    spec = msgspec.structs.replace(
        found,
        server=msgspec.structs.replace(found.server, command=command),
        k=_read_k(config, found.k),
    )
    version = str(json.loads((package / "package.json").read_text(encoding="utf-8"))["version"])
    return McpSystem(spec, path=_REFERENCE_MAP, name=REFERENCE_NAME, version=version)


def _find_package() -> Path:
    folder = Path(os.environ.get(REFERENCE_FOLDER_VARIABLE) or Path(".products", REFERENCE_NAME))
    package = (folder / _REFERENCE_PACKAGE).resolve()
    if not (package / "dist" / "index.js").is_file():
        raise UsageError(
            f"{REFERENCE_NAME} is not installed in {folder}; make product NAME={REFERENCE_NAME}, or let {REFERENCE_FOLDER_VARIABLE} name "
            "the folder that npm installed @modelcontextprotocol/server-memory into"
        )
    return package


def _read_k(config: Mapping[str, object], default: int) -> int:
    unknown = sorted(set(config) - {"k"})
    if unknown:
        raise UsageError(f"{REFERENCE_NAME} has no setting {unknown[0]!r}; the one there is is k")
    k = config.get("k", default)
    if not isinstance(k, int) or k < 1:
        raise UsageError(f"k is {k!r}; say how many notes are given back, from 1")
    return k
