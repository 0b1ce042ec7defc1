"""What parallel calls save when a model writes days: serial time and the time of eight calls at once.

    python benchmarks/generation.py [--days 100] [--reply-ms 200] [--parallelism 8]

A server on loopback, in this process, has OpenAI's API and answers every request after a fixed time.
`generate` writes a story of one session with it, once with one call at a time, which is the
baseline, and once with several; both folders must be the same to the byte. The time that the calls
alone take is printed too, which shows what the harness adds.
"""

import argparse
import json
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from recall_bench.features.personas.days.day_writer import generate_days
from recall_bench.features.personas.pass_request import DaysRequest

PERSONA = """\
id: bench
name: Bench
role: aide
domain: trade
team_size: 2
profile: Keeps the log.
communication_style: Plain.
sessions: [{id: team, kind: group}]
"""
STORY = """\
epoch: "2026-01-05"
arcs:
  - id: work
    type: project
    title: The work
    description: The work goes on.
    startDay: 1
    endDay: DAYS
    primarySession: team
"""


class SlowModelHandler(BaseHTTPRequestHandler):
    """Replies after a fixed time with an entry that depends on the request alone."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: with two, Nagle's delay would add to each call
    reply_s = 0.2

    def do_POST(self) -> None:
        request = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.reply_s)
        reply = json.dumps(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": "writer",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": write_entry(request.decode())},
                    }
                ],
                "usage": {"prompt_tokens": 900, "completion_tokens": 90, "total_tokens": 990},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def write_entry(request: str) -> str:
    """Sentences that depend on the requested day."""
    dated = re.search(r"for (\w+day, \d+ \w+ \d+)\.", request)
    mark = sha256(dated[1].encode() if dated else b"").hexdigest()
    words = re.findall("..", mark.translate(str.maketrans("0123456789", "ghijklmnop")))
    lines = [
        f"The {a}{b} box went to the {c}{d} shelf before noon."
        for a, b, c, d in _split_fours(words)
    ]
    return "### Boxes\n" + "\n".join(lines)


def _split_fours(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*[iter(words)] * 4, strict=True)


@contextmanager
def serve_model(reply_s: float) -> Iterator[str]:
    """The spec of a model that takes this long for a reply."""
    SlowModelHandler.reply_s = reply_s
    server = ThreadingHTTPServer(("127.0.0.1", 0), SlowModelHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"openai:writer;http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def write_story(model: str, days: int, parallelism: int) -> tuple[float, dict[str, bytes]]:
    """Write the story into a new folder; the seconds, and the files of the days."""
    with tempfile.TemporaryDirectory() as scratch:
        persona = Path(scratch, "bench")
        persona.mkdir()
        (persona / "persona.yaml").write_text(PERSONA, encoding="utf-8")
        story = STORY.replace("DAYS", str(days))
        (persona / f"arcs-{days}d.yaml").write_text(story, encoding="utf-8")
        started = time.perf_counter()
        found = generate_days(DaysRequest(persona=persona, model=model, parallelism=parallelism))
        seconds = time.perf_counter() - started
        if found.written != days:
            sys.exit(found.in_words)
        return seconds, {path.name: path.read_bytes() for path in persona.glob("memories-*/*")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--days", type=int, default=100)
    parser.add_argument("--reply-ms", type=int, default=200)
    parser.add_argument("--parallelism", type=int, default=8)
    options = parser.parse_args()
    reply_s = options.reply_ms / 1000
    with serve_model(reply_s) as model:
        write_story(model, 8, 8)  # imports happen here
        serial, one_by_one = write_story(model, options.days, 1)
        parallel, side_by_side = write_story(model, options.days, options.parallelism)
    if one_by_one != side_by_side:
        sys.exit("the two folders differ")
    calls_alone = options.days * reply_s
    print(f"{options.days} days, a model that answers in {options.reply_ms} ms")
    print(f"{'calls at once':<15}{'seconds':>9}{'calls alone':>13}{'of serial':>11}")
    print(f"{1:<15}{serial:>9.1f}{calls_alone:>13.1f}{1:>11.3f}")
    shared = calls_alone / options.parallelism
    ratio = parallel / serial
    print(f"{options.parallelism:<15}{parallel:>9.1f}{shared:>13.1f}{ratio:>11.3f}")
    print(f"an even share would be {1 / options.parallelism:.3f}; the folders are the same")


if __name__ == "__main__":
    main()
