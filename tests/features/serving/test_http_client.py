"""Each failure of an HTTP server is told apart, keeps its reason, and tells no secret."""

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from recall_bench.core.errors import (
    BenchError,
    SystemBusy,
    SystemFault,
    SystemGone,
    SystemTimeout,
    UsageError,
)
from recall_bench.systems.transports import wire
from recall_bench.systems.transports.http_system import (
    HttpAddress,
    HttpTransport,
    connect_http_system,
    parse_http_address,
)
from recall_bench.systems.transports.remote_system import RequestNotServed
from tests.faulty.fakes import ScriptedSystem
from tests.features.serving.http_servers import serving
from tests.loops import loop_over_rows
from tests.systems.saying_server import Said, saying

pytestmark = pytest.mark.anyio

ASK = wire.AskRequest(memory="m", question="Who?", id="q", date="2026-01-09", session="crew")


@asynccontextmanager
async def carrying(url: str, **settings: float) -> AsyncIterator[HttpTransport]:
    carrier = HttpTransport(parse_http_address(url, {}), **settings)
    try:
        yield carrier
    finally:
        await carrier.close()


async def raised_by(said: Said, request: wire.Request = ASK) -> BenchError:
    with saying(lambda *_: said) as url:
        async with carrying(url) as carrier:
            with pytest.raises(BenchError) as raised:
                await carrier.call(request, wire.VERBS[wire.VERB_OF[type(request)]][1])
    assert isinstance(raised.value, BenchError)
    return raised.value


@pytest.mark.parametrize(
    ("status", "headers", "kind"),
    [
        (400, {}, SystemFault),
        (404, {}, SystemGone),
        (405, {}, RequestNotServed),
        (408, {}, SystemTimeout),
        (410, {}, SystemGone),
        (422, {}, SystemFault),
        (429, {}, SystemBusy),
        (429, {"Retry-After": "7"}, SystemBusy),
        (500, {}, SystemFault),
        (501, {}, RequestNotServed),
        (502, {}, SystemGone),
        (503, {}, SystemGone),
        (503, {"Retry-After": "7"}, SystemBusy),
        (504, {}, SystemTimeout),
    ],
)
async def test_a_status_alone_says_what_went_wrong(
    status: int, headers: dict[str, str], kind: type[BenchError]
) -> None:
    error = await raised_by((status, headers, b"<h1>no\nluck</h1>"))

    assert type(error) is kind
    assert "POST /memories/m/ask: <h1>no luck</h1>" in str(error)
    if isinstance(error, SystemBusy):
        assert error.retry_after_s == (7 if headers else 0)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("fault", SystemFault),
        ("busy", SystemBusy),
        ("timeout", SystemTimeout),
        ("gone", SystemGone),
        ("unsupported", RequestNotServed),
        ("novel", SystemTimeout),
    ],
)
async def test_the_kind_a_server_names_wins_over_the_status_if_it_is_known(
    kind: str, expected: type[BenchError]
) -> None:
    body = b'{"kind": "%s", "message": "because", "retry_after_s": 3}' % kind.encode()

    error = await raised_by((504, {}, body))

    assert type(error) is expected
    assert "because" in str(error)
    if isinstance(error, SystemBusy):
        assert error.retry_after_s == 3


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"Fig", "what came is 'Fig'", id="plain text"),
        pytest.param(b"", "nothing came", id="nothing"),
        pytest.param(b'"Fig"', "Expected `object`, got `str`", id="a bare string"),
        pytest.param(b'{"answer": 7}', "at `$.answer`", id="a number for an answer"),
        pytest.param(b'{"passages": [{}]}', "field `text`", id="a passage without a text"),
        pytest.param(b'{"answer": "\xff"}', "what came is", id="no UTF-8"),
        pytest.param(b'{"passages": [{"text": "", "score": NaN}]}', "what came", id="NaN"),
    ],
)
async def test_an_invalid_reply_is_a_fault_that_quotes_it(body: bytes, said: str) -> None:
    error = await raised_by((200, {}, body))

    assert type(error) is SystemFault
    assert "no AnswerReply came back" in str(error)
    assert said in str(error)


@pytest.mark.parametrize("said", [(204, {}, b""), (200, {}, b"{}"), (202, {}, b'{"more": 1}')])
async def test_any_successful_status_means_done(said: Said) -> None:
    with saying(lambda *_: said) as url:
        async with carrying(url) as carrier:
            done = await carrier.call(wire.SettleRequest(memory="m"), wire.DoneReply)

    assert done == wire.DoneReply()


