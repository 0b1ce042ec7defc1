"""Targets that read requests to our own servers.

Whatever is sent, a server replies: with what was asked for, or with a status and a sentence. An
exception that reaches the server's own loop is a crash, even where a client would see a status 500.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.usage import Usage, UsageMeter
from recall_bench.features.explorer.explorer_server import build_application
from recall_bench.features.explorer.explorer_views import ExplorerViews
from recall_bench.features.explorer.run_catalogue import RunCatalogue
from recall_bench.features.models.chat_completions import PromptChat
from recall_bench.features.models.endpoint_server import EndpointApplication
from recall_bench.features.models.model_endpoint import WordVectors
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.serving.grpc_server import _build_handlers
from recall_bench.features.serving.http_server import _ServerApplication
from recall_bench.systems.builtin.retrieval_systems import build_bm25
from recall_bench.systems.grpc.grpc_messages import encode_message, find_method
from recall_bench.systems.models.model import Prompt, Reply
from recall_bench.systems.servers.host import SystemHost
from recall_bench.systems.servers.stdio_server import DirectWriter, Pipes, serve_stdio
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.http_routes import encode_request
from tests.fuzz.mutator import Format
from tests.fuzz.reply_targets import run_async
from tests.fuzz.target import ContentReader, FuzzTarget, Reading, Seed
from tests.written_runs import ALL_OF_ADA, ada_story, trial

_PORT = 4711


class Refusal(BenchError):
    """A reply that refuses a request."""


@dataclass(slots=True)
class RequestReader:
    """Sends requests to an application: bodies to the path that a seed names, or whole requests."""

    seeds: Sequence[Seed]
    application: Any
    headers: Sequence[tuple[bytes, bytes]] = ()

    def read(self, seed: Seed, content: bytes) -> Reading:
        """Send a request; Refusal if the status says so."""
        head, body = (seed.name, content) if seed.name else _split_request(content)
        method, _, path = head.partition(" ")
        status, reply = run_async(self._send(method, path, body))
        if status >= 400:
            raise Refusal(f"{status} {reply.decode('utf-8', 'replace')}")
        return Reading((status, len(reply)), (status, reply))

    async def _send(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("latin-1", "replace"),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"127.0.0.1:%d" % _PORT), *self.headers],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", _PORT),
        }
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not waiting:
                await asyncio.Event().wait()
            return waiting.pop()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.application(scope, receive, send)
        return sent[0]["status"], b"".join(each.get("body", b"") for each in sent)


def _split_request(content: bytes) -> tuple[str, bytes]:
    head, _, body = content.partition(b"\n")
    return head.decode("latin-1"), body


def _list_requests(memory: str) -> tuple[wire.Request, ...]:
    return (
        wire.HealthRequest(),
        wire.OpenRequest(scenario="s"),
        wire.IngestRequest(
            memory=memory,
            day=1,
            id="day-0001",
            date="2026-01-31",
            time="10:30:00",
            content="The cat is Fig.",
            turns=(wire.WireTurn(speaker="a", text="The cat is Fig."),),
        ),
        wire.SettleRequest(memory=memory),
        wire.AskRequest(memory=memory, question="Who?", id="q", date="2026-02-01", session="s"),
        wire.InspectRequest(memory=memory),
        wire.SaveRequest(memory=memory),
        wire.RestoreRequest(snapshot="none"),
        wire.DropRequest(snapshot="none"),
    )


def _open_host() -> tuple[SystemHost, str]:
    """A host of a system that answers from an index, and the name of an open memory."""
    host = SystemHost(build_bm25({}))
    opened = run_async(host.handle(wire.OpenRequest(scenario="s")))
    assert isinstance(opened, wire.OpenReply)
    # Names are random, and cases are to be the same every time.
    host._memories["m"] = host._memories.pop(opened.memory)
    return host, "m"


def _open_http(_: Path) -> RequestReader:
    host, memory = _open_host()
    seeds = []
    for request in _list_requests(memory):
        method, path, body = encode_request(request)
        whole = f"{method} {path}\n".encode() + (body or b"")
        seeds.append(Seed(whole, Format.TEXT))
        if body is not None:
            seeds.append(Seed(body, Format.JSON, f"{method} {path}"))
    return RequestReader(seeds, _ServerApplication(host, None, is_local=True))


def _open_stdio(folder: Path) -> ContentReader:
    host, memory = _open_host()
    lines = b"".join(
        msgspec.json.encode(
            {"id": number, "do": wire.VERB_OF[type(each)], "body": msgspec.to_builtins(each)}
        )
        + b"\n"
        for number, each in enumerate(_list_requests(memory))
    )
    lines += b'{"id": 90, "do": "cancel", "body": {"id": 3}}\n'

    def parse(content: bytes) -> Reading:
        (folder / "requests").write_bytes(content)
        with (folder / "requests").open("rb") as requests, (folder / "replies").open("wb") as out:
            pipes = Pipes(requests=requests.fileno(), replies=out.fileno())
            run_async(serve_stdio(host.handle, pipes, writer=DirectWriter))
        replies = (folder / "replies").read_bytes()
        return Reading(replies.count(b"\n"), replies)

    return ContentReader([Seed(lines, Format.LINES)], parse)


class _Context:
    """The context of a gRPC call, whose end is an exception as with grpc."""

    async def abort(self, code: object, details: str, trailing: object) -> None:
        del trailing
        raise Refusal(f"{code}: {details}")


@dataclass(slots=True)
class _MethodReader:
    """Calls the method that a seed names."""

    seeds: Sequence[Seed]
    handlers: dict[str, Any]

    def read(self, seed: Seed, content: bytes) -> Reading:
        from google.protobuf.message import DecodeError

        handler = self.handlers[seed.name]
        try:
            received = handler.request_deserializer(content)
        except DecodeError as error:
            # gRPC replies to it before it calls the method.
            raise Refusal(f"INTERNAL: {error}") from error
        reply = run_async(handler.unary_unary(received, _Context()))
        written = handler.response_serializer(reply)
        return Reading(len(written), written)


def _open_grpc(_: Path) -> _MethodReader:
    host, memory = _open_host()
    seeds = [
        Seed(encode_message(each).SerializeToString(), Format.BYTES, find_method(type(each)).name)
        for each in _list_requests(memory)
    ]
    return _MethodReader(seeds, _build_handlers(host))


class _Parrot:
    """A model that repeats what it is asked."""

    name = "parrot"

    async def complete(self, prompt: Prompt) -> Reply:
        return Reply(text=prompt.user, usage=Usage(calls=1))

    async def close(self) -> None:
        """Nothing to release."""


def _open_endpoint(_: Path) -> RequestReader:
    spec = parse_spec("openai:gpt-5-mini")
    assert spec is not None
    chat = PromptChat(_Parrot(), spec, 5.0)  # type: ignore[arg-type]
    endpoint = EndpointApplication(WordVectors(), chat, UsageMeter())
    embedding = {"model": "wordllama", "input": ["a b", "c"], "dimensions": 64, "user": "x"}
    completion = {
        "model": spec.model,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": "Yes"},
        ],
        "temperature": 0.5,
        "max_tokens": 9,
        "stream": False,
        "stop": ["x"],
        "response_format": {"type": "json_object"},
        "stream_options": {"include_usage": True},
    }
    bodies = {"/v1/embeddings": embedding, "/v1/chat/completions": completion}
    seeds = [
        Seed(msgspec.json.encode(body), Format.JSON, f"POST {path}")
        for path, body in bodies.items()
    ]
    return RequestReader([*seeds, Seed(b"GET /v1/models/wordllama\n", Format.TEXT)], endpoint.app)


def _open_explorer(folder: Path) -> RequestReader:
    story = ada_story(folder / "runs" / "ada")
    for each in ALL_OF_ADA:
        story.both(each)
    story.end()
    story.save()
    catalogue = RunCatalogue(folder / "runs")
    (run,) = catalogue.scan()
    (folder / "pages").mkdir()
    application = build_application(
        ExplorerViews(catalogue), "runs", token="t", port=_PORT, pages=folder / "pages"
    )
    label = {"trial": str(trial("cat")), "label": "right", "by": "me", "comment": "so"}
    paths = ("data/runs", f"data/{run.id}/index", f"data/{run.id}/labels", "data/compare/x,y", "")
    headers = ((b"content-type", b"application/json"), (b"origin", b"http://127.0.0.1:%d" % _PORT))
    seeds = [Seed(f"GET /t/{path}\n".encode(), Format.TEXT) for path in paths]
    body = Seed(msgspec.json.encode(label), Format.JSON, f"POST /t/labels/{run.id}")
    return RequestReader([*seeds, body, body], application, headers)


def list_server_targets() -> Sequence[FuzzTarget]:
    """One target for each of our servers."""
    opened: dict[str, tuple[Callable[[Path], Any], tuple[type[Exception], ...]]] = {
        "request over HTTP": (_open_http, (Refusal,)),
        "request over gRPC": (_open_grpc, (Refusal,)),
        "request on standard input": (_open_stdio, (UsageError,)),
        "request to the endpoint": (_open_endpoint, (Refusal,)),
        "request to the explorer": (_open_explorer, (Refusal,)),
    }
    return [
        FuzzTarget(name=name, open=open_, refusals=refusals)
        for name, (open_, refusals) in opened.items()
    ]
