"""A batch service by files in OpenAI's format: what is asked, what comes back, what it costs."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from recall_bench.core.errors import ModelFault, ModelGone, ModelPending, UsageError
from recall_bench.core.settings import Settings
from recall_bench.features.models import batch_files
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.models.provider_model import open_model
from recall_bench.features.models.target import estimate_target_cost, resolve_model
from recall_bench.systems.models.model import Finish, Prompt, Reply
from tests.features.models.event_loop import until
from tests.features.models.prompts import PROMPT, SCHEMA, ask
from tests.served_folder import make_result, serve_batch

pytest.importorskip("pydantic_ai")
pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "b"


def prompt(number: int) -> Prompt:
    return Prompt(system="You count.", user=f"Number {number}")


async def ask_all(spec: str, count: int) -> list[Reply | str]:
    """Every reply, or why there is none, of one run."""
    parsed = parse_spec(spec, {})
    assert parsed is not None
    model = open_model(parsed, {})
    found: list[Reply | str] = []
    for number in range(count):
        try:
            found.append(await model.complete(prompt(number)))
        except ModelFault as fault:
            found.append(f"{type(fault).__name__}: {fault}")
    await model.close()
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def fail(key: str, number: int = 1, **result: object) -> str:
    line = {"id": f"batch_req_{number}", "custom_id": key, "response": None, "error": None}
    return json.dumps({**line, **result}) + "\n"


async def test_requests_are_lines_of_openai_s_format(folder: Path) -> None:
    with pytest.raises(ModelPending) as pending:
        await ask(f"openai:gpt-4o;batch={folder};max-tokens=50;temperature=0.5")

    assert str(pending.value) == (
        f"1 request waits in {folder}/batch-*.jsonl; send these files to the batch service, put "
        f"its output and error files into {folder} and run the same command again"
    )
    [line] = read_lines(folder / "batch-0001.jsonl")
    assert list(line) == ["custom_id", "method", "url", "body"]
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert len(line["custom_id"]) <= 64
    assert line["body"] == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": PROMPT.system},
            {"role": "user", "content": PROMPT.user},
        ],
        "temperature": 0.5,
        "max_completion_tokens": 50,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
        },
    }


async def test_results_are_matched_by_their_id_in_any_order(folder: Path) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    first = await ask_all(spec, 5)
    assert all(isinstance(each, str) for each in first)
    assert serve_batch(folder, lambda _, user: user.upper()) == 5

    replies = await ask_all(spec, 5)

    assert [each.text for each in replies if isinstance(each, Reply)] == [
        f"NUMBER {number}" for number in range(5)
    ]
    assert sorted(path.name for path in folder.iterdir()) == [
        "batch-0001.jsonl",
        "batch_1_output.jsonl",
    ]


async def test_what_is_with_the_service_is_not_asked_twice(folder: Path) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    await ask_all(spec, 3)
    await ask_all(spec, 5)

    assert len(read_lines(folder / "batch-0001.jsonl")) == 3
    assert len(read_lines(folder / "batch-0002.jsonl")) == 2
    (folder / "batch-0001.jsonl").unlink()
    await ask_all(spec, 5)
    assert len(read_lines(folder / "batch-0003.jsonl")) == 3, "a removed file is written again"


async def test_another_model_in_the_same_folder_is_another_request(folder: Path) -> None:
    await ask_all(f"openai:gpt-4o;batch={folder}", 1)
    await ask_all(f"openai:gpt-4o-mini;batch={folder}", 1)

    models = [read_lines(path)[0]["body"]["model"] for path in sorted(folder.iterdir())]
    assert models == ["gpt-4o", "gpt-4o-mini"]


async def test_a_known_model_costs_half_and_an_unknown_one_has_no_price(folder: Path) -> None:
    """Listed in 2024: 2.50 dollars for a million tokens in, 10 for a million out."""

    async def cost(spec: str) -> float | None:
        name = spec.partition(";")[0].replace(":", "-")
        at = f"{spec};batch={folder / name}"
        await ask_all(at, 1)
        serve_batch(folder / name, lambda _, __: "x")
        [reply] = await ask_all(at, 1)
        assert isinstance(reply, Reply)
        return None if reply.usage.unpriced else reply.usage.cost_usd

    assert await cost("openai:gpt-4o") == pytest.approx(0.5 * (0.0025 + 0.001))
    assert await cost("openai:other;price=1/1") == pytest.approx(0.0011), "your own, as it is"
    assert await cost("openai:gpt-4o-x;http://127.0.0.1:1/v1") is None


def test_the_estimate_is_halved_too() -> None:
    def estimate(spec: str) -> float | None:
        return estimate_target_cost(spec, input_tokens=1_000_000, output_tokens=0)

    assert estimate("openai:gpt-4o") == pytest.approx(2.5)
    assert estimate("openai:gpt-4o;batch=b") == pytest.approx(1.25)
    assert estimate("openai:gpt-4o;http://127.0.0.1:1/v1;batch=b") is None
    assert estimate("folder:b") is None


def test_no_limit_of_cost_can_be_kept(folder: Path) -> None:
    with pytest.raises(UsageError, match="a batch is paid for when you send it"):
        resolve_model(
            f"openai:gpt-4o;batch={folder}", "--model", Settings(max_cost_usd=1), own_code=True
        )


async def test_what_the_service_did_not_run_is_asked_again(folder: Path) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    await ask_all(spec, 1)
    [line] = read_lines(folder / "batch-0001.jsonl")
    for number in range(1, 5):
        error = {"code": "batch_expired", "message": "This request could not be executed."}
        (folder / f"{number}_error.jsonl").write_text(fail(line["custom_id"], number, error=error))
        [why] = await ask_all(spec, 1)
        assert str(why).startswith("ModelPending: ")
        assert read_lines(folder / f"batch-{number + 1:04}.jsonl") == [line]


async def test_a_request_that_fails_is_asked_again_and_given_up_after_three(folder: Path) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    await ask_all(spec, 1)
    key = read_lines(folder / "batch-0001.jsonl")[0]["custom_id"]
    response = {"status_code": 500, "body": {"error": {"message": "The server had an error"}}}
    whys = []
    for number in range(1, 4):
        (folder / f"{number}.jsonl").write_text(fail(key, number, response=response))
        whys += await ask_all(spec, 1)

    assert [str(why).partition(":")[0] for why in whys] == ["ModelPending"] * 2 + ["ModelFault"]
    assert str(whys[-1]) == (
        "ModelFault: openai:gpt-4o: the batch service failed (status 500): The server had an "
        "error (given up after 3 failures)"
    )
    assert not (folder / "batch-0004.jsonl").exists()
    (folder / "late.jsonl").write_text(make_result(key, "after all"))
    [reply] = await ask_all(spec, 1)
    assert isinstance(reply, Reply)


async def test_the_same_error_file_twice_is_one_failure(folder: Path) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    await ask_all(spec, 1)
    key = read_lines(folder / "batch-0001.jsonl")[0]["custom_id"]
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        (folder / name).write_text(fail(key, error={"code": "request_timeout", "message": "late"}))

    [why] = await ask_all(spec, 1)
    assert str(why).startswith("ModelPending: ")


async def test_a_default_that_the_service_refuses_is_left_out(folder: Path) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    with pytest.raises(ModelPending):
        await ask(spec)
    [line] = read_lines(folder / "batch-0001.jsonl")
    assert "response_format" in line["body"]
    refused = {"status_code": 400, "body": {"error": {"message": "no response_format here"}}}
    (folder / "error.jsonl").write_text(fail(line["custom_id"], response=refused))

    with pytest.raises(ModelPending):
        await ask(spec)
    [again] = read_lines(folder / "batch-0002.jsonl")
    assert again["custom_id"] == line["custom_id"]
    assert "response_format" not in again["body"]


@pytest.mark.parametrize(
    ("choice", "finish"),
    [
        ({"message": {"content": "cut"}, "finish_reason": "length"}, Finish.LENGTH),
        ({"message": {"content": None}, "finish_reason": "content_filter"}, Finish.FILTERED),
    ],
)
async def test_why_a_reply_ended_is_kept(
    folder: Path, choice: dict[str, object], finish: Finish
) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    await ask_all(spec, 1)
    key = read_lines(folder / "batch-0001.jsonl")[0]["custom_id"]
    response = {"status_code": 200, "body": {"choices": [choice]}}
    (folder / "o.jsonl").write_text(fail(key, response=response))

    [reply] = await ask_all(spec, 1)
    assert isinstance(reply, Reply)
    assert reply.finish is finish
    assert reply.usage.unpriced == 1, "no tokens are counted"


async def test_a_file_that_was_cut_off_is_named_while_a_request_waits(folder: Path) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    await ask_all(spec, 2)
    serve_batch(folder, lambda _, user: user)
    output = folder / "batch_1_output.jsonl"
    whole = output.read_bytes()
    output.write_bytes(whole[:-20])

    cut, _ = await ask_all(spec, 2)
    output.write_bytes(whole)

    assert isinstance(cut, str)
    assert "; batch_1_output.jsonl in it ends within a line: fetch it again if it" in cut
    assert all(isinstance(each, Reply) for each in await ask_all(spec, 2))


async def test_a_file_that_is_still_coming_is_read_as_far_as_it_is(folder: Path) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    await ask_all(spec, 2)
    serve_batch(folder, lambda _, __: "x")
    whole = (folder / "batch_1_output.jsonl").read_bytes().rstrip(b"\n")
    (folder / "batch_1_output.jsonl").write_bytes(whole[:-10])

    found = await ask_all(spec, 2)
    assert [isinstance(each, Reply) for each in found] == [False, True]
    (folder / "batch_1_output.jsonl").write_bytes(whole)
    assert all(isinstance(each, Reply) for each in await ask_all(spec, 2))


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("not json\n", "line 1: is not a JSON object"),
        ("[1]\n", "line 1: is not a JSON object"),
        ('{"custom_id": "k"}\n', "line 1: is not a result of a batch"),
        ("[" * 100_000 + "\n", "line 1: is not a JSON object"),
    ],
)
async def test_other_lines_stop_the_command_in_one_sentence(
    folder: Path, content: str, about: str
) -> None:
    folder.mkdir()
    (folder / "notes.jsonl").write_text(content)

    with pytest.raises(ModelGone, match=about):
        await ask(f"openai:gpt-4o;batch={folder}")


async def test_a_result_without_a_completion_is_a_fault(folder: Path) -> None:
    spec = f"openai:gpt-4o;batch={folder}"
    await ask_all(spec, 1)
    key = read_lines(folder / "batch-0001.jsonl")[0]["custom_id"]
    (folder / "o.jsonl").write_text(fail(key, response={"status_code": 200, "body": {}}))

    [why] = await ask_all(spec, 1)
    assert str(why) == f"ModelFault: openai:gpt-4o: a result in {folder} is no chat completion"


async def test_a_full_file_is_followed_by_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_files, "MAX_LINES", 2)
    await ask_all(f"openai:gpt-4o;batch={folder}", 5)

    assert [len(read_lines(path)) for path in sorted(folder.iterdir())] == [2, 2, 1]


async def test_two_commands_at_once_take_different_numbers(folder: Path) -> None:
    parsed = parse_spec(f"openai:gpt-4o;batch={folder}", {})
    assert parsed is not None
    models = [open_model(parsed, {}) for _ in range(3)]
    for number, model in enumerate(models):
        with pytest.raises(ModelPending):
            await model.complete(prompt(number))
    for model in models:
        await model.close()

    assert [len(read_lines(path)) for path in sorted(folder.iterdir())] == [1, 1, 1]


async def test_a_waiting_call_writes_its_file_and_takes_the_result(folder: Path) -> None:
    async def serve() -> None:
        await until((folder / "batch-0001.jsonl").exists)
        serve_batch(folder, lambda _, __: "three")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        reply = await ask(f"openai:gpt-4o;batch={folder};wait=600")
    assert reply.text == "three"


@pytest.mark.parametrize("target", ["embedder", "endpoint"])
def test_what_must_answer_at_once_refuses_it(target: str) -> None:
    from recall_bench.features.models.chat_completions import open_chat
    from recall_bench.features.models.embedders import open_embedder

    spec = parse_spec("openai:gpt-4o;batch=b", {})
    assert spec is not None
    with pytest.raises(UsageError, match="a batch cannot answer at once"):
        _ = open_embedder("openai:m;batch=b", {}) if target == "embedder" else open_chat(spec, {})
