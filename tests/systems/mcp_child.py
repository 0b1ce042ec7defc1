"""A memory server that speaks MCP over its pipes, written out so that it can also misbehave.

Its own folder is its first argument, its fault, if any, its second.
"""

import json
import os
import re
import sys
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TextIO

NOTES = Path(sys.argv[1], "notes.jsonl")
FAULT = sys.argv[2] if len(sys.argv) > 2 else ""
TOOLS = (
    *("remember", "remember_all", "recall", "recall_prose", "recall_blocks", "settle", "forget"),
    *("erase", "list_all", "merge"),
)


def notes() -> list[dict[str, Any]]:
    if not NOTES.exists():
        return []
    return [json.loads(line) for line in NOTES.read_text(encoding="utf-8").splitlines()]


def remember(entries: list[dict[str, Any]]) -> None:
    with NOTES.open("a", encoding="utf-8") as file:
        for entry in entries:
            file.write(json.dumps(entry) + "\n")


def found(query: str, k: int) -> list[dict[str, Any]]:
    words = set(re.findall(r"\w+", query.lower()))
    scored = [
        {**note, "score": len(words.intersection(re.findall(r"\w+", note["text"].lower())))}
        for note in notes()
    ]
    best = sorted(scored, key=lambda note: -note["score"])
    return [note for note in best if note["score"]][:k]


def erase(given: dict[str, Any]) -> int:
    """Erase by the one argument that is given, and say how many notes that was."""
    held = notes()
    match given:
        case {"subject": subject}:
            kept = [note for note in held if subject.lower() not in note["text"].lower()]
        case {"id": name}:
            kept = [note for note in held if note["id"] != name]
        case {"session": session}:
            kept = [note for note in held if note["session"] != session]
        case {"days": int(days)}:
            latest = max(date.fromisoformat(note["date"]) for note in held)
            oldest = (latest - timedelta(days=days)).isoformat()
            kept = [note for note in held if note["date"] >= oldest]
    NOTES.unlink(missing_ok=True)
    remember(kept)
    return len(held) - len(kept)


def called(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    match tool:
        case "remember":
            remember([given])
        case "remember_all":
            remember(given["entries"])
        case "recall":
            return recalled(found(given["query"], given.get("k", 1000)))
        case "recall_prose":
            hits = found(given["query"], given["k"])
            lines = [f"* {hit['text']} [{hit['id']}, {hit['score']}]" for hit in hits]
            return said(f"Found {len(hits)}:\n" + "\n".join(lines) if hits else "Nothing found.")
        case "recall_blocks":
            return {"content": [block(json.dumps(hit)) for hit in found(given["query"], 10)]}
        case "erase":
            return said(f"erased {erase(given)}")
        case "list_all":
            return {**said("see there"), "structuredContent": {"notes": notes()}}
        case "merge":
            held = {note["text"]: note for note in reversed(notes())}
            NOTES.unlink(missing_ok=True)
            remember(list(reversed(held.values())))
        case "forget":
            NOTES.unlink(missing_ok=True)
        case "settle":
            NOTES.with_name("settled").write_text("yes", encoding="utf-8")
        case _:
            return {**said(f"no tool {tool}"), "isError": True}
    return said("done")


def recalled(hits: list[dict[str, Any]]) -> dict[str, Any]:
    match FAULT:
        case "dies":
            written("out of memory in the recall index", sys.stderr)
            os._exit(3)
        case "hangs":
            time.sleep(600)
        case "prose":
            return said("I found a few things!")
        case "fails":
            return {**said("the index is locked"), "isError": True}
        case "no-list":
            return said(json.dumps({"hits": None}))
        case "text-only":
            return said(json.dumps({"hits": hits}))
    return {**said("see the structured content"), "structuredContent": {"hits": hits}}


def block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def said(text: str) -> dict[str, Any]:
    return {"content": [block(text)]}


def answered(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "child", "version": "7.1"},
            }
        case "tools/list":
            listed = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            # In two pages, as a server with many tools does.
            if "cursor" not in params:
                return {"tools": listed[:3], "nextCursor": "more"}
            return {"tools": listed[3:]}
        case _:
            return called(params["name"], params.get("arguments", {}))


def written(line: str, where: TextIO) -> None:
    where.write(f"{line}\n")
    where.flush()


def main() -> None:
    if FAULT == "mute":
        written("waiting for a licence", sys.stderr)
        time.sleep(600)
    if FAULT == "stillborn":
        written("no such model: tiny-embed", sys.stderr)
        sys.exit(2)
    Path("pid").write_text(str(os.getpid()), encoding="utf-8")
    if FAULT == "chatty":
        written("Loading… done", sys.stdout)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answered(message["method"], message.get("params", {}))
        written(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), sys.stdout)


if __name__ == "__main__":
    main()