async def test_a_redirect_is_reported_and_not_followed() -> None:
    asked: list[str] = []

    def elsewhere(_method: str, path: str, _body: bytes) -> Said:
        asked.append(path)
        return 307, {"Location": "https://me:pw@elsewhere.example/x?token=abc"}, b""

    with saying(elsewhere) as url:
        async with carrying(url) as carrier:
            with pytest.raises(UsageError, match=r"redirected to https://elsewhere\.example/x;"):
                await carrier.call(ASK, wire.AnswerReply)

    assert asked == ["/memories/m/ask"]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_token_is_reported_with_the_remedy(status: int) -> None:
    error = await raised_by((status, {}, b""))

    assert type(error) is UsageError
    assert f"refused with {status}; set RECALL_BENCH_HTTP_TOKEN" in str(error)


async def test_a_reply_too_long_to_keep_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bench.systems.transports.http_system.MAX_BODY_BYTES", 10)

    error = await raised_by((200, {}, b'{"answer": "long"}'))

    assert type(error) is SystemFault
    assert "more than 10 bytes came" in str(error)


async def test_no_server_is_gone_and_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    async with carrying(f"http://127.0.0.1:{port}") as carrier:
        with pytest.raises(SystemGone, match=r"nothing can be reached.*refused.*start the server"):
            await carrier.call(ASK, wire.AnswerReply)


async def test_a_host_that_does_not_exist_is_gone() -> None:
    async with carrying("http://no-such-host.invalid:1") as carrier:
        with pytest.raises(SystemGone, match="nothing can be reached at http://no-such-host"):
            await carrier.call(ASK, wire.AnswerReply)


@pytest.mark.parametrize("reply", [b"", b"SSH-2.0-server\r\n", b"HTTP/1.1 200 OK\r\n"])
async def test_a_server_that_disconnects_or_is_not_http_is_gone(reply: bytes) -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()

    async def hang_up(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(reply)

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, hang_up)
        async with carrying(f"http://127.0.0.1:{port}") as carrier:
            with pytest.raises(SystemGone, match="was not answered"):
                await carrier.call(ASK, wire.AnswerReply)
        tasks.cancel_scope.cancel()


async def test_a_call_that_takes_too_long_is_a_timeout_where_one_is_given() -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()

    async def say_nothing(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await anyio.sleep_forever()

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, say_nothing)
        async with carrying(f"http://127.0.0.1:{port}", timeout_s=0.05) as carrier:
            with pytest.raises(SystemTimeout, match=r"took longer than 0\.05 s"):
                await carrier.call(ASK, wire.AnswerReply)
        tasks.cancel_scope.cancel()


async def test_a_server_started_again_is_noticed_by_the_first_call() -> None:
    system = ScriptedSystem(lambda lived, question: "")
    async with serving(system) as url, carrying(url) as carrier:
        opened = await carrier.call(wire.OpenRequest(scenario="s"), wire.OpenReply)

    async with serving(system) as url, carrying(url) as carrier:
        with pytest.raises(SystemGone, match="not held here"):
            await carrier.call(wire.SettleRequest(memory=opened.memory), wire.DoneReply)


async def test_a_carrier_that_was_closed_connects_again() -> None:
    system = ScriptedSystem(lambda lived, question: "")

    async with serving(system) as url, carrying(url) as carrier:
        await carrier.call(wire.HealthRequest(), wire.HealthReply)
        await carrier.close()
        await carrier.close()
        health = await carrier.call(wire.HealthRequest(), wire.HealthReply)

    assert health.name == "scripted"


async def test_connections_are_kept_and_shared() -> None:
    clients: set[object] = set()
    bodies: list[bytes] = []

    def note(_method: str, _path: str, body: bytes) -> Said:
        bodies.append(body)
        return 200, {}, b"{}"

    with saying(note) as url:
        async with carrying(url) as carrier:
            for _ in range(3):
                await carrier.call(ASK, wire.AnswerReply)
                pool = carrier._client._transport._pool  # type: ignore[union-attr]
                clients |= set(pool.connections)

    assert len(bodies) == 3
    assert len(clients) == 1


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    with saying(lambda *_: (200, {}, b"{}")) as url:
        async with carrying(url) as carrier:
            told = await carrier.call(ASK, wire.AnswerReply)

    assert told == wire.AnswerReply()


