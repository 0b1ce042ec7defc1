"""The agents of `agent_program` behind a loopback server: as chat endpoints and as A2A agents.

    http://127.0.0.1:PORT/notes/v1        an OpenAI-compatible endpoint
    http://127.0.0.1:PORT/notes/a2a       an A2A agent, version 1.0
    http://127.0.0.1:PORT/notes/a2a-0.3   the same in version 0.3

Start one with `python -m tests.faulty.agent_server --port 8123`. Memories are separated by
the field `user` of a chat, and by the metadata `user` of an A2A message; `chat` knows no more than
the messages that come with a chat, or the context of an A2A message.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from typing import Any, Self
from uuid import uuid4

import msgspec

from recall_bench.core.untrusted_json import decode_untrusted_json
from tests.faulty.agent_program import (
    BEHAVIOURS,
    AgentCrash,
    NoteTaker,
    split_lines,
    split_words,
)

_A2A_PLACES = {"a2a": "1.0", "a2a-0.3": "0.3"}
_MODEL = "test-agent"


class AgentServer:
    """Serves every behaviour at once, in threads of its own."""

    def __init__(self, port: int = 0, *, pause_s: float = 0.05, context_tokens: int = 0) -> None:
        self.pause_s = pause_s
        """How long the slow agent takes."""
        self.context_tokens = context_tokens
        """How many words a chat may have; 0 for any number."""
        self.requests: list[tuple[str, dict[str, Any]]] = []
        """The path and the body of every request."""
        self._lock = Lock()
        self._notes: dict[tuple[str, str], list[list[str]]] = {}
        self._server = _AgentHttpServer(("127.0.0.1", port), self)

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve_forever(self) -> None:
        """Serve in this thread."""
        self._server.serve_forever()

    def open_agent(self, behaviour: str, user: str) -> NoteTaker:
        """The agent as it knows this user."""
        with self._lock:
            notes = self._notes.setdefault((behaviour, user), [])
        return NoteTaker(behaviour, notes, self.pause_s)


class _AgentHttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], owner: AgentServer) -> None:
        super().__init__(address, _AgentRequest)
        self.owner = owner

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients that leave early, and agents that crash, are expected."""


