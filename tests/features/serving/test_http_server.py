"""Our HTTP server answers every message by the contract, and stops without a trace."""

import json
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgspec
import pytest
import uvicorn

from recall_bench.core.errors import (
    BenchError,
    SystemBusy,
    SystemFault,
    SystemGone,
    SystemTimeout,
    UsageError,
)
from recall_bench.features.serving.http_server import serve_http
from recall_bench.systems.servers.host import SystemHost, decode_episode
from recall_bench.systems.servers.web_server import parse_listen_address
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.http_routes import (
    MAX_BODY_BYTES,
    ROUTES,
    decode_request,
    encode_request,
)
from recall_bench.systems.transports.http_system import HttpAddress, HttpTransport
from recall_bench.systems.transports.remote_system import RequestNotServed
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem
from tests.features.serving.http_servers import hosting, serving
from tests.loops import loop_over_rows

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]

REQUESTS: dict[str, wire.Request] = {
    "health": wire.HealthRequest(),
    "open": wire.OpenRequest(scenario="ada / æ"),
    "ingest": wire.IngestRequest(
        memory="m/1 ?#%2F",
        day=2,
        id="day-0002",
        date="2026-01-02",
        time="13:56:00",
        content="Fig 🐈\n\u2028\0",
        arcs=("cat",),
        turns=(wire.WireTurn(speaker="Ada", text="Fig."),),
    ),
    "settle": wire.SettleRequest(memory="m/1"),
    "ask": wire.AskRequest(
        memory="m/1",
        question="Who?",
        id="0f",
        date="2026-01-09",
        session="crew",
        choices=("a", "b"),
        top_k=3,
    ),
    "attest": wire.AttestRequest(memory="m/1"),
    "inspect": wire.InspectRequest(memory="m/1"),
    "erase": wire.EraseRequest(memory="m/1", scope="forget", value="the shed / the code"),
    "stored": wire.StoredRequest(memory="m/1"),
    "consolidate": wire.ConsolidateRequest(memory="m/1"),
    "save": wire.SaveRequest(memory="m/1"),
    "restore": wire.RestoreRequest(snapshot="/tmp/s 1"),
    "drop": wire.DropRequest(snapshot="/tmp/s 1"),
    "close": wire.CloseRequest(memory="m/1"),
}
REPLIES: dict[str, wire.Reply] = {
    "health": wire.HealthReply(
        name="n", version="3", max_concurrency=7, clock="native", answers=False
    ),
    "open": wire.OpenReply(memory="m/1 ?#%2F"),
    "ask": wire.AnswerReply(
        answer="Fig 🐈",
        passages=(wire.WirePassage(text="t", id="day-0002", day=2, source="s", score=0.5),),
        tool_calls=({"tool": "search", "n": [1, None]},),
        usage=wire.WireUsage(calls=1, input_tokens=2, output_tokens=3, cost_usd=0.25),
    ),
    "attest": wire.AttestReply(days=9),
    "inspect": wire.InspectReply(days=(1, 9), bytes=2**40),
    "erase": wire.ErasedReply(confirmed=True, count=3),
    "stored": wire.StoredReply(entries=(wire.WireEntry(text="Tea at 4.", id="e7", day=7),)),
    "consolidate": wire.DoneReply(),
    "save": wire.SaveReply(snapshot="/tmp/s 1"),
    "restore": wire.OpenReply(memory="copy"),
}


class Recorded(SystemHost):
    """A host that notes what it is asked and replies from a list."""

    def __init__(self, reply: wire.Reply | BenchError) -> None:
        super().__init__(ScriptedSystem(lambda lived, question: ""))
        self.reply = reply
        self.asked: list[wire.Request] = []

    async def handle(self, request: wire.Request) -> wire.Reply:
        self.asked.append(request)
        if isinstance(self.reply, BenchError):
            raise self.reply
        return self.reply


@pytest.mark.parametrize("verb", wire.VERBS)
async def test_every_message_arrives_as_it_was_sent(verb: str) -> None:
    request, kind = REQUESTS[verb], wire.VERBS[verb][1]
    reply = REPLIES.get(verb, wire.DoneReply())
    host = Recorded(reply)

    async with hosting(host) as url:
        carrier = HttpTransport(HttpAddress(url))
        came = await carrier.call(request, kind)
        await carrier.close()

    assert host.asked == [request]
    assert came == reply


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SystemFault("no"), 500),
        (SystemTimeout("no"), 504),
        (SystemGone("no"), 404),
        (UsageError("no"), 501),
        (SystemBusy("no"), 429),
    ],
)
async def test_an_error_has_its_status_and_comes_back_as_it_was(
    error: BenchError, status: int
) -> None:
    if isinstance(error, SystemBusy):
        error.retry_after_s = 1.5
    expected = RequestNotServed if isinstance(error, UsageError) else type(error)

    async with hosting(Recorded(error)) as url:
        async with httpx.AsyncClient(trust_env=False) as client:
            response = await client.post(f"{url}/memories/m/settle")
        carrier = HttpTransport(HttpAddress(url))
        with pytest.raises(expected) as raised:
            await carrier.call(wire.SettleRequest(memory="m"), wire.DoneReply)
        await carrier.close()

    assert response.status_code == status
    assert response.json()["message"] == "no"
    assert type(raised.value) is expected
    assert "POST /memories/m/settle: no" in str(raised.value)
    if isinstance(raised.value, SystemBusy):
        assert response.headers["Retry-After"] == "2"
        assert raised.value.retry_after_s == 1.5


