"""Batches over the wire: sent once, taken whatever comes back, and resumed after any death.

Each fault is scripted in `batch_server`, and every law holds for both protocols.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import (
    BudgetSpent,
    ModelFault,
    ModelGone,
    ModelPending,
)
from recall_bench.core.redaction import Redactor
from recall_bench.core.runtime import run_to_end as run_async
from recall_bench.core.settings import Settings
from recall_bench.features.models import batch_delivery, provider_model
from recall_bench.features.models.batch_delivery import deliver_batches
from recall_bench.features.models.batch_model import BatchModel
from recall_bench.features.models.batch_senders import SENDERS
from recall_bench.features.models.model_spec import ModelSpec, parse_spec
from recall_bench.features.models.provider_model import open_model
from recall_bench.features.models.target import estimate_target_cost, resolve_model
from recall_bench.systems.models.model import Prompt, Reply
from tests.features.models.batch_server import BatchServer
from tests.features.models.killed_sending import SENDING_STEPS, die_at
from tests.features.models.prompts import KEY, PROMPT
from tests.thoroughness import choose_number

pytest.importorskip("pydantic_ai")

PROTOCOLS = ("openai", "anthropic")
BUILD = provider_model._build_foreign
BUILT: dict[str, Any] = {}
EVERY_STEP = choose_number(2, 1)
"""A batch is paid for and not on record for two steps: one of them is always among these."""


def build_once(spec: ModelSpec, key: str | None, redact: Redactor) -> Any:
    """The library's model; one that is asked in batches is never called, and is shared."""
    if spec.batch is None:
        return BUILD(spec, key, redact)
    if spec.head not in BUILT:
        BUILT[spec.head] = BUILD(spec, key, redact)
    return BUILT[spec.head]


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(batch_delivery, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(batch_delivery, "LONGEST_PAUSE_S", 0.02)
    monkeypatch.setattr(provider_model, "_build_foreign", build_once)
    yield
    SENDERS.begin(lambda: None)


def name_model(server: BatchServer, protocol: str, folder: Path, options: str = "") -> str:
    address = server.openai if protocol == "openai" else server.anthropic
    model = "gpt-4o" if protocol == "openai" else "claude-opus-4-8"
    return f"{protocol}:{model};{address};price=2/4;batch={folder};send=yes{options}"


class Command:
    """The same command again and again: it asks, and waits for the batches."""

    def __init__(self, spec: str, count: int) -> None:
        self.spec = spec
        self.prompts = [Prompt(system="You count.", user="x" * n) for n in range(1, count + 1)]
        self.said: list[str] = []

    def ask(self) -> list[Reply | ModelFault]:
        """One reply or fault for each prompt."""
        SENDERS.begin(lambda: None)
        return run_async(self._ask_all)

    async def _ask_all(self) -> list[Reply | ModelFault]:
        parsed = parse_spec(self.spec, {})
        assert parsed is not None
        model, found = open_model(parsed, {}), list[Reply | ModelFault]()
        for prompt in self.prompts:
            try:
                found.append(await model.complete(prompt))
            except ModelFault as fault:
                found.append(fault)
        await model.close()
        return found

    def finish(self) -> list[Reply | ModelFault]:
        """Repeat it until nothing is pending."""
        while True:
            found = self.ask()
            if not any(isinstance(each, ModelPending) for each in found):
                return found
            assert deliver_batches(self.said.append, self.said.append)


def get_texts(found: list[Reply | ModelFault]) -> list[str]:
    return [each.text if isinstance(each, Reply) else str(each) for each in found]


HEARD = [f"heard {n} characters" for n in range(1, 5)]

FAULTS = {
    "": "4 replies",
    "fail": "2 replies, 2 failed",
    "expire": "2 replies, 2 expired",
    "lose": "2 of 4 have no result; they are sent again",
    "double": "results came twice, and one result of each counts",
    "strange": "1 result with an id that was not asked, and ignored",
    "garbage": "1 result that cannot be read",
    "cut": "the results were cut off or lack 1 requests; it is asked again",
    "vanish": "4 requests are with",
    "double strange expire garbage": "2 expired",
}


def test_whatever_comes_back_each_request_is_answered_and_paid_for_once(tmp_path: Path) -> None:
    for number, (protocol, (fault, words)) in enumerate(
        (protocol, each) for protocol in PROTOCOLS for each in FAULTS.items()
    ):
        with BatchServer(faults=[fault]) as server:
            command = Command(name_model(server, protocol, tmp_path / str(number)), 4)
            found = command.finish()

        case = f"{protocol}, {fault}: {command.said}"
        assert get_texts(found) == HEARD, case
        assert set(server.paid.values()) == {1}, case
        assert words in "\n".join(command.said), case


def test_a_batch_asks_what_a_call_asks_and_its_reply_is_the_same(tmp_path: Path) -> None:
    for protocol in PROTOCOLS:
        with BatchServer() as server:
            spec = name_model(server, protocol, tmp_path / protocol)
            command = Command(spec, 0)
            command.prompts = [PROMPT]
            [batched] = command.finish()
            command.spec = spec.partition(";batch=")[0]
            [called] = command.ask()
            assert isinstance(called, Reply), called
            call = json.loads(server.bodies[-1])
            [request] = server.batches[0].requests

        assert batched == called
        body = request.get("body") or request["params"]
        limit = body.pop("max_tokens")
        assert call.pop("max_completion_tokens", None) or call.pop("max_tokens") == limit
        assert call.pop("stream") is False
        assert body == call


def test_a_schema_that_the_library_cannot_spell_is_left_out(tmp_path: Path) -> None:
    """Anthropic's does not know a list of types, which `create-persona` has."""
    schema = {"type": "object", "properties": {"mark": {"type": ["string", "null"]}}}
    with BatchServer() as server:
        spec = name_model(server, "anthropic", tmp_path)
        for asked in (spec, spec.partition(";batch=")[0]):
            command = Command(asked, 0)
            command.prompts = [replace(PROMPT, schema=schema)]
            assert get_texts(command.finish()) == ["heard 11 characters"]
    assert "output_config" not in json.loads(server.bodies[-1])


def test_what_the_service_never_runs_is_given_up(tmp_path: Path) -> None:
    for protocol in PROTOCOLS:
        with BatchServer(faults=["expire", "lose", "expire", "expire"]) as server:
            command = Command(name_model(server, protocol, tmp_path / protocol), 1)
            [fault] = command.finish()

        assert len(server.batches) == 3
        assert "3 batches ended without running this request; it is given up" in str(fault)


def test_a_refused_or_cancelled_batch_ends_the_command_and_the_next_one_goes_on(
    tmp_path: Path,
) -> None:
    sentences = {
        (
            "openai",
            "refuse",
        ): "refused batch_1 and ran nothing: line 2: the model cannot be batched",
        ("anthropic", "refuse"): "the batch service answers 400: ",
        ("openai", "cancel"): "batch_1 was cancelled at the service; 2 of its replies were kept",
        ("anthropic", "cancel"): "batch_1 was cancelled at the service; 2 of its replies were kept",
    }
    for (protocol, fault), sentence in sentences.items():
        with BatchServer(faults=[fault]) as server:
            command = Command(name_model(server, protocol, tmp_path / f"{protocol} {fault}"), 4)
            command.ask()
            with pytest.raises(ModelGone, match=sentence):
                deliver_batches(command.said.append, command.said.append)

            assert get_texts(command.finish()) == HEARD
        assert set(server.paid.values()) == {1}


def test_a_busy_service_is_asked_again_and_an_absent_one_is_left_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {
        "openai": ["POST /v1/files", "POST /v1/batches", "GET /v1/batches/", "GET /v1/files/"],
        "anthropic": ["POST /v1/messages/batches", "/batches/batch_1", "/batches/batch_1/results"],
    }
    for protocol, busy in paths.items():
        with BatchServer(busy=busy) as server:
            command = Command(name_model(server, protocol, tmp_path / protocol), 4)
            assert get_texts(command.finish()) == HEARD
        assert set(server.paid.values()) == {1}
        assert any("answers 429: slow down; it is asked again" in each for each in command.said)

        command.prompts.append(Prompt(system="One more.", user="?"))
        command.ask()
        with monkeypatch.context() as patch:
            patch.setattr(batch_delivery, "MAX_FAILURES", 2)
            with pytest.raises(ModelPending, match=r"cannot be reached .* run the same command"):
                deliver_batches(command.said.append, command.said.append)


def test_killed_at_any_step_it_goes_on_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    for protocol in PROTOCOLS:
        moment, was_killed = 0, True
        while was_killed:
            with BatchServer(looks=0) as server:
                folder = tmp_path / f"{protocol} {moment}"
                command = Command(name_model(server, protocol, folder), 2)
                child = os.fork()
                if child == 0:
                    die_at(moment, SENDING_STEPS)
                    command.finish()
                    os._exit(0)
                was_killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
                assert get_texts(command.finish()) == HEARD[:2], (protocol, moment)
            assert set(server.paid.values()) == {1}, (protocol, moment)
            moment += EVERY_STEP
        assert moment > 10, "there are steps to die at"


def test_without_waiting_a_command_sends_and_a_later_one_takes_the_results(tmp_path: Path) -> None:
    with BatchServer(looks=2) as server:
        command = Command(name_model(server, "openai", tmp_path, ";wait=0"), 3)
        for _ in range(2):
            assert all(isinstance(each, ModelPending) for each in command.ask())
            with pytest.raises(ModelPending, match="batch_1 has not ended; run the same command"):
                deliver_batches(command.said.append, command.said.append)
        command.ask()
        assert deliver_batches(command.said.append, command.said.append)
        assert get_texts(command.ask()) == HEARD[:3]
    assert set(server.paid.values()) == {1}


def test_another_batch_of_the_same_size_is_not_taken_for_ours(tmp_path: Path) -> None:
    """Anthropic's list does not say what is in a batch; the results do."""
    with BatchServer(faults=["", "vanish"]) as server:
        others = Command(name_model(server, "anthropic", tmp_path / "a"), 2)
        ours = Command(name_model(server, "anthropic", tmp_path / "b"), 2)
        ours.prompts = [Prompt(system="Ours.", user=each.user) for each in ours.prompts]
        others.finish()
        assert get_texts(ours.finish()) == HEARD[:2]
    assert set(server.paid.values()) == {1}


def test_two_models_share_a_folder_and_each_is_sent_its_own(tmp_path: Path) -> None:
    with BatchServer() as one, BatchServer() as other:
        commands = [Command(name_model(each, "openai", tmp_path), 2) for each in (one, other)]
        for command in commands:
            command.ask()
        assert get_texts(commands[0].finish()) == HEARD[:2]
        assert other.calls == []
        assert get_texts(commands[1].finish()) == HEARD[:2]


def test_a_limit_of_cost_is_kept_by_smaller_batches(tmp_path: Path) -> None:
    """Of a million tokens in and out: 2 and 4 dollars; a request allows 1,000 tokens out."""
    with BatchServer() as server:
        spec = name_model(server, "openai", tmp_path, ";max-tokens=1000")

        def open_limited(usd: float) -> BatchModel:
            SENDERS.begin(lambda: None)
            model = resolve_model(spec, "--model", Settings(max_cost_usd=usd), own_code=True)
            assert isinstance(model, BatchModel)
            return model

        async def ask(usd: float) -> int:
            """How many are answered."""
            model, answered = open_limited(usd), 0
            for each in range(6):
                try:
                    await model.complete(Prompt(system="", user="y" * 40 + str(each)))
                    answered += 1
                except ModelPending:
                    continue
            await model.close()
            return answered

        with pytest.raises(
            BudgetSpent, match=r"--max-cost allows 0\.00; continue with a higher limit"
        ):
            run_async(ask, 0.001)
        assert not list(tmp_path.glob("*.jsonl")), "nothing was collected"
        assert run_async(ask, 0.009) == 0
        deliver_batches(print, print)
        assert [len(each.requests) for each in server.batches] == [2], "the longest replies fit"
        assert run_async(ask, 0.009) == 2
        deliver_batches(print, print)
        assert [len(each.requests) for each in server.batches] == [2, 4], "real replies are cheap"


def test_half_the_price_is_estimated_for_both_providers() -> None:
    for model in ("openai:gpt-4o", "anthropic:claude-opus-4-8"):
        whole, half = (
            estimate_target_cost(f"{model}{more}", input_tokens=1_000_000, output_tokens=0)
            for more in ("", ";batch=b;send=yes")
        )
        assert whole is not None
        assert half == pytest.approx(whole / 2)


def test_the_key_goes_to_the_service_and_nowhere_else(tmp_path: Path) -> None:
    for protocol in PROTOCOLS:
        with BatchServer(write=lambda _, __: f"my key is {KEY}") as server:
            spec = parse_spec(name_model(server, protocol, tmp_path / protocol) + ";key-env=K", {})
            assert spec is not None

            async def ask(spec: ModelSpec = spec) -> Reply | None:
                model = open_model(spec, {"K": KEY})
                try:
                    return await model.complete(PROMPT)
                except ModelPending:
                    return None
                finally:
                    await model.close()

            SENDERS.begin(lambda: None)
            run_async(ask)
            assert deliver_batches(print, print)
            reply = run_async(ask)
            names = {"openai": "authorization", "anthropic": "x-api-key"}
            assert all(KEY in each.get(names[protocol], "") for each in server.headers)
        assert reply is not None
        assert KEY not in reply.text
        states = [path.read_text() for path in (tmp_path / protocol).glob("*.json")]
        assert states
        assert not any(KEY in each for each in states)
