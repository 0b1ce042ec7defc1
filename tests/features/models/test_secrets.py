"""A key goes to the provider and nowhere else, though the provider shouts it back."""

import logging
import traceback
from base64 import b64encode

import pytest

from recall_bench.core.errors import ModelFault, ModelGone
from recall_bench.core.redaction import REDACTED, Redactor, list_environment_secrets
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import open_model
from recall_bench.systems.models.model import Model, Prompt
from tests import openai_server as scripted
from tests.loops import loop_over_rows
from tests.openai_server import OpenAIServer, Response

pytest.importorskip("pydantic_ai")

KEY = "sk-planted-0123456789abcdef"
ODD_KEY = 'planted/9+"8 7%'
PASSWORD = "planted-password"
PROMPT = Prompt(system="s", user="u")


def opened(text: str, **environ: str) -> Model:
    spec = parse_spec(text, environ)
    assert spec is not None
    return open_model(spec, environ)


def everything_said(error: BaseException) -> str:
    """What any printer of errors could find: the traceback, the whole chain, arguments, fields."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None:
        chain.append(current)
        current = current.__cause__ or current.__context__
    told = [f"{link!s} {link!r} {link.args} {vars(link)}" for link in chain]
    return "\n".join([*told, *traceback.format_exception(error)])


async def failure(model: Model) -> ModelFault:
    with pytest.raises(ModelFault) as raised:
        await model.complete(PROMPT)
    await model.close()
    return raised.value


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("provider", "status"),
    [
        *(("openai", status) for status in (400, 401, 403, 404, 418, 429, 500)),
        ("openai-responses", 401),
        ("anthropic", 401),
        ("ollama", 401),
    ],
)
async def test_an_echoed_key_is_in_no_error(provider: str, status: int) -> None:
    with OpenAIServer([scripted.echo(status)]) as server:
        error = await failure(opened(f"{provider}:m;{server.base_url};key-env=K", K=KEY))

    assert KEY in str(server.requests[0].headers), "the key was not even sent"
    assert "planted" not in everything_said(error)
    assert REDACTED in str(error)


@pytest.mark.anyio
async def test_an_error_has_no_cause_or_context() -> None:
    """What caused it holds the provider's headers."""
    with OpenAIServer([scripted.echo()]) as server:
        error = await failure(opened(f"openai:m;{server.base_url}", OPENAI_API_KEY=KEY))

    assert isinstance(error, ModelGone)
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.anyio
@pytest.mark.parametrize(
    "response",
    [
        pytest.param(scripted.malformed(f"<html>{KEY}".encode()), id="not JSON"),
        pytest.param(scripted.malformed(f'{{"id": "{KEY}"}}'.encode()), id="no completion"),
        pytest.param(
            Response(body=KEY.encode(), headers={"content-type": "text/plain"}), id="text"
        ),
        pytest.param(scripted.error(302, KEY), id="302"),
    ],
)
async def test_a_key_in_a_reply_that_makes_no_sense_is_in_no_error(response: Response) -> None:
    with OpenAIServer([response]) as server:
        error = await failure(opened(f"openai:m;{server.base_url}", OPENAI_API_KEY=KEY))

    assert "planted" not in everything_said(error)


@pytest.mark.anyio
async def test_user_and_password_of_an_address_are_in_no_error() -> None:
    with OpenAIServer([scripted.echo()]) as server:
        place = server.base_url.replace("://", f"://ada:{PASSWORD}@")
        model = opened(f"openai:m;{place}")
        error = await failure(model)

    basic = b64encode(f"ada:{PASSWORD}".encode()).decode()
    assert server.requests[0].headers["authorization"] == f"Basic {basic}"
    said = everything_said(error) + model.name + repr(model)
    assert PASSWORD not in said
    assert basic not in said


@pytest.mark.anyio
async def test_a_key_in_a_reply_is_not_passed_on() -> None:
    with OpenAIServer([scripted.ok(f"Your key is {KEY}, and Bearer words stay.")]) as server:
        model = opened(f"openai:m;{server.base_url}", OPENAI_API_KEY=KEY)
        reply = await model.complete(PROMPT)
        await model.close()

    assert reply.text == f"Your key is {REDACTED}, and Bearer words stay."