async def test_credentials_are_sent_and_never_shown() -> None:
    said: list[str] = []

    def echo(_method: str, _path: str, _body: bytes) -> Said:
        return 500, {}, b"refusing me:p@ss and p%40ss and bWU6cEBzcw=="

    with saying(echo) as url:
        address = parse_http_address(url.replace("http://", "http://me:p%40ss@"), {})
        carrier = HttpTransport(address)
        with pytest.raises(SystemFault) as raised:
            await carrier.call(ASK, wire.AnswerReply)
        await carrier.close()
        said += [str(raised.value), repr(address), address.url]

    assert address.authorization == "Basic bWU6cEBzcw=="
    assert not any(secret in text for text in said for secret in ("p@ss", "p%40ss", "bWU6"))


async def test_a_token_of_the_environment_is_sent_as_a_bearer() -> None:
    address = parse_http_address("http://h", {"RECALL_BENCH_HTTP_TOKEN": "t0ken"})

    assert address == HttpAddress("http://h", "Bearer t0ken", ("t0ken",))
    assert "t0ken" not in repr(address)
    assert address.redact("no t0ken") == "no [redacted]"


@loop_over_rows(
    ("target", "url"),
    [
        ("http://h", "http://h"),
        ("http://h:8000/", "http://h:8000"),
        ("https://h/a/b/", "https://h/a/b"),
        ("http://[::1]:7", "http://[::1]:7"),
        ("http://me:pw@h:8", "http://h:8"),
    ],
)
def test_an_address_may_have_a_path_and_loses_its_credentials(target: str, url: str) -> None:
    assert parse_http_address(target, {}).url == url


@loop_over_rows(
    "target",
    [
        "ftp://me:pw@h",
        "http://",
        "http://me:pw@:80",
        "http://me:pw@h:0",
        "http://me:pw@h:x",
        "http://me:pw@h:70000",
        "http://me:pw@[::1",
        "http://me:pw@h?key=pw",
        "http://me:pw@h#pw",
    ],
)
def test_anything_else_is_refused_without_repeating_credentials(target: str) -> None:
    with pytest.raises(UsageError, match="write http://host:port") as refusal:
        parse_http_address(target, {})

    assert "pw" not in str(refusal.value)


async def test_a_path_before_the_others_is_kept() -> None:
    paths: list[str] = []

    def note(_method: str, path: str, _body: bytes) -> Said:
        paths.append(path)
        return 200, {}, b"{}"

    with saying(note) as url:
        system = await connect_http_system(f"{url}/api/recall/")

    assert paths == ["/api/recall/health"]
    assert system.card.name == f"{url}/api/recall"
    assert system.card.config == {"transport": "http", "protocol": 2}


async def test_the_card_holds_what_the_server_says_and_no_credentials() -> None:
    body = b'{"name": "n", "version": "2", "clock": "native", "answers": false, "snapshots": true}'

    with saying(lambda *_: (200, {}, body)) as url:
        system = await connect_http_system(url.replace("http://", "http://me:pw@"))

    assert (system.card.name, system.card.version, system.card.answers) == ("n", "2", False)
    assert system.snapshots is not None
    assert "pw" not in repr(system.card)


async def test_a_server_that_warms_up_is_waited_for() -> None:
    replies = [
        (503, {}, b"warming up"),
        (503, {"Retry-After": "1"}, b""),
        (200, {}, b'{"ready": false}'),
        (200, {}, b'{"name": "warm"}'),
    ]

    with saying(lambda *_: replies.pop(0)) as url:
        system = await connect_http_system(url)

    assert system.card.name == "warm"


async def test_a_server_that_never_warms_up_is_gone() -> None:
    with (
        saying(lambda *_: (503, {}, b"")) as url,
        pytest.raises(SystemGone, match=r"not ready after 0\.1 s"),
    ):
        await connect_http_system(url, ready_timeout_s=0.1)


@pytest.mark.parametrize(
    ("said", "kind", "text"),
    [
        ((200, {}, b"<html>hello"), UsageError, "speaks our protocol"),
        ((200, {}, b"[]"), UsageError, "speaks our protocol"),
        ((404, {}, b"not here"), SystemGone, "answers 404: not here; check the address"),
        ((500, {}, b""), SystemGone, "answers 500: status 500; check the address"),
        ((200, {}, b'{"clock": "sundial"}'), UsageError, "sundial"),
    ],
)
async def test_a_wrong_server_is_reported_before_a_run_begins(
    said: Said, kind: type[BenchError], text: str
) -> None:
    with saying(lambda *_: said) as url, pytest.raises(kind, match=text):
        await connect_http_system(url)


async def test_a_missing_library_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)

    with pytest.raises(UsageError, match=r"pip install .*\[http\]'"):
        await connect_http_system("http://h")
