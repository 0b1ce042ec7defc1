"""What answers the requests in a folder, as a person, an agent or a batch service would."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

Writer = Callable[[str, str], str]
"""Makes the reply to a system and a user text."""


def serve_folder(folder: Path, write: Writer) -> int:
    """Reply to every request that waits; how many there were.

    One that another process took its reply for in the meantime no longer waits.
    """
    count = 0
    for path in sorted((folder / "requests").glob("*.json")):
        try:
            request = json.loads(path.read_bytes())
        except FileNotFoundError:
            continue
        put_reply(folder / request["reply"], write(request["system"], request["user"]))
        count += 1
    return count


def put_reply(path: Path, text: str | bytes) -> None:
    """Write a reply that has been there for a while, as one that was renamed into place may be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    beside.write_bytes(text.encode() if isinstance(text, str) else text)
    old = time.time() - 60
    os.utime(beside, (old, old))
    beside.replace(path)


def serve_batch(folder: Path, write: Writer, *, name: str = "batch_1_output.jsonl") -> int:
    """Reply to every request of every file in one output file, the last request first."""
    lines = [
        json.loads(line)
        for path in sorted(folder.glob("batch-*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    results = [
        make_result(
            line["custom_id"], write(*(each["content"] for each in line["body"]["messages"]))
        )
        for line in reversed(lines)
    ]
    (folder / name).write_text("".join(results))
    return len(lines)


def make_result(key: str, text: str, *, tokens: tuple[int, int] = (1000, 100)) -> str:
    """One line of an output file."""
    body = {
        "object": "chat.completion",
        "model": "gpt-4o-2024-08-06",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        ],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
        },
    }
    response = {"status_code": 200, "request_id": f"req_{key}", "body": body}
    result = {"id": f"batch_req_{key}", "custom_id": key, "response": response, "error": None}
    return json.dumps(result) + "\n"