class _AgentRequest(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The head of a reply must not wait until the client has confirmed it.
    disable_nagle_algorithm = True
    server: _AgentHttpServer

    def do_GET(self) -> None:
        behaviour, place, *rest = self._split_path()
        if place == "v1" and rest == ["models"]:
            self._reply({"object": "list", "data": [{"id": _MODEL, "object": "model"}]})
        elif place in _A2A_PLACES and rest == [".well-known", "agent-card.json"]:
            self._reply(_build_card(self.server.owner.url, behaviour, place))
        else:
            self._reply({"error": {"message": f"there is nothing at {self.path}"}}, 404)

    def do_POST(self) -> None:
        behaviour, place, *_ = self._split_path()
        length = int(self.headers.get("Content-Length", 0))
        try:
            body = decode_untrusted_json(self.rfile.read(length), dict[str, Any])
        except msgspec.DecodeError as error:
            self._reply({"error": {"message": str(error)}}, 400)
            return
        self.server.owner.requests.append((self.path, body))
        if behaviour not in BEHAVIOURS:
            self._reply({"error": {"message": f"there is no agent {behaviour}"}}, 404)
        elif place == "v1":
            self._chat(behaviour, body)
        else:
            self._receive_message(behaviour, _A2A_PLACES.get(place, "1.0"), body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _split_path(self) -> list[str]:
        return [*self.path.strip("/").split("/"), "", ""][: max(2, self.path.count("/"))]

    def _reply(self, document: object, status: int = 200) -> None:
        body = msgspec.json.encode(document)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Iterator[object]) -> None:
        """Send events; the end of the connection is the end of the stream."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            text = event if isinstance(event, str) else msgspec.json.encode(event).decode()
            self.wfile.write(f"data: {text}\n\n".encode())
            self.wfile.flush()

    def _ask_agent(self, agent: NoteTaker, message: str) -> str | None:
        """The reply; None if the agent broke down, and the connection with it."""
        try:
            return agent.reply(message)
        except AgentCrash:
            self.close_connection = True
            return None

    def _chat(self, behaviour: str, body: dict[str, Any]) -> None:
        messages = body["messages"]
        words = sum(len(str(each["content"]).split()) for each in messages)
        limit = self.server.owner.context_tokens
        if limit and words > limit:
            why = f"This model's maximum context length is {limit} tokens, and you sent {words}."
            self._reply({"error": {"message": why, "code": "context_length_exceeded"}}, 400)
            return
        if behaviour == "endless":
            self._chat_endlessly(bool(body.get("stream")))
            return
        agent = self.server.owner.open_agent(behaviour, str(body.get("user", "")))
        if behaviour == "chat":
            said = [each["content"] for each in messages[:-1] if each["role"] == "user"]
            agent = NoteTaker(behaviour, [split_lines(each) for each in said])
        text = self._ask_agent(agent, messages[-1]["content"])
        if text is None:
            return
        used = {"prompt_tokens": words, "completion_tokens": len(text.split())}
        if body.get("stream"):
            self._stream(_stream_chat(text, used))
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": text}}
            self._reply({"object": "chat.completion", "choices": [choice], "usage": used})

    def _chat_endlessly(self, is_stream: bool) -> None:
        call = {"id": "call-1", "type": "function", "function": {"name": "search", "arguments": ""}}
        if not is_stream:
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            self._reply({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
            return
        self._stream(
            {"choices": [{"delta": {"tool_calls": [call | {"id": f"call-{number}"}]}}]}
            for number in _count_slowly()
        )

    def _receive_message(self, behaviour: str, version: str, body: dict[str, Any]) -> None:
        writer = _PeerResponseWriter(version, body.get("id"))
        method, params = str(body.get("method")), body.get("params", {})
        if method in ("GetTask", "tasks/get"):
            status = {"state": writer.name_state("working")}
            self._reply(writer.wrap_plain({"id": params.get("id"), "status": status}))
            return
        if method not in _SENDING:
            self._reply(writer.refuse(-32601, f"there is no method {method}"))
            return
        message = params["message"]
        names = {"contextId": message.get("contextId") or str(uuid4()), "taskId": str(uuid4())}
        if behaviour == "endless":
            self._work_endlessly(writer, names, is_stream=_SENDING[method])
            return
        user = str(message.get("metadata", {}).get("user", ""))
        prompt = "".join(part["text"] for part in message["parts"])
        key = names["contextId"] if behaviour == "chat" else user
        text = self._ask_agent(self.server.owner.open_agent(behaviour, key), prompt)
        if text is None:
            return
        if _SENDING[method]:
            self._stream(writer.stream_task(text, names))
        else:
            self._reply(writer.build_task(text, names, words=len(prompt.split())))

    def _work_endlessly(
        self, writer: "_PeerResponseWriter", names: dict[str, str], *, is_stream: bool
    ) -> None:
        if is_stream:
            self._stream(writer.update_status("working", names) for _ in _count_slowly())
            return
        status = {"state": writer.name_state("working")}
        self._reply(writer.wrap("task", {"id": names["taskId"], **names, "status": status}))


_SENDING = {
    "SendMessage": False,
    "SendStreamingMessage": True,
    "message/send": False,
    "message/stream": True,
}
"""The methods that send a message, and whether they stream."""

_KINDS_0_3 = {"statusUpdate": "status-update", "artifactUpdate": "artifact-update"}


class _PeerResponseWriter:
    """The responses to one A2A request, in its version of the protocol."""

    def __init__(self, version: str, request: object) -> None:
        self._is_old = version == "0.3"
        self._envelope = {"jsonrpc": "2.0", "id": request}

    def wrap(self, kind: str, content: dict[str, object]) -> dict[str, object]:
        if self._is_old:
            return self.wrap_plain({"kind": _KINDS_0_3.get(kind, kind), **content})
        return self.wrap_plain({kind: content})

    def wrap_plain(self, result: dict[str, object]) -> dict[str, object]:
        return {**self._envelope, "result": result}

    def refuse(self, code: int, message: str) -> dict[str, object]:
        return {**self._envelope, "error": {"code": code, "message": message}}

    def name_state(self, state: str) -> str:
        return state if self._is_old else f"TASK_STATE_{state.upper()}"

    def update_status(self, state: str, names: dict[str, str]) -> dict[str, object]:
        return self.wrap("statusUpdate", {**names, "status": {"state": self.name_state(state)}})

    def build_task(self, text: str, names: dict[str, str], *, words: int) -> dict[str, object]:
        task: dict[str, object] = {
            "id": names["taskId"],
            "contextId": names["contextId"],
            "status": {"state": self.name_state("completed")},
            "artifacts": [self._build_artifact(text)],
            "metadata": {
                "usage": {"input_tokens": words, "output_tokens": len(text.split())},
            },
        }
        return self.wrap("task", task)

    def stream_task(self, text: str, names: dict[str, str]) -> Iterator[object]:
        yield self.update_status("working", names)
        for number, piece in enumerate(split_words(text)):
            artifact = self._build_artifact(piece)
            yield self.wrap("artifactUpdate", {**names, "artifact": artifact, "append": number > 0})
        yield self.update_status("completed", names)

    def _build_artifact(self, text: str) -> dict[str, object]:
        part = {"kind": "text", "text": text} if self._is_old else {"text": text}
        return {"artifactId": "reply", "parts": [part]}


def _build_card(base: str, behaviour: str, place: str) -> dict[str, object]:
    card: dict[str, object] = {
        "name": f"{behaviour} test agent",
        "description": "An agent with a known fault.",
        "version": "1",
        "capabilities": {"streaming": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
    }
    url, version = f"{base}/{behaviour}/{place}", _A2A_PLACES[place]
    if version == "0.3":
        return card | {"protocolVersion": "0.3.0", "url": url, "preferredTransport": "JSONRPC"}
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version}
    return card | {"supportedInterfaces": [interface]}


def _count_slowly() -> Iterator[int]:
    """Numbers without an end, until the client leaves."""
    for number in count(1):
        yield number
        time.sleep(0.001)


def _stream_chat(text: str, used: dict[str, int]) -> Iterator[object]:
    for piece in split_words(text):
        yield {"choices": [{"index": 0, "delta": {"content": piece}}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": used}
    yield "[DONE]"


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve small agents with known faults.")
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--pause", type=float, default=1.0, help="the seconds that `slow` takes")
    given = parser.parse_args()
    server = AgentServer(given.port, pause_s=given.pause)
    sys.stderr.write(f"{server.url}/notes/v1 and {server.url}/notes/a2a; stop with Ctrl-C\n")
    with suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()