NONSENSE = [
    ("GET", "/", b"", 404, "nothing at /"),
    ("POST", "/memories/m/ask/", b"{}", 404, "nothing at"),
    ("POST", "/memories//settle", b"", 404, "nothing at"),
    ("GET", "/memories", b"", 405, "accepts POST"),
    ("PUT", "/memories/m", b"", 405, "accepts DELETE"),
    ("POST", "/memories", b"", 400, "no OpenRequest"),
    ("POST", "/memories", b"[]", 400, "no OpenRequest"),
    ("POST", "/memories", b'{"scenario": "\xff"}', 400, "no OpenRequest"),
    ("POST", "/memories", b"[" * 100_000, 400, "no OpenRequest"),
    ("POST", "/memories", b'{"scenario": 1}', 400, "Expected `str`, got `int`"),
    ("POST", "/memories/m/episodes", b'{"day": 1}', 400, "missing required field"),
]


async def test_an_unknown_message_is_refused_with_the_reason() -> None:
    host = Recorded(wire.DoneReply())

    async with hosting(host) as url, httpx.AsyncClient(trust_env=False) as client:
        for method, path, body, status, said in NONSENSE:
            response = await client.request(method, url + path, content=body)

            assert response.status_code == status
            assert said in response.json()["message"]
            if status == 405:
                assert response.headers["Allow"] in said
    assert host.asked == []


