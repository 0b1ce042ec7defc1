"""A program that speaks in lines of JSON, and misbehaves as told.

    python command_child.py [FAULT…]

It answers with the line that shares most words with the question, or with `everything`. It needs
only the standard library, so that it starts quickly. A FAULT is `what` or `what:N`, for the Nth
question; the environment's FAULTS may name more, so that the command stays the same:

    die:N     is killed            exit:N    writes to standard error and ends with code 3
    hang:N    never replies        freeze:N  stops listening altogether
    say:N     prints a remark      stray:N   replies to a request that nobody made
    busy:N    asks to come back    odd:N     replies with a number for an answer
    deep:N    nests its reply by 100,000 levels
    late:N    replies when the next question comes
    heir:N    ends at once and leaves the reply to a child
    close:N   closes its output    spawn     starts a child that outlives it, if it may
    deaf      ignores the end of its standard input, and SIGTERM
    tells     is no fault: it says what it holds
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Program:
    def __init__(self, faults: list[tuple[str, int]]) -> None:
        self.faults = faults
        self.memories: dict[str, list[str]] = {}
        self.saved: dict[str, list[str]] = {}
        self.asked = 0
        self.names = 0
        self.late: dict[str, Any] | None = None

    def name(self) -> str:
        self.names += 1
        return f"m{self.names}"

    def health(self, body: dict[str, Any]) -> dict[str, Any]:
        told = {"name": "child", "version": "1", "snapshots": True, "max_concurrency": 4}
        return {**told, "inspects": True} if ("tells", 0) in self.faults else told

    def inspect(self, body: dict[str, Any]) -> dict[str, Any]:
        days = self.memories[body["memory"]]
        return {"days": [*range(1, len(days) + 1)], "bytes": sum(map(len, days))}

    def open(self, body: dict[str, Any]) -> dict[str, Any]:
        name = self.name()
        self.memories[name] = []
        return {"memory": name}

    def ingest(self, body: dict[str, Any]) -> dict[str, Any]:
        self.memories[body["memory"]].append(body["content"])
        return {}

    def settle(self, body: dict[str, Any]) -> dict[str, Any]:
        return {}

    def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["question"] == "everything":
            return {"answer": "".join(self.memories[body["memory"]])}
        words = {word for word in body["question"].lower().strip("?").split() if len(word) > 3}
        days = self.memories[body["memory"]]
        lines = [line for day in days for line in day.splitlines() if line.strip()]
        best = max(lines, key=lambda line: sum(word in line.lower() for word in words), default="")
        return {"answer": best, "passages": [{"text": best}]}

    def save(self, body: dict[str, Any]) -> dict[str, Any]:
        name = self.name()
        self.saved[name] = list(self.memories[body["memory"]])
        return {"snapshot": name}

    def restore(self, body: dict[str, Any]) -> dict[str, Any]:
        name = self.name()
        self.memories[name] = list(self.saved[body["snapshot"]])
        return {"memory": name}

    def drop(self, body: dict[str, Any]) -> dict[str, Any]:
        del self.saved[body["snapshot"]]
        return {}

    def close(self, body: dict[str, Any]) -> dict[str, Any]:
        del self.memories[body["memory"]]
        return {}

    def reply(self, request: dict[str, Any]) -> dict[str, Any] | None:
        reply: dict[str, Any] = {"id": request["id"]}
        fault = self.fault() if request["do"] == "ask" else ""
        if fault == "hang":
            return None
        if fault == "late":
            self.late = request
            return None
        if fault == "busy":
            return {**reply, "error": {"kind": "busy", "message": "not now"}}
        if fault == "deep":
            nested = '{"a":' * 100_000 + "1" + "}" * 100_000
            line = (
                f'{{"body": {{"answer": "}}{{", "tool_calls": [{nested}]}}, "id": {reply["id"]}}}\n'
            )
            sys.stdout.buffer.write(line.encode())
            sys.stdout.buffer.flush()
            return None
        if fault == "odd":
            return {**reply, "body": {"answer": 7}}
        if fault == "stray":
            return {**reply, "id": 4711}
        body = getattr(self, request["do"])(request.get("body", {}))
        return {**reply, "body": body}

    def fault(self) -> str:
        self.asked += 1
        fault = next((what for what, call in self.faults if call == self.asked), "")
        match fault:
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                sys.stderr.write("loading the index\nno such index: ärger\n")
                sys.exit(3)
            case "freeze":
                time.sleep(600)
            case "say":
                sys.stdout.buffer.write("Loading the model …\n".encode())
            case "heir":
                if os.fork():
                    os._exit(0)
                time.sleep(0.3)
            case "close":
                os.close(1)
                time.sleep(600)
        return fault


def write(reply: dict[str, Any] | None) -> None:
    if reply is not None:
        sys.stdout.buffer.write(json.dumps(reply, ensure_ascii=False).encode() + b"\n")
        sys.stdout.buffer.flush()


def main() -> None:
    words = [*sys.argv[1:], *os.environ.get("FAULTS", "").split()]
    faults = [(word.partition(":")[0], int(word.partition(":")[2] or 0)) for word in words]
    kinds = {what for what, _ in faults}
    if "deaf" in kinds:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "spawn" in kinds:
        command = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
        grandchild = subprocess.Popen(command).pid
    else:
        grandchild = os.getpid()
    if "PIDS" in os.environ:
        with Path(os.environ["PIDS"]).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {grandchild}\n")
    program = Program(faults)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["do"] == "ask" and program.late is not None:
            late, program.late = program.late, None
            write(program.reply(late))
        write(program.reply(request))
    while "deaf" in kinds:
        time.sleep(600)


if __name__ == "__main__":
    main()
