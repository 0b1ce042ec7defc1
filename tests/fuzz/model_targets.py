"""Targets that read what language models reply: verdicts, generated stories, and files of replies.

The reply of a judge is kept beside its verdict, and a generated text is what was replied, so a
change shows. Two further rules hold for verdicts: one that is accepted has marks within its scales,
and a reply that is cut off is never one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import msgspec

from recall_bench.core.errors import BenchError
from recall_bench.core.redaction import Redactor
from recall_bench.core.runtime import run_to_end
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import SCALES, Verdict
from recall_bench.features.models.batch_delivery import ResultLines
from recall_bench.features.models.batch_files import BatchFiles
from recall_bench.features.models.batch_formats import BatchFormat, ChatFormat, MessageFormat
from recall_bench.features.models.batch_model import BatchModel
from recall_bench.features.models.batch_service import ChatBatches, MessageBatches
from recall_bench.features.models.compatible_server import resolve_server
from recall_bench.features.models.embedders import ServedEmbedder
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.personas.checks.verify_pass import parse_opinion
from recall_bench.features.personas.conversations import parse_dialogue
from recall_bench.features.personas.creation.persona_reply import (
    NewPersona,
    parse_persona_reply,
    parse_story_reply,
)
from recall_bench.features.personas.day_log import StoryDay
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.features.personas.questions.model_questions import read_questions
from recall_bench.features.personas.tool_calls import parse_calls
from recall_bench.features.selection.generation.model_writer import parse_written
from recall_bench.features.selection.selectors.agent_prompt import parse_names
from recall_bench.features.suites.procedures.outcome_checks import find_failures, read_outcome
from recall_bench.features.suites.procedures.task_source import PERSONAS, load_tasks
from recall_bench.judging.rubric.prompt import UnusableReply, parse_verdict
from recall_bench.judging.verdicts import VerdictCache, parse_strict
from recall_bench.systems.models.model import Reply
from tests.features.personas import made_personas
from tests.fuzz.mutator import Format
from tests.fuzz.target import (
    ContentReader,
    FuzzTarget,
    Reading,
    Seed,
    make_content_target,
    make_file_target,
)

_EPOCH = date(2026, 3, 2)
_MARKS = {"correctness": 2, "completeness": 1, "grounded": 1}


class Unusable(BenchError):
    """A reply that its reader rejects, with what is said to the model."""


def _read_text(content: bytes) -> str:
    """As JSON of a provider is decoded, which may spell halves of surrogate pairs."""
    return content.decode("utf-8", "surrogateescape")


def _require(found: object) -> Reading:
    if isinstance(found, RejectedReply):
        raise Unusable("; ".join(found.problems))
    if found is None or isinstance(found, str):
        raise Unusable(found or "there is no name in it")
    if isinstance(found, UnusableReply):
        raise Unusable(found.problem)
    return Reading(found, found)


def _read_verdict(content: bytes) -> Reading:
    found = parse_verdict(Reply(text=_read_text(content), usage=Usage()))
    reading = _require(found)
    assert isinstance(found, Verdict)
    return _check_verdict(found, reading)


def _read_strict(content: bytes) -> Reading:
    found = parse_strict(_read_text(content))
    return _check_verdict(found, Reading(found, found))


def _check_verdict(found: Verdict, reading: Reading) -> Reading:
    if any(not 0 <= found.marks[name] <= top for name, top in SCALES.items()):
        raise AssertionError(f"marks beyond their scales: {found}")
    if msgspec.json.decode(msgspec.json.encode(found), type=Verdict) != found:
        raise AssertionError(f"no journal can hold {found}")
    return reading


def _read_persona(content: bytes) -> Reading:
    return _require(parse_persona_reply(_read_text(content), "boats", _EPOCH))


def _open_story(_: Path) -> ContentReader:
    made = parse_persona_reply(json.dumps(made_personas.PERSONA), "boats", _EPOCH)
    assert isinstance(made, NewPersona)
    persona = made.persona

    def parse(content: bytes) -> Reading:
        return _require(parse_story_reply(_read_text(content), persona, 30, _EPOCH))

    return ContentReader([Seed(json.dumps(made_personas.story(30)).encode())], parse)


DAY = StoryDay(
    3, _EPOCH, "# session: principal\n\n### Beds\nI planted 40 leeks in bed 7 at 18:30.\n"
)
_DIALOGUE = [
    {"role": role, "content": "[session: principal]\nI planted 40 leeks in bed 7 at 18:30."}
    for role in ["user", "assistant"] * 3
]
_OPINION = {
    "verdict": "NEEDS_CLEANUP",
    "reasoning": "It is there.",
    "unsupported_claims": ["x"],
    "suggested_question": None,
    "suggested_answer": "Bed 7",
    "irrelevant_after_day": 5,
}
_QUESTIONS = {
    "questions": [
        {"question": "Which bed?", "answer": "Bed 7", "evidence": [{"day": 3, "quote": "bed 7"}]}
    ]
}
_NAMES = frozenset({"memory/kiln.md", "memory/glaze.md"})
_RESULTS: list[object] = [
    {
        "id": "batch_1",
        "custom_id": "k1",
        "response": {
            "status_code": 200,
            "body": {
                "model": "gpt-5-mini",
                "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 1},
            },
        },
        "error": None,
    },
    {
        "id": "batch_2",
        "custom_id": "k2",
        "response": {"status_code": 500, "body": {"error": {"code": "x", "message": "y"}}},
    },
    {"id": "batch_3", "custom_id": "k3", "error": {"code": "batch_expired", "message": "late"}},
]
_MESSAGES: list[object] = [
    {
        "custom_id": "k1",
        "result": {
            "type": "succeeded",
            "message": {
                "model": "claude-opus-4-8",
                "content": [{"type": "text", "text": "Hi"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 3, "output_tokens": 1},
            },
        },
    },
    {
        "custom_id": "k2",
        "result": {"type": "errored", "error": {"error": {"type": "api_error", "message": "y"}}},
    },
    {"custom_id": "k3", "result": {"type": "expired"}},
]
_STATUS = {
    "id": "batch_1",
    "status": "completed",
    "output_file_id": "file-1",
    "request_counts": {"total": 3, "completed": 3, "failed": 0},
    "errors": {"data": [{"line": 1, "message": "no such model"}]},
}
_MESSAGE_STATUS = {
    "id": "batch_1",
    "processing_status": "ended",
    "results_url": "https://host/results",
    "request_counts": {"processing": 0, "succeeded": 3},
}


def _write_batch(folder: Path) -> None:
    lines = "".join(json.dumps(each) + "\n" for each in _RESULTS)
    (folder / "results.jsonl").write_text(lines)
    requests = "".join(json.dumps({"custom_id": f"k{n}", "body": {}}) + "\n" for n in range(3))
    (folder / "batch-0001.jsonl").write_text(requests)


def _write_messages(folder: Path) -> None:
    (folder / "results.jsonl").write_text("".join(json.dumps(e) + "\n" for e in _MESSAGES))


def _look_at_batch(folder: Path, kind: BatchFormat | None = None) -> Reading:
    files = BatchFiles(folder, str(folder))
    files.read_new()
    spec = parse_spec("openai:gpt-5-mini")
    model = mock.Mock(spec=BatchModel, _spec=spec, _path="batch", _format=kind or ChatFormat())
    model.name = "m"
    model._direct = mock.Mock(redact_reply=str)
    replies = [BatchModel._read_body(model, body) for body in files.bodies.values()]
    found = (files.bodies, dict(files.failures), files.torn, replies)
    return Reading(str(found), str(found))


def _take_results(content: bytes) -> Reading:
    """Whatever a service sends, each request has one line that can be read."""
    lines = ResultLines(("k1", "k2", "k3"))
    lines.add(content)
    rendered = lines.render("no_result", "none came")
    assert [json.loads(line)["custom_id"] for line in rendered.splitlines()] == ["k1", "k2", "k3"]
    found = (rendered, list(lines.describe()))
    return Reading(str(found), str(found))


def _read_status(service: type[ChatBatches | MessageBatches]) -> Callable[[bytes], Reading]:
    def read(content: bytes) -> Reading:
        client = service("http://127.0.0.1:9", {}, "m", Redactor(()))
        with mock.patch.object(client, "fetch", mock.AsyncMock(return_value=content)):
            found = run_to_end(client.fetch_status, "batch_1")
        return Reading(str(found), str(found))

    return read


def _write_cache(folder: Path) -> None:
    VerdictCache(folder).keep("ab", Verdict.of(2, 1, 1, "so"))


def _look_at_cache(folder: Path) -> Reading:
    """A damaged entry is none; one that is taken has the marks that were stored."""
    found = VerdictCache(folder).find("ab")
    if found is None:
        raise Unusable("there is none")
    return Reading(found.marks)


def _open_embeddings(_: Path) -> ContentReader:
    spec = parse_spec("openai:e;http://127.0.0.1:9/v1")
    assert spec is not None
    server = resolve_server(spec, {})
    assert server is not None

    def parse(content: bytes) -> Reading:
        embedder = ServedEmbedder(server)
        client = mock.Mock(post=lambda *_, **__: httpx.Response(200, content=content))
        with mock.patch.object(embedder._client, "_open_client", return_value=client):
            found = embedder.embed(["a", "b"])
        return Reading(found.vectors.tolist(), str(found))

    body = {
        "model": "e",
        "data": [{"index": n, "embedding": [0.5, 0.25, n]} for n in range(2)],
        "usage": {"prompt_tokens": 4, "total_tokens": 4},
    }
    return ContentReader([Seed(json.dumps(body).encode())], parse)


def list_model_targets() -> Sequence[FuzzTarget]:
    """Every reader of a model's reply."""
    parsers: Mapping[str, tuple[Any, Callable[[str], object]]] = {
        "reply with a dialogue": (_DIALOGUE, lambda text: parse_dialogue(text, DAY)),
        "reply with tool calls": (
            {"calls": [{"session": "principal", "content": "40 leeks in bed 7 at 18:30"}]},
            lambda text: parse_calls(text, DAY),
        ),
        "reply with an opinion": (_OPINION, lambda text: parse_opinion(text, first=3, last=9)),
        "reply with questions": (_QUESTIONS, read_questions),
        "reply with a message": (
            {"prompt": "How hot may it get?", "relevant": ["memory/kiln.md"]},
            lambda text: parse_written(Reply(text=text, usage=Usage()), _NAMES),
        ),
        "reply with names": (
            ["memory/kiln.md", "glaze.md"],
            lambda text: parse_names(Reply(text=text, usage=Usage()), _NAMES),
        ),
    }
    verdict = json.dumps(_MARKS | {"reason": "It is there."})
    return (
        make_content_target("reply to a task", _list_outcomes(), _read_outcome),
        make_content_target("verdict", (verdict, f"```json\n{verdict}\n```"), _read_verdict),
        make_content_target("verdict of a program", (json.dumps(_MARKS), verdict), _read_strict),
        make_content_target(
            "reply with a persona", (_spell(made_personas.PERSONA),), _read_persona
        ),
        FuzzTarget(name="reply with a story", open=_open_story),
        *(
            make_content_target(name, (json.dumps(seed),), _make_reader(parse))
            for name, (seed, parse) in parsers.items()
        ),
        make_file_target("batch of replies", _write_batch, _look_at_batch),
        make_file_target(
            "batch of messages", _write_messages, partial(_look_at_batch, kind=MessageFormat())
        ),
        *(
            make_content_target(
                f"results of a batch of {name}",
                ("".join(json.dumps(each) + "\n" for each in lines),),
                _take_results,
                kind=Format.TEXT,
            )
            for name, lines in (("replies", _RESULTS), ("messages", _MESSAGES))
        ),
        make_content_target("status of a batch", (json.dumps(_STATUS),), _read_status(ChatBatches)),
        make_content_target(
            "status of a batch of messages",
            (json.dumps(_MESSAGE_STATUS),),
            _read_status(MessageBatches),
        ),
        make_file_target("cached verdict", _write_cache, _look_at_cache, files=("*.json",)),
        FuzzTarget(name="reply with embeddings", open=_open_embeddings),
    )


def _list_outcomes() -> tuple[str, ...]:
    tasks = load_tasks(PERSONAS[0]).tasks
    return tuple(task.outcomes[0].reply for task in tasks[:8])


def _read_outcome(content: bytes) -> Reading:
    """Check a reply as the outcome of every task; whatever it is, it is graded."""
    reply = content.decode(errors="replace")
    graded = {
        task.id: find_failures(outcome, (*task.checks, *task.old), task.form)
        for task in load_tasks(PERSONAS[0]).tasks
        if (outcome := read_outcome(reply, task.form)) is not None
    }
    return Reading(graded, reply)


def _spell(content: object) -> str:
    return json.dumps(content, ensure_ascii=False)


def _make_reader(parse: Callable[[str], object]) -> Callable[[bytes], Reading]:
    return lambda content: _require(parse(_read_text(content)))
