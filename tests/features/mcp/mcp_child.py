"""A memory server that speaks MCP over its pipes, written out so that it can also misbehave.

Its own folder is its first argument, its fault, if any, its second. It is started for each memory:
to import `pathlib` and `typing` would take longer than all the rest.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from datetime import date, timedelta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

NOTES = f"{sys.argv[1]}/notes.jsonl"
FAULT = sys.argv[2] if len(sys.argv) > 2 else ""
TOOLS = (
    *("remember", "remember_all", "recall", "recall_prose", "recall_blocks", "settle", "forget"),
    *("erase", "list_all", "merge"),
)


def notes() -> list[dict[str, Any]]:
    try:
        with open(NOTES, encoding="utf-8") as file:  # noqa: PTH123
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def clear() -> None:
    try:  # noqa: SIM105 - to import `contextlib` takes as long
        os.unlink(NOTES)  # noqa: PTH108
    except FileNotFoundError:
        pass


def write(place: str, text: str) -> None:
    with open(place, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)


def remember(entries: list[dict[str, Any]]) -> None:
    with open(NOTES, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.writelines(json.dumps(entry) + "\n" for entry in entries)


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
    clear()
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
            clear()
            remember(list(reversed(held.values())))
        case "forget":
            clear()
        case "settle":
            write(f"{sys.argv[1]}/settled", "yes")
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
    write("pid", str(os.getpid()))
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
