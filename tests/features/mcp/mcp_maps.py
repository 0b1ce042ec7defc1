"""Maps of the tests' own MCP servers."""

import sys
from pathlib import Path

import yaml

CHILD = Path(__file__).with_name("mcp_child.py")


def child_map(folder: Path, *faults: str, **changed: object) -> Path:
    """A map of `mcp_child.py`, with a fault or none; what is given replaces a section or, None,
    removes it."""
    sections: dict[str, object] = {
        "transport": "mcp",
        "server": {"command": [sys.executable, "-I", "-S", str(CHILD), "{state_dir}", *faults]},
        "ingest": {
            "tool": "remember_all",
            "batch": 3,
            "arguments": {"entries": [{"id": "{id}", "text": "{text}"}]},
        },
        "search": {
            "tool": "recall",
            "arguments": {"query": "{question}", "k": "{k}"},
            "results": "hits",
            "text": "text",
            "id": "id",
            "score": "score",
        },
        "snapshots": "copy",
    } | changed
    written = {key: value for key, value in sections.items() if value is not None}
    path = folder / "child.yaml"
    path.write_text(yaml.safe_dump(written), encoding="utf-8")
    return path
