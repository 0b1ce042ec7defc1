"""An address alone means the one model that its server lists, or a choice to be made."""

import socket

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.models.compatible_server import (
    find_served_model,
    is_address,
    parse_address,
    resolve_server,
)
from recall_bench.features.models.model_spec import Price
from tests import openai_server as scripted
from tests.features.models.prompts import KEY
from tests.loops import loop_over_rows
from tests.openai_server import OpenAIServer, Response


def refusal(target: str, **environ: str) -> str:
    with pytest.raises(UsageError) as raised:
        find_served_model(target, environ)
    assert raised.value.__context__ is None
    return str(raised.value)


def test_the_only_model_of_a_server_is_chosen() -> None:
    with OpenAIServer([scripted.models("qwen3:8b")]) as server:
        spec = find_served_model(server.base_url, {})

    assert spec.name == f"openai:qwen3:8b;{server.base_url}"
    assert server.requests[0].path == "/v1/models"
    assert "authorization" not in server.requests[0].headers


def test_options_after_the_address_count() -> None:
    with OpenAIServer([scripted.models("m", "m")]) as server:
        spec = find_served_model(f"{server.base_url};price=1/2;key-env=TEAM_KEY", {"TEAM_KEY": KEY})

    assert (spec.model, spec.price, spec.key_env) == ("m", Price(input=1, output=2), "TEAM_KEY")
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_several_models_are_listed_for_the_user_to_choose() -> None:
    with OpenAIServer([scripted.models(*(f"model-{number}" for number in range(15)))]) as server:
        told = refusal(server.base_url)

    assert "serves 15 models (model-0, model-1, " in told
    assert "model-11 and 3 more); name one" in told
    assert f"'openai:model-0;{server.base_url}'" in told


@loop_over_rows(
    ("response", "told"),
    [
        (scripted.models(), "serves no model; load one"),
        (scripted.error(401), "needs a key, or another one; name its variable with key-env="),
        (scripted.error(404), r"most base URLs end in /v1"),
        (scripted.error(500), "refuses to list its models (status 500)"),
        (scripted.malformed(), "something that is not a list of models"),
        (scripted.malformed(b"\xff"), "something that is not a list of models"),
        (scripted.json_reply({"models": []}), "something that is not a list of models"),
        (scripted.truncated(), "something that is not a list of models"),
    ],
)
def test_a_server_without_a_model_list_is_reported_once(response: Response, told: str) -> None:
    with OpenAIServer([response]) as server:
        said = refusal(server.base_url)

    assert said.startswith(f"{server.base_url}: ")
    assert told in said
    assert len(server.requests) == 1


def test_an_address_without_a_server_is_reported() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        told = refusal(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")

    assert "cannot be asked for its models ([Errno " in told
    assert "'openai:NAME;http://127.0.0.1:" in told


def test_a_silent_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bench.features.models.compatible_server._LIST_TIMEOUT_S", 0.1)
    with OpenAIServer([scripted.hang()]) as server:
        assert "no reply within 0.1 s" in refusal(server.base_url)


def test_the_key_follows_no_redirect() -> None:
    with OpenAIServer([]) as other:
        away = scripted.error(302, headers={"location": f"{other.base_url}/models"})
        with OpenAIServer([away]) as server:
            told = refusal(server.base_url, OPENAI_API_KEY=KEY)

    assert other.requests == []
    assert "status 302" in told


def test_the_key_passes_no_proxy_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer([]) as proxy, OpenAIServer([scripted.models("m")]) as server:
        monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))

        assert find_served_model(server.base_url, {"OPENAI_API_KEY": KEY}).model == "m"

    assert proxy.requests == []


def test_the_usual_key_is_for_this_machine_alone() -> None:
    with OpenAIServer([scripted.models("m")]) as server:
        find_served_model(server.base_url, {"OPENAI_API_KEY": KEY})

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    elsewhere = resolve_server(parse_address("http://gpu-box:8000/v1", {}), {"OPENAI_API_KEY": KEY})
    assert elsewhere is not None
    assert elsewhere.headers == {}


def test_a_password_in_the_address_is_sent_and_not_shown() -> None:
    with OpenAIServer([scripted.echo(403)]) as server:
        told = refusal(server.base_url.replace("://", "://ada:sesame@"))

    # What `printf ada:sesame | base64` says.
    assert server.requests[0].headers["authorization"] == "Basic YWRhOnNlc2FtZQ=="
    assert "sesame" not in told


@pytest.mark.parametrize("target", ["http:", "http://h/v1?key=x", "https://h/v1;depth=3"])
def test_a_wrong_address_is_refused_without_a_request(target: str) -> None:
    assert "openai:MODEL: " in refusal(target)


def test_addresses_are_recognised() -> None:
    assert is_address("HTTP://127.0.0.1:8000/v1;price=0/0")
    assert not is_address("openai:m;http://127.0.0.1:8000/v1")
    assert not is_address("httpie.py")