@pytest.mark.anyio
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_the_libraries_log_no_key_at_any_level(
    provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "anthropic", "httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)

    with OpenAIServer([scripted.echo(), scripted.ok("3")]) as server:
        place = server.base_url.replace("://", f"://ada:{PASSWORD}@")
        await failure(opened(f"{provider}:m;{server.base_url};key-env=K", K=KEY))
        model = opened(f"openai:m;{place}")
        await model.complete(PROMPT)
        await model.close()

    assert {record.name.partition(".")[0] for record in caplog.records} >= {"httpx2", "httpcore2"}
    assert "x-echoed-key" in caplog.text, "the header with the key was not even logged"
    logged = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert "planted" not in logged
    assert b64encode(f"ada:{PASSWORD}".encode()).decode() not in logged


def test_a_logged_exception_is_redacted_too(caplog: pytest.LogCaptureFixture) -> None:
    opened("openai:m", OPENAI_API_KEY=KEY)

    try:
        raise ValueError(f"the key was {KEY}")  # noqa: TRY301
    except ValueError:
        logging.getLogger("httpx2").exception("calling with %s failed", KEY)

    assert "ValueError: the key was [redacted]" in caplog.text
    assert "calling with [redacted] failed" in caplog.text


def test_nothing_about_a_model_shows_its_key() -> None:
    model = opened("openai:m;key-env=K", K=KEY)

    assert "planted" not in f"{model} {model!r} {model.name}"
    assert repr(model) == "ProviderModel(openai:m)"
    assert "planted" not in repr(Redactor([KEY]))


@pytest.mark.anyio
async def test_other_keys_of_the_environment_are_in_no_error_either() -> None:
    other = "planted-elsewhere-42"
    with OpenAIServer([scripted.error(500, f"cannot use {other}")]) as server:
        error = await failure(opened(f"openai:m;{server.base_url}", AWS_SECRET_ACCESS_KEY=other))

    assert "planted" not in everything_said(error)


@loop_over_rows(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Incorrect API key provided: {KEY[:12]}********cdef.",
        f"broken off in {KEY[:15]}",
        f"{{'Authorization': 'Bearer {KEY}'}}",
        f"[(b'authorization', b'Bearer {KEY}')]",
        f"https://ada:{KEY}@host/v1",
        f"key={KEY}&x=1",
        "Basic " + b64encode(KEY.encode()).decode(),
    ],
)
def test_a_known_key_is_found_however_it_is_written(text: str) -> None:
    told = Redactor([KEY])(text)

    assert "planted" not in told
    assert "cdef" not in told
    assert b64encode(KEY.encode()).decode() not in told


@pytest.mark.parametrize(
    "text",
    [ODD_KEY, 'planted/9+\\"8 7%', "planted%2F9%2B%228%207%25"],
    ids=["plain", "JSON", "URL"],
)
def test_a_key_with_odd_characters_is_found_in_every_spelling(text: str) -> None:
    assert Redactor([ODD_KEY])(f"<{text}>") == f"<{REDACTED}>"


@loop_over_rows(
    ("text", "told"),
    [
        ("Authorization: Bearer abcdef123", f"Authorization: {REDACTED}"),
        ("'x-api-key': 'abcdef123'", f"'x-api-key': '{REDACTED}'"),
        ("api_key=abcdef123, model=m", f"api_key={REDACTED}, model=m"),
        ("http://ada:word@host/v1", f"http://{REDACTED}@host/v1"),
        ("the key sk-abc***********xyz is wrong", f"the key {REDACTED} is wrong"),
    ],
)
def test_text_that_looks_like_a_key_is_redacted(text: str, told: str) -> None:
    assert Redactor(())(text) == told


@pytest.mark.parametrize(
    "text",
    [
        "The bearer of bad news writes to ada@example.org about basic understanding.",
        "status 429: slow down; see https://host/v1/models",
        "a risk-averse task-based approach",
    ],
)
def test_other_words_stay(text: str) -> None:
    assert Redactor([KEY])(text) == text


def test_a_short_key_is_redacted_as_a_whole_word() -> None:
    assert Redactor(["abc"])("abc abcd, abc.") == f"{REDACTED} abcd, {REDACTED}."


def test_secrets_of_the_environment_are_recognised_by_their_names() -> None:
    environ = {
        "TEAM_KEY": "0123456789",
        "HF_TOKEN": "hf-0123456789",
        "DB_PASSWORD": "short",
        "KEYBOARD": "qwertyuiop",
        "HOME": "/home/ada/long",
    }

    assert list_environment_secrets(environ) == ("0123456789", "hf-0123456789")
