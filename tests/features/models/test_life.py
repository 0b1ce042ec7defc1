"""An endpoint lives from start to stop, and leaves nothing running and nobody waiting."""

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage, UsageMeter
from recall_bench.features.models.model_endpoint import ModelEndpoint, resolve_endpoint
from recall_bench.systems.parent_endpoint import ParentEndpoint
from tests import openai_server as scripted
from tests.features.models.endpoint.clients import HELLO, call, client, talking
from tests.features.models.prompts import KEY
from tests.fixtures.systems_endpoint import left_over
from tests.openai_server import OpenAIServer
from tests.systems.serving_commands import serve_command


def port_of(endpoint: ModelEndpoint) -> int:
    return int(endpoint.url.rpartition(":")[2].removesuffix("/v1"))


def test_nothing_runs_before_the_start_and_nothing_after_the_stop(
    threads: set[threading.Thread],
) -> None:
    endpoint = ModelEndpoint()
    with pytest.raises(UsageError, match="start it first"):
        _ = endpoint.url

    with endpoint:
        port = port_of(endpoint)
        call(endpoint, "/v1/models", method="GET")

    assert not left_over(threads)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_starting_and_stopping_twice_is_no_mistake(threads: set[threading.Thread]) -> None:
    endpoint = ModelEndpoint()
    endpoint.start()
    first = endpoint.url
    endpoint.start()

    assert endpoint.url == first
    endpoint.stop()
    endpoint.stop()


def test_a_stopped_endpoint_starts_again_and_its_meter_goes_on(
    threads: set[threading.Thread],
) -> None:
    endpoint = ModelEndpoint()
    for _ in range(2):
        with endpoint, client(endpoint) as product:
            product.embeddings.create(model="m", input="cat")

    assert endpoint.meter.total.calls == 2


def test_a_waiting_client_gets_an_error_when_it_stops(threads: set[threading.Thread]) -> None:
    arrived = threading.Event()

    def hanging(request: dict[str, object]) -> scripted.Response:
        arrived.set()
        return scripted.hang()

    with OpenAIServer(hanging) as server, ThreadPoolExecutor(1) as pool:
        with talking(f"openai:m;{server.base_url}") as endpoint:
            body = {"model": "gpt", "messages": HELLO}
            waiting = pool.submit(call, endpoint, "/v1/chat/completions", body)
            assert arrived.wait(60)
        status, _, reply = waiting.result(20)

    assert status == 503
    assert "closing" in json.loads(reply)["error"]["message"]


def test_a_port_that_is_taken_is_refused_in_one_sentence(threads: set[threading.Thread]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(UsageError, match=f"cannot serve at 127.0.0.1:{port} "):
            ModelEndpoint(port=port).start()


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can, so that a missing lock shows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_port_can_be_had_again_at_once(threads: set[threading.Thread]) -> None:
    with ModelEndpoint() as first:
        port = port_of(first)
        with client(first) as product:
            product.models.list()
            first.stop()  # hangs up on a client that is still there

    with ModelEndpoint(port=port) as second:
        assert port_of(second) == port


@pytest.mark.usefixtures("restless")
def test_the_meter_hands_out_everything_once() -> None:
    meter = UsageMeter()
    drained: list[Usage] = []

    def spend() -> None:
        for _ in range(500):
            meter.add(Usage(calls=1, input_tokens=2))
            drained.append(meter.drain())

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(spend) for _ in range(8)]:
            done.result()

    assert sum(usage.calls for usage in drained) == 4000
    assert meter.total == Usage(calls=4000, input_tokens=8000)
    assert meter.drain() == Usage()


def test_without_settings_it_embeds_with_word_vectors_and_passes_nothing_on() -> None:
    endpoint = resolve_endpoint(Settings(), {})

    assert isinstance(endpoint, ModelEndpoint)
    assert (endpoint.embedder, endpoint.dimensions, endpoint.model) == ("wordllama", 256, None)


