"""What comes back from agents behind an address: replies, errors, and things that are neither."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from recall_bench.core.errors import (
    BenchError,
    ContextExceeded,
    NotAnAnswer,
    SystemBusy,
    SystemFault,
    SystemGone,
    UsageError,
)
from recall_bench.core.memory import Answer
from recall_bench.core.redaction import get_redactor
from recall_bench.core.scenario import Episode, Question, Turn
from recall_bench.core.settings import Settings
from recall_bench.features.agents.a2a_agent import V0_3, V1_0, PeerOutcome, parse_peer_card
from recall_bench.features.agents.agent_system import AgentSystem
from recall_bench.systems.resolver import resolve_system
from tests.features.agents.canned import STREAM, CannedAgent, serve_canned
from tests.loops import loop_over_rows

pytestmark = pytest.mark.anyio

QUESTION = Question(id="q", text="What leaks?", asked_at=datetime(2025, 3, 9), scenario="s")
DAY = Episode(
    id="day-0001",
    day=1,
    at=datetime(2025, 3, 1),
    text="a\nb",
    turns=(Turn(speaker="user", text="a"), Turn(speaker="user", text="b")),
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def canned() -> Iterator[CannedAgent]:
    with serve_canned() as server:
        yield server


def open_chat(canned: CannedAgent, **config: object) -> AgentSystem:
    system = resolve_system(
        Settings(adapter=f"openai:{canned.url}", config={"model": "m", **config})
    )
    assert isinstance(system, AgentSystem)
    return system


def open_peer(canned: CannedAgent, version: str = "1.0", **config: object) -> AgentSystem:
    interface = {"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": version}
    card = {"name": "peer", "version": "7", "supportedInterfaces": [interface]}
    canned.add(card | {"capabilities": {"streaming": True}})
    system = resolve_system(Settings(adapter=f"a2a:{canned.url}", config=config))
    assert isinstance(system, AgentSystem)
    return system


async def ask(system: AgentSystem) -> Answer:
    try:
        memory = await system.open("s")
        return await memory.answer(QUESTION)
    finally:
        await system.close()


def say(text: object, **more: object) -> dict[str, object]:
    return {"choices": [{"message": {"role": "assistant", "content": text, **more}}]}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(say("The boiler."), "The boiler.", id="a text"),
        pytest.param(
            say([{"type": "text", "text": "The "}, {"type": "text", "text": "boiler."}]),
            "The boiler.",
            id="parts",
        ),
    ],
)
async def test_a_chat_replies(canned: CannedAgent, body: object, text: str) -> None:
    canned.add(body)

    assert (await ask(open_chat(canned))).text == text


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        pytest.param(200, b"Sure!", NotAnAnswer, id="prose"),
        pytest.param(200, [1], NotAnAnswer, id="a list"),
        pytest.param(200, {"choices": []}, NotAnAnswer, id="no choices"),
        pytest.param(200, say(""), NotAnAnswer, id="silence"),
        pytest.param(
            200, say(None, tool_calls=[{"function": {"name": "f"}}]), NotAnAnswer, id="tools"
        ),
        pytest.param(200, b"[" * 100_000, NotAnAnswer, id="deep"),
        pytest.param(301, b"", UsageError, id="moved"),
        pytest.param(401, {"error": {"message": "bad key"}}, UsageError, id="refused"),
        pytest.param(404, b"no", UsageError, id="nowhere"),
        pytest.param(400, {"error": "maximum context length"}, ContextExceeded, id="too long"),
        pytest.param(400, {"error": "bad field"}, SystemFault, id="bad"),
        pytest.param(429, {"error": "slow down"}, SystemBusy, id="busy"),
        pytest.param(500, {"detail": "oops"}, SystemFault, id="broken"),
    ],
)
async def test_what_is_no_reply_is_a_fault_of_its_kind(
    canned: CannedAgent, status: int, body: object, kind: type[BenchError]
) -> None:
    canned.add(body, status)

    with pytest.raises(kind) as raised:
        await ask(open_chat(canned))

    assert type(raised.value) is kind


async def test_an_agent_that_was_busy_receives_the_rest_of_the_day(canned: CannedAgent) -> None:
    canned.add(say("Noted."))
    canned.add({"error": "later"}, 503, Retry_After="0.5")
    canned.add(say("Noted."))
    system = open_chat(canned)
    memory = await system.open("s")

    with pytest.raises(SystemBusy) as busy:
        await memory.ingest(DAY)
    await memory.ingest(DAY)
    await system.close()

    assert busy.value.retry_after_s == 0.5
    told = [body["messages"][-1]["content"][-1] for _, body in canned.requests]
    assert told == ["a", "b", "b"]
    assert len(canned.requests[-1][1]["messages"]) == 3


async def test_a_key_is_sent_and_shown_nowhere(
    canned: CannedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_KEY", "sesame-open-4711")
    canned.add({"error": {"message": "I do not know sesame-open-4711"}}, 500)
    system = open_chat(canned, key_env="AGENT_KEY")

    with pytest.raises(SystemFault) as raised:
        await ask(system)

    (exchange,) = system.drain_exchanges("s")
    assert canned.requests[0][0]["Authorization"] == "Bearer sesame-open-4711"
    assert "4711" not in f"{raised.value} {exchange} {system.card}"


async def test_a_key_in_a_variable_of_any_name_is_written_nowhere(
    canned: CannedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYAGENT_AUTH", "sesame-open-5822")
    canned.add(say("You sent sesame-open-5822."))

    answer = await ask(open_chat(canned, key_env="MYAGENT_AUTH"))

    assert get_redactor().redact_keys(answer.text) == "You sent [redacted]."


async def test_headers_are_on_the_card_by_name(canned: CannedAgent) -> None:
    headers = {"X-Auth": "hunter2222", "Cookie": "sid=1234567890", "X-User": "user-{memory}"}
    card = open_chat(canned, headers=headers).card

    shown = {"X-Auth": "[redacted]", "Cookie": "[redacted]", "X-User": "user-{memory}"}
    assert card.config["headers"] == shown


async def test_headers_name_the_conversation(canned: CannedAgent) -> None:
    canned.add(say("The boiler."))

    await ask(open_chat(canned, headers={"X-Session": "{session}"}))

    assert re.fullmatch(r"[0-9a-f-]{36}", canned.requests[0][0]["X-Session"])


@pytest.mark.parametrize(
    ("status", "listed", "model"),
    [(200, ["gpt"], "gpt"), (200, [], "default"), (404, [], "default"), (200, ["a", "b"], None)],
)
async def test_the_only_model_is_taken(
    canned: CannedAgent, status: int, listed: list[str], model: str | None
) -> None:
    canned.add({"data": [{"id": name} for name in listed]}, status)
    settings = Settings(adapter=f"openai:{canned.url}")

    if model is None:
        with pytest.raises(UsageError, match="several models; name one, as --config model=a"):
            resolve_system(settings)
    else:
        assert resolve_system(settings).card.config["model"] == model


async def test_an_agent_that_is_not_there_is_gone() -> None:
    for adapter in ("openai:http://127.0.0.1:9", "a2a:http://127.0.0.1:9"):
        with pytest.raises(SystemGone, match="nothing can be reached"):
            resolve_system(Settings(adapter=adapter))


async def test_a_stream_is_put_together(canned: CannedAgent) -> None:
    canned.add_events(
        {"choices": [{"delta": {"role": "assistant"}}]},
        {"choices": [{"delta": {"tool_calls": [{"id": "1", "function": {"name": "find"}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": "{}"}}]}}]},
        {"choices": [{"delta": {"content": "The "}}]},
        {"choices": [{"delta": {"content": "boiler."}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.5}},
    )
    system = open_chat(canned, stream=True)

    answer = await ask(system)

    spent = system.drain()
    assert answer.text == "The boiler."
    assert [call["name"] for call in answer.tool_calls] == ["find"]
    assert (spent.input_tokens, spent.output_tokens, spent.cost_usd) == (5, 2, 0.5)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(["[DONE]"], id="nothing"),
        pytest.param([{"error": {"message": "overloaded"}}], id="an error"),
        pytest.param(
            [{"choices": [{"delta": {"tool_calls": [{"id": str(each)}]}}]} for each in range(4)],
            id="too many tools",
        ),
    ],
)
async def test_a_stream_without_an_end_is_a_fault(canned: CannedAgent, events: list[Any]) -> None:
    canned.add_events(*events)

    with pytest.raises(SystemFault):
        await ask(open_chat(canned, stream=True, max_steps=3))


@pytest.mark.parametrize("events", [[], [{"choices": [{"delta": {"content": "The code is 4"}}]}]])
async def test_a_stream_that_breaks_off_is_no_answer(
    canned: CannedAgent, events: list[Any]
) -> None:
    canned.add_events(*events)

    with pytest.raises(SystemGone, match="broke off"):
        await ask(open_chat(canned, stream=True))


@pytest.mark.parametrize("end", ["data: [DONE]\n\n", "data: [DONE]"])
async def test_a_stream_that_says_that_it_is_done_is_whole(canned: CannedAgent, end: str) -> None:
    event = 'data: {"choices": [{"delta": {"content": "The boiler."}}]}\n\n'
    canned.add(f"{event}{end}".encode(), Content_Type=STREAM)

    assert (await ask(open_chat(canned, stream=True))).text == "The boiler."


def respond(**result: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": "1", "result": result}


def make_task(state: str, **more: object) -> dict[str, object]:
    return {"id": "t", "contextId": "c", "status": {"state": state, **more}}


def make_message(text: str) -> dict[str, object]:
    return {"role": "ROLE_AGENT", "contextId": "c", "parts": [{"text": text}]}


@pytest.mark.parametrize(
    ("version", "result"),
    [
        ("1.0", {"message": make_message("The boiler.")}),
        ("0.3", {"kind": "message", **make_message("The boiler.")}),
        ("1.0", {"task": make_task("TASK_STATE_COMPLETED", message=make_message("The boiler."))}),
        ("0.3", {"kind": "task", **make_task("completed", message=make_message("The boiler."))}),
        (
            "1.0",
            {
                "task": make_task("TASK_STATE_COMPLETED")
                | {"history": [make_message("The boiler.")]}
            },
        ),
    ],
)
async def test_a_peer_replies(canned: CannedAgent, version: str, result: dict[str, Any]) -> None:
    system = open_peer(canned, version)
    canned.add(respond(**result))

    answer = await ask(system)

    headers, body = canned.requests[-1]
    assert answer.text == "The boiler."
    assert body["method"] == ("SendMessage" if version == "1.0" else "message/send")
    assert headers.get("A2A-Version") == ("1.0" if version == "1.0" else None)
    assert (system.card.name, system.card.version) == ("peer", "7")


async def test_a_task_that_is_under_way_is_looked_at_until_it_ends(canned: CannedAgent) -> None:
    system = open_peer(canned)
    canned.add(respond(task=make_task("TASK_STATE_SUBMITTED")))
    canned.add(respond(**make_task("TASK_STATE_WORKING", message=make_message("Looking."))))
    done = make_task("TASK_STATE_COMPLETED") | {
        "artifacts": [{"artifactId": "a", "parts": [{"text": "The boiler."}]}]
    }
    canned.add(respond(**done))

    answer = await ask(system)

    assert answer.text == "The boiler."
    asked = [(body["method"], body["params"].get("id")) for _, body in canned.requests[2:]]
    assert asked == [("GetTask", "t")] * 2


async def test_a_peer_that_asks_back_is_answered_in_its_task(canned: CannedAgent) -> None:
    system = open_peer(canned)
    back = make_task("TASK_STATE_INPUT_REQUIRED", message=make_message("Which boiler?"))
    canned.add(respond(task=back))
    canned.add(respond(message=make_message("Noted.")))
    memory = await system.open("s")
    await memory.ingest(DAY)
    await system.close()

    first, second = (body["params"]["message"] for _, body in canned.requests[1:])
    assert "taskId" not in first
    assert "contextId" not in first
    assert (second["contextId"], second["taskId"]) == ("c", "t")
    assert [each.reply for each in system.drain_exchanges("s")] == ["Which boiler?", "Noted."]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"error": {"code": -32603, "message": "no luck"}}, "no luck"),
        (respond(task=make_task("TASK_STATE_FAILED", message=make_message("why"))), "failed: why"),
        (respond(task=make_task("TASK_STATE_AUTH_REQUIRED")), "auth-required: no reason"),
        (respond(task={"status": {"state": "TASK_STATE_WORKING"}}), "has no id"),
        (respond(odd={}), "neither a message nor a task"),
        ({"jsonrpc": "2.0"}, "neither a result nor an error"),
        (respond(message=make_message(" ")), "without a text"),
        (
            respond(
                task=make_task("TASK_STATE_COMPLETED")
                | {"history": [make_message("Before."), {"role": "ROLE_USER", "parts": []}]}
            ),
            "without a text",
        ),
    ],
)
async def test_a_peer_fails(canned: CannedAgent, document: object, said: str) -> None:
    system = open_peer(canned)
    canned.add(document)

    with pytest.raises(SystemFault, match=said):
        await ask(system)


async def test_an_empty_stream_of_a_peer_is_no_reply(canned: CannedAgent) -> None:
    system = open_peer(canned, stream=True)
    canned.add_events()
    memory = await system.open("s")

    with pytest.raises(NotAnAnswer, match="before anything came"):
        await memory.ingest(DAY)
    await system.close()


def test_artifacts_of_a_stream_are_put_together() -> None:
    outcome = PeerOutcome()
    for text, is_more in (("old", False), ("The ", False), ("boiler.", True)):
        artifact = {"artifactId": "a", "parts": [{"text": text}]}
        outcome.add({"artifactUpdate": {"taskId": "t", "artifact": artifact, "append": is_more}})
    other = {"artifactId": "b", "parts": [{"kind": "text", "text": "And the tap."}]}
    outcome.add({"kind": "artifact-update", "taskId": "t", "artifact": other})

    assert outcome.make_reply().text == "The boiler.\n\nAnd the tap."


def test_a_card_names_the_newest_address_that_we_speak() -> None:
    card = b"""{"supportedInterfaces": [
        {"url": "http://a/old", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        {"url": "http://a/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        {"url": "http://a/new", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}"""
    former = b'{"name": "n", "url": "http://a/rpc", "protocolVersion": "0.3.0"}'

    assert parse_peer_card(card, "http://a/card.json").url == "http://a/new"
    assert parse_peer_card(card, "http://a/card.json").dialect is V1_0
    assert parse_peer_card(former, "http://a/card.json").url == "http://a/rpc"
    assert parse_peer_card(former, "http://a/card.json").dialect is V0_3


@loop_over_rows(
    "card",
    [
        *(b"", b"[]", b"{}", b'{"url": "ftp://x"}', b'{"url": "http://["}'),
        b'{"additionalInterfaces": [{"transport": "JSONRPC"}]}',
    ],
)
def test_a_card_that_is_none_is_refused(card: bytes) -> None:
    with pytest.raises(UsageError, match=r"http://a/card\.json"):
        parse_peer_card(card, "http://a/card.json")


@loop_over_rows(
    ("card", "said"),
    [
        ({"name": "n"}, "it has neither supportedInterfaces nor url"),
        ({"url": ""}, "url has no url"),
        ({"url": "http://a/rpc", "preferredTransport": "GRPC"}, "url is GRPC"),
        ({"url": "http://a/rpc", "protocolVersion": "0.1.0"}, "url is A2A 0.1.0"),
        ({"url": "http://a/rpc", "protocolVersion": "1.0"}, "has supportedInterfaces instead"),
        ({"supportedInterfaces": [{"url": "/rpc"}]}, r"\[0\] has no protocolBinding"),
        ({"url": "ftp://x"}, "url has the url 'ftp://x', which is not a web address"),
        (
            {"supportedInterfaces": [{"protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]},
            r"supportedInterfaces\[0\] has no url",
        ),
        ({"additionalInterfaces": [{"url": "/rpc"}]}, r"\[0\] has no transport"),
    ],
)
def test_what_is_missing_in_a_card_is_named(card: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_peer_card(json.dumps(card).encode(), "http://a/card.json")


@pytest.mark.parametrize(
    ("version", "caveats"),
    [
        ("0.3.0", []),
        ("0.2.0", ["its card says A2A 0.2.0; messages are sent as in 0.3"]),
        (None, ["its card has no protocolVersion; messages are sent as in 0.3"]),
        ("", ["its card has no protocolVersion; messages are sent as in 0.3"]),
    ],
)
def test_a_version_that_is_not_quite_ours_is_a_caveat(
    canned: CannedAgent, version: str | None, caveats: list[str]
) -> None:
    canned.add({"name": "peer", "url": "/rpc", "protocolVersion": version})

    system = resolve_system(Settings(adapter=f"a2a:{canned.url}"))

    assert [each for each in system.card.caveats if "A2A" in each or "card" in each] == caveats


@pytest.mark.parametrize("version", [{}, {"protocolVersion": ""}])
def test_an_interface_without_a_version_is_of_the_version_that_has_interfaces(
    canned: CannedAgent, version: dict[str, str]
) -> None:
    interface = {"url": "/rpc", "protocolBinding": "JSONRPC", **version}
    canned.add({"name": "peer", "supportedInterfaces": [interface]})

    system = resolve_system(Settings(adapter=f"a2a:{canned.url}"))

    assert system.card.config["protocol"] == "1.0"
    assert "its card has no protocolVersion; messages are sent as in 1.0" in system.card.caveats


def test_one_bad_address_does_not_refuse_the_others_of_a_card(canned: CannedAgent) -> None:
    bad = {"url": "http://[", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    good = {"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}
    canned.add({"name": "peer", "supportedInterfaces": [bad, good]})

    system = resolve_system(Settings(adapter=f"a2a:{canned.url}"))

    assert (
        "its card is faulty: supportedInterfaces[0] has the url 'http://[', which is not a web "
        f"address; messages are sent to {canned.url}/rpc"
    ) in system.card.caveats


async def test_an_address_from_a_card_is_named_as_such(canned: CannedAgent) -> None:
    canned.add({"name": "peer", "url": "http://127.0.0.1:9/rpc", "protocolVersion": "0.3.0"})
    system = resolve_system(Settings(adapter=f"a2a:{canned.url}"))
    assert isinstance(system, AgentSystem)

    card = re.escape(f"{canned.url}/.well-known/agent-card.json")
    with pytest.raises(SystemGone, match=rf"9/rpc \(from the agent's card at {card}\): .*correct"):
        await ask(system)


async def test_credentials_are_not_sent_where_a_card_says(canned: CannedAgent) -> None:
    canned.add({"name": "peer", "url": "http://127.0.0.1:9/rpc"})
    address = canned.url.replace("http://", "http://ada:sesame@")
    system = resolve_system(Settings(adapter=f"a2a:{address}"))
    assert isinstance(system, AgentSystem)

    with pytest.raises(UsageError, match=r"takes its messages at http://127\.0\.0\.1:9/rpc"):
        await ask(system)


@pytest.mark.parametrize("scheme", ["openai", "a2a"])
def test_what_is_no_address_is_named_as_it_was_written(scheme: str) -> None:
    with pytest.raises(UsageError, match="'nonsense' is not an HTTP address; write http://host"):
        resolve_system(Settings(adapter=f"{scheme}:nonsense"))


@pytest.mark.parametrize(
    ("value", "kind"), [("sid=1234567890", UsageError), ("{memory}", SystemGone)]
)
async def test_headers_are_not_sent_where_a_card_says(
    canned: CannedAgent, value: str, kind: type[BenchError]
) -> None:
    canned.add({"name": "peer", "url": "http://127.0.0.1:9/rpc"})
    config: dict[str, object] = {"headers": {"Cookie": value}}
    system = resolve_system(Settings(adapter=f"a2a:{canned.url}", config=config))
    assert isinstance(system, AgentSystem)

    with pytest.raises(kind):
        await ask(system)
