"""A batch service on loopback that speaks OpenAI's and Anthropic's protocol, with faults by script.

    with BatchServer(write, faults=["expire"]) as server:
        ... f"openai:m;{server.openai};batch=DIR;send=yes" ...
    assert server.paid == {key: 1, …}

The n-th batch that is made has the n-th entry of `faults`, words separated by spaces:

    fail        every second request fails with status 500, or `api_error`
    expire      every second request expires
    lose        every second request has no result
    double      every result comes twice
    strange     a result has an id that was never asked
    refuse      the whole batch is found wrong (Anthropic: 400 when it is made)
    cancel      it is cancelled after every second request was run
    cut         the first time, the results end within a line
    garbage     one line of the results is no JSON
    vanish      it is made, but the connection breaks before the reply

Results always come in reverse order. It answers single calls too, as the same model would.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

Writer = Callable[[str, str], str]
JSON = dict[str, Any]


def write_nothing(_: str, user: str) -> str:
    """A reply that tells requests apart."""
    return f"heard {len(user)} characters"


class _Batch:
    def __init__(self, number: int, requests: list[JSON], faults: str, file: str | None) -> None:
        self.id = f"batch_{number}"
        self.requests = requests
        self.faults = faults.split()
        self.file = file
        self.made = datetime.now(UTC)
        self.outcomes: list[tuple[str, str, JSON]] = []
        """Of each request its id, how it ended, and the reply if it has one."""
        self.looks = 0
        self.fetches = 0

    def has(self, fault: str) -> bool:
        return fault in self.faults


class BatchServer:
    """Listens on a loopback port while its `with` block lasts."""

    def __init__(
        self,
        write: Writer = write_nothing,
        *,
        faults: Sequence[str] = (),
        looks: int = 1,
        busy: Sequence[str] = (),
    ) -> None:
        """A batch has ended at the look after `looks`; `busy` are paths refused once with 429."""
        self._write = write
        self._faults = list(faults)
        self.looks = looks
        self._busy = list(busy)
        self._lock = threading.RLock()
        self._files: dict[str, bytes] = {}
        self.batches: list[_Batch] = []
        self.paid: Counter[str] = Counter()
        """How often each request was run, by its id."""
        self.calls: list[str] = []
        """Method and path of every request that came."""
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []

    @property
    def anthropic(self) -> str:
        """The base URL of Anthropic's protocol."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai(self) -> str:
        """The base URL of OpenAI's protocol."""
        return f"{self.anthropic}/v1"

    def __enter__(self) -> Self:
        connection = type("Connection", (_Connection,), {"server_state": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), connection)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def respond(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> "_Answer":
        """What goes back for a request."""
        with self._lock:
            place = urlsplit(path)
            self.calls.append(f"{method} {place.path}")
            self.headers.append(headers)
            self.bodies.append(body)
            for busy in self._busy:
                if busy in f"{method} {place.path}":
                    self._busy.remove(busy)
                    return _Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"})
            if place.path == "/v1/messages" or place.path == "/v1/chat/completions":
                return _Answer(self._run(json.loads(body)))
            if place.path.startswith("/v1/messages/batches"):
                return self._respond_anthropic(method, place.path, body)
            return self._respond_openai(method, place.path, body, parse_qs(place.query))

    def _run(self, request: JSON) -> JSON:
        """The body of the reply to one request, in the protocol of the request."""
        if "system" in request:
            user = "".join(part["text"] for part in request["messages"][0]["content"])
            text = self._write(request["system"], user)
            usage = {"input_tokens": len(user), "output_tokens": len(text)}
            return {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": request["model"],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "content": [{"type": "text", "text": text}],
                "usage": usage,
            }
        system, user = (message["content"] for message in request["messages"])
        text = self._write(system, user)
        total = len(user) + len(text)
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": request["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {
                "prompt_tokens": len(user),
                "completion_tokens": len(text),
                "total_tokens": total,
            },
        }

    def _make_batch(self, requests: list[JSON], file: str | None) -> _Batch:
        faults = self._faults.pop(0) if self._faults else ""
        batch = _Batch(len(self.batches) + 1, requests, faults, file)
        self.batches.append(batch)
        if not batch.has("refuse"):
            batch.outcomes = self._run_batch(batch)
        return batch

    def _has_ended(self, batch: _Batch) -> bool:
        batch.looks += 1
        return batch.looks > self.looks

    def _respond_openai(
        self, method: str, path: str, body: bytes, query: dict[str, list[str]]
    ) -> "_Answer":
        match method, path.strip("/").split("/")[1:]:
            case "POST", ["files"]:
                file = f"file-{len(self._files) + 1}"
                self._files[file] = body.split(b"\r\n\r\n")[-1].rsplit(b"\r\n--", 1)[0]
                return _Answer({"id": file, "object": "file", "purpose": "batch"})
            case "POST", ["batches"]:
                wanted = json.loads(body)
                lines = self._files[wanted["input_file_id"]].splitlines()
                requests = [json.loads(line) for line in lines if line.strip()]
                batch = self._make_batch(requests, wanted["input_file_id"])
                return _Answer(self._show_openai(batch), vanishes=batch.has("vanish"))
            case "GET", ["batches"]:
                listed = [self._show_openai(each) for each in reversed(self.batches)]
                ids = [each["id"] for each in listed]
                start = ids.index(query["after"][0]) + 1 if "after" in query else 0
                return _Answer({"data": listed[start : start + 1], "has_more": start < len(ids)})
            case "GET", ["batches", batch]:
                return _Answer(self._show_openai(self._find(batch), is_look=True))
            case "GET", ["files", file, "content"]:
                return _Answer(self._render_file(file))
        return _Answer({"error": {"message": f"no {path} here"}}, 404)

    def _find(self, batch: str) -> _Batch:
        return next(each for each in self.batches if each.id == batch)

    def _render_file(self, file: str) -> bytes:
        """The output file or the error file of a batch."""
        kind, _, batch = file.partition("-")
        found = self._find(batch)
        lines = [
            line
            for each in found.outcomes
            if bool(each[1]) == (kind == "err") and (line := _render_chat(*each))
        ]
        if kind == "out":
            return self._spoil(found, lines)
        return "".join(json.dumps(line) + "\n" for line in lines).encode()

    def _show_openai(self, batch: _Batch, *, is_look: bool = False) -> JSON:
        has_ended = is_look and self._has_ended(batch)
        shown: JSON = {
            "id": batch.id,
            "object": "batch",
            "input_file_id": batch.file,
            "request_counts": {"total": len(batch.requests), "completed": 0, "failed": 0},
            "status": "in_progress",
        }
        if not has_ended:
            return shown
        if batch.has("refuse"):
            error = {"code": "invalid_request", "line": 2, "message": "the model cannot be batched"}
            return {**shown, "status": "failed", "errors": {"data": [error]}}
        ends = {"expire": "expired", "cancel": "cancelled"}
        status = next((word for fault, word in ends.items() if batch.has(fault)), "completed")
        output = {"output_file_id": f"out-{batch.id}", "error_file_id": f"err-{batch.id}"}
        return {**shown, "status": status, **output}

    def _run_batch(self, batch: _Batch) -> list[tuple[str, str, JSON]]:
        outcomes = []
        ends = [word for word in ("fail", "expire", "lose", "cancel") if batch.has(word)]
        for number, request in enumerate(batch.requests):
            is_hit = number % 2 == 1 or len(batch.requests) == 1
            how = ends[0] if ends and is_hit else ""
            body = {} if how else self._run(request.get("body") or request["params"])
            self.paid[request["custom_id"]] += not how
            outcomes.append((request["custom_id"], how, body))
        if batch.has("strange"):
            outcomes.append(("never-asked", "", outcomes[0][2]))
        return outcomes[::-1] * (2 if batch.has("double") else 1)

    @staticmethod
    def _spoil(batch: _Batch, lines: list[JSON]) -> bytes:
        """The content of a result file, with the faults of the batch."""
        batch.fetches += 1
        texts = [json.dumps(line) for line in lines]
        if batch.has("garbage"):
            texts.insert(1, "<html>")
        content = "".join(f"{text}\n" for text in texts).encode()
        return content[:-30] if batch.has("cut") and batch.fetches == 1 else content

    def _respond_anthropic(self, method: str, path: str, body: bytes) -> "_Answer":
        match method, path.strip("/").split("/")[3:]:
            case "POST", []:
                requests = json.loads(body)["requests"]
                if self._faults and self._faults[0] == "refuse":
                    self._faults.pop(0)
                    error = {"type": "invalid_request_error", "message": "custom_id must be unique"}
                    return _Answer({"type": "error", "error": error}, 400)
                batch = self._make_batch(requests, None)
                return _Answer(self._show_anthropic(batch), vanishes=batch.has("vanish"))
            case "GET", []:
                listed = [self._show_anthropic(each) for each in reversed(self.batches)]
                return _Answer({"data": listed, "has_more": False})
            case "GET", [batch]:
                return _Answer(self._show_anthropic(self._find(batch), is_look=True))
            case "GET", [batch, "results"]:
                found = self._find(batch)
                lines = [_render_message(*each) for each in found.outcomes]
                return _Answer(self._spoil(found, [line for line in lines if line]))
        return _Answer({"error": {"message": f"no {path} here"}}, 404)

    def _show_anthropic(self, batch: _Batch, *, is_look: bool = False) -> JSON:
        count, has_ended = len(batch.requests), is_look and self._has_ended(batch)
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        counts["succeeded" if has_ended else "processing"] = count
        if has_ended and batch.has("cancel"):
            counts = {**counts, "succeeded": count - count // 2, "canceled": count // 2}
        made = batch.made.isoformat().replace("+00:00", "Z")
        return {
            "id": batch.id,
            "type": "message_batch",
            "created_at": made,
            "processing_status": "ended" if has_ended else "in_progress",
            "cancel_initiated_at": made if batch.has("cancel") else None,
            "request_counts": counts,
            "results_url": f"https://elsewhere.example/{batch.id}" if has_ended else None,
        }


def _render_chat(key: str, how: str, body: JSON) -> JSON | None:
    line: JSON = {"id": f"batch_req_{key}", "custom_id": key, "response": None, "error": None}
    match how:
        case "lose":
            return None
        case "fail":
            error = {"error": {"message": "The server had an error", "type": "server_error"}}
            return {**line, "response": {"status_code": 500, "body": error}}
        case "expire" | "cancel":
            code = "batch_expired" if how == "expire" else "batch_cancelled"
            return {**line, "error": {"code": code, "message": "This request was not executed."}}
    return {**line, "response": {"status_code": 200, "request_id": "req_1", "body": body}}


def _render_message(key: str, how: str, body: JSON) -> JSON | None:
    failed = {"type": "error", "error": {"type": "api_error", "message": "The server had an error"}}
    results: dict[str, JSON] = {
        "": {"type": "succeeded", "message": body},
        "fail": {"type": "errored", "error": failed},
        "expire": {"type": "expired"},
        "cancel": {"type": "canceled"},
    }
    return None if how == "lose" else {"custom_id": key, "result": results[how]}


class _Answer:
    def __init__(
        self,
        content: JSON | bytes,
        status: int = 200,
        headers: dict[str, str] | None = None,
        *,
        vanishes: bool = False,
    ) -> None:
        self.body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.status = status
        self.headers = headers or {}
        self.vanishes = vanishes


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_state: BatchServer

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server_state.respond(self.command, self.path, body, headers)
        if answer.vanishes:
            self.close_connection = True
            return
        with suppress(OSError):
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as overridden
        """Tests are quiet."""