def test_settings_name_the_model_and_the_embedder() -> None:
    settings = Settings(
        system_model="openai:m;http://127.0.0.1:9/v1",
        system_embedder="openai:e;http://user:word@127.0.0.1:9/v1",
    )

    endpoint = resolve_endpoint(settings, {"OPENAI_API_KEY": KEY})

    assert isinstance(endpoint, ModelEndpoint)
    assert endpoint.model == "openai:m;http://127.0.0.1:9/v1"
    assert endpoint.embedder == "openai:e;http://127.0.0.1:9/v1"
    assert endpoint.embedding_model == "e"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param({"system_model": "gpt"}, "--system-model: names no language", id="no model"),
        pytest.param({"system_model": "openai:gpt"}, "--system-model: .*needs a key", id="no key"),
        pytest.param(
            {"system_embedder": "openai:e"},
            "--system-embedder: .*needs a key",
            id="no key to embed",
        ),
        pytest.param(
            {"system_embedder": "anthropic:e"}, "--system-embedder: no embedder", id="no embedder"
        ),
        pytest.param({"system_embedder": "glove"}, "--system-embedder: no embedder", id="a word"),
        pytest.param({"system_embedder": "fastembed:"}, "names no model", id="no name"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_flag(settings: dict[str, str], said: str) -> None:
    environ = {"ANTHROPIC_API_KEY": KEY}

    with pytest.raises(UsageError, match=said):
        resolve_endpoint(Settings(**settings), environ)  # type: ignore[arg-type]


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "recall_bench.features.models.endpoint_server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    with pytest.raises(UsageError, match=r"pip install .*\[http\]'"):
        ModelEndpoint().start()


def test_an_embedder_that_cannot_be_asked_stops_the_start(threads: set[threading.Thread]) -> None:
    settings = Settings(system_embedder="openai:e;http://127.0.0.1:9/v1")

    with pytest.raises(UsageError, match=r"the embedder cannot be asked: .*connection failed"):
        resolve_endpoint(settings, {}).start()


def test_a_child_borrows_the_endpoint_of_the_process_above(endpoint: ModelEndpoint) -> None:
    borrowed = resolve_endpoint(Settings(), {"RECALL_BENCH_ENDPOINT": endpoint.url})

    with borrowed:
        assert isinstance(borrowed, ParentEndpoint)
        assert borrowed.url == endpoint.url
        assert borrowed.embedding_model == endpoint.embedding_model
        assert (borrowed.dimensions, borrowed.embedder) == (256, "wordllama")
        assert borrowed.model is None
    assert call(endpoint, "/v1/models", method="GET")[0] == 200
    assert borrowed.meter.total == Usage()


def test_a_server_that_is_no_endpoint_of_ours_cannot_be_borrowed() -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"data": [{"id": "gpt"}]}')

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as overridden
            """Tests are quiet."""

    with HTTPServer(("127.0.0.1", 0), Other) as other, ThreadPoolExecutor(1) as pool:
        pool.submit(other.handle_request)
        url = f"http://127.0.0.1:{other.server_address[1]}/v1"

        with pytest.raises(UsageError, match="no model endpoint answers"):
            ParentEndpoint(url).start()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:9/v1", "no model endpoint answers"),
        ("https://models.example/v1", "no endpoint on this machine"),
        ("word", "no endpoint on this machine"),
    ],
)
def test_an_upstream_that_is_no_endpoint_is_refused(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        resolve_endpoint(Settings(), {"RECALL_BENCH_ENDPOINT": url}).start()


def test_an_endpoint_above_has_its_own_model() -> None:
    environ = {"RECALL_BENCH_ENDPOINT": "http://127.0.0.1:9/v1"}

    with pytest.raises(UsageError, match="leave them out, or unset"):
        resolve_endpoint(Settings(system_embedder="wordllama"), environ)


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_interrupted_and_says_what_was_spent(
    number: signal.Signals,
) -> None:
    with serve_command(["endpoint"]) as command:
        address, key = command.out.readline(), command.out.readline()
        there = ParentEndpoint(address.strip().partition("=")[2])
        with client(there) as product:
            product.embeddings.create(model="m", input="hello world")
        command.process.send_signal(number)
        code = command.process.wait()
        told = command.err.read()

    assert address.startswith("export OPENAI_BASE_URL=http://127.0.0.1:")
    assert key == "export OPENAI_API_KEY=unused\n"
    assert "embeddings: wordllama, 256 dimensions" in told
    assert "1 call · 2 tokens in, 0 out · $0.0000" in told
    assert code == 0