async def test_a_date_that_is_none_is_the_fault_of_the_client() -> None:
    day = wire.IngestRequest(memory="m", day=1, id="d", date="soon", content="")
    _, path, body = encode_request(day)
    with pytest.raises(SystemFault) as refusal:
        decode_episode(day)

    async with (
        hosting(Recorded(refusal.value)) as url,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        response = await client.post(url + path, content=body)

    assert response.status_code == 400
    assert "day 1 has no valid date" in response.json()["message"]


async def test_a_body_may_have_64_megabytes_and_not_one_more() -> None:
    host = Recorded(wire.DoneReply())
    _, path, body = encode_request(
        wire.IngestRequest(memory="m", day=1, id="d", date="2026-01-01", content="")
    )
    assert body is not None
    room = MAX_BODY_BYTES - len(body)
    full = body.replace(b'"content":""', b'"content":"' + b"x" * room + b'"')
    assert len(full) == MAX_BODY_BYTES

    async with hosting(host) as url, httpx.AsyncClient(trust_env=False, timeout=30) as client:
        taken = await client.post(url + path, content=full)
        refused = await client.post(url + path, content=full + b" ")

    assert taken.status_code == 204
    assert len(host.asked) == 1
    assert refused.status_code == 413
    assert "send less" in refused.json()["message"]


async def test_a_call_is_cancelled_when_the_client_disconnects() -> None:
    class Slow(ScriptedMemory):
        async def settle(self) -> None:
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                given_up.set()

    class System(ScriptedSystem):
        async def open(self, scenario: str) -> ScriptedMemory:
            return Slow(self._reply)

    begun, given_up = anyio.Event(), anyio.Event()
    async with serving(System(lambda lived, question: "")) as url:
        carrier = HttpTransport(HttpAddress(url))
        name = (await carrier.call(wire.OpenRequest(scenario="s"), wire.OpenReply)).memory
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(carrier.call, wire.SettleRequest(memory=name), wire.DoneReply)
            await begun.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            await given_up.wait()
        still = await carrier.call(wire.AttestRequest(memory=name), wire.AttestReply)
        await carrier.close()

    assert still == wire.AttestReply()


async def test_a_call_in_progress_when_the_server_stops_gets_an_error() -> None:
    class Endless(Recorded):
        async def handle(self, request: wire.Request) -> wire.Reply:
            begun.set()
            await anyio.sleep_forever()
            raise AssertionError

    async def call() -> None:
        try:
            await carrier.call(wire.SettleRequest(memory="m"), wire.DoneReply)
        except SystemGone as gone:
            told.append(str(gone))

    begun = anyio.Event()
    told: list[str] = []
    async with anyio.create_task_group() as tasks, hosting(Endless(wire.DoneReply())) as url:
        carrier = HttpTransport(HttpAddress(url))
        tasks.start_soon(call)
        await begun.wait()
    await carrier.close()

    assert len(told) == 1
    assert "the server is stopping" in told[0]


async def test_nothing_waits_for_small_packets_to_be_collected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers: list[Any] = []
    startup = uvicorn.Server.startup

    async def noted(self: uvicorn.Server, sockets: list[socket.socket] | None = None) -> None:
        servers.append(self)
        await startup(self, sockets)

    monkeypatch.setattr(uvicorn.Server, "startup", noted)
    async with hosting(Recorded(wire.HealthReply())) as url:
        carrier = HttpTransport(HttpAddress(url))
        await carrier.call(wire.HealthRequest(), wire.HealthReply)
        (connection,) = servers[0].server_state.connections
        kept = connection.transport.get_extra_info("socket")
        delay_is_off = kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        await carrier.close()

    assert delay_is_off


async def test_signal_handlers_are_kept_and_stdout_stays_empty(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    async with hosting(Recorded(wire.HealthReply())) as url:
        during = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        async with httpx.AsyncClient(trust_env=False) as client:
            await client.get(f"{url}/health")

    assert during == before
    assert capfd.readouterr() == ("", "")


async def test_the_port_is_free_again_once_the_server_stopped() -> None:
    async with hosting(Recorded(wire.DoneReply())) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(UsageError, match="choose another address"):
            await serve_http(Recorded(wire.DoneReply()), f"127.0.0.1:{port}")

    socket.create_server(("127.0.0.1", port)).close()


async def test_a_token_in_the_environment_is_asked_of_everyone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RECALL_BENCH_HTTP_TOKEN", "s3cret")
    host = Recorded(wire.HealthReply())

    async with hosting(host) as url, httpx.AsyncClient(trust_env=False) as client:
        without = await client.get(f"{url}/health")
        wrong = await client.get(f"{url}/health", headers={"Authorization": "Bearer s3cre"})
        right = await client.get(f"{url}/health", headers={"Authorization": "Bearer s3cret"})

    assert [without.status_code, wrong.status_code, right.status_code] == [401, 401, 200]
    assert without.headers["WWW-Authenticate"] == "Bearer"
    assert len(host.asked) == 1


@loop_over_rows(
    ("address", "place"),
    [
        ("8000", ("127.0.0.1", 8000)),
        (":9", ("127.0.0.1", 9)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("localhost", ("localhost", 8000)),
        ("[::1]:7", ("::1", 7)),
        ("http://h:7/", ("h", 7)),
    ],
)
def test_an_address_is_on_loopback_unless_it_says_where(
    address: str, place: tuple[str, int]
) -> None:
    assert parse_listen_address(address) == place


@loop_over_rows("address", ["https://h:7", "h:x", "h:70000", "h:7/path", "u@h:7"])
def test_anything_else_is_refused_with_what_to_write(address: str) -> None:
    with pytest.raises(UsageError, match="write host:port"):
        parse_listen_address(address)


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
async def test_a_missing_library_is_named_with_the_remedy(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(UsageError, match=r"pip install .*\[http\]'"):
        await serve_http(Recorded(wire.DoneReply()), "0")


def test_the_contract_has_a_place_for_every_message_and_one_message_for_every_place() -> None:
    for verb, request in REQUESTS.items():
        method, path, body = encode_request(request)
        endpoint, again = decode_request(method, path, body or b"")
        assert (endpoint.verb, again) == (verb, request)

    assert sorted(endpoint.verb for endpoint in ROUTES) == sorted(wire.VERBS)
    assert len({(e.method, e.path) for e in ROUTES}) == len(wire.VERBS)


def test_the_committed_contract_declares_every_path_and_field() -> None:
    document = json.loads((ROOT / "docs/reference/openapi.json").read_text(encoding="utf-8"))
    schemas = document["components"]["schemas"]

    assert {(path, method.upper()) for path, at in document["paths"].items() for method in at} == {
        (e.path, e.method) for e in ROUTES
    }
    for endpoint in ROUTES:
        if endpoint.has_body:
            declared = set(schemas[endpoint.request.__name__]["properties"])
            fields = {f.name for f in msgspec.structs.fields(endpoint.request)}
            assert declared == fields - set(endpoint.path_fields)
    for reference in set(_references(document)):
        part = document
        for step in reference.removeprefix("#/").split("/"):
            part = part[step]


def _references(part: object) -> list[str]:
    if isinstance(part, dict):
        own = [str(part["$ref"])] if "$ref" in part else []
        return own + [each for value in part.values() for each in _references(value)]
    if isinstance(part, list):
        return [each for value in part for each in _references(value)]
    return []


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}],
    ids=["a foreign host", "a foreign page", "a page without origin"],
)
async def test_web_pages_are_not_served(headers: dict[str, str]) -> None:
    system = ScriptedSystem(lambda lived, question: "")
    async with serving(system) as url, httpx.AsyncClient(trust_env=False) as browser:
        typed = {"Content-Type": "text/plain", **headers}
        refused = await browser.post(f"{url}/memories", content='{"scenario":"s"}', headers=typed)
        served = await browser.post(f"{url}/memories", content='{"scenario":"s"}')

    assert (refused.status_code, served.status_code) == (403, 201)
