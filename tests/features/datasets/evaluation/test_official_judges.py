"""LongMemEval by its own rules: a model says yes or no, and is asked once about each answer."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Invoke, Shown
from tests.features.datasets.evaluation.eval_commands import numbers, report
from tests.features.datasets.evaluation.eval_datasets import write_longmemeval
from tests.openai_server import OpenAIServer, Response, ok


class OfficialEval:
    """The official protocol of LongMemEval, asked of a model of ours."""

    def __init__(self, invoke: Invoke, data: Path, server: OpenAIServer) -> None:
        self._invoke = invoke
        self._data = data
        self.server = server
        self.says: Callable[[str], str] = lambda prompt: "yes"

    def reply(self, request: dict[str, Any]) -> Response:
        prompt = "\n".join(str(message["content"]) for message in request["messages"])
        return ok(self.says(prompt))

    def __call__(self, *words: object, judge: bool = True) -> Shown:
        model = f"openai:test;{self.server.base_url}"
        usual = ("--dataset", "longmemeval-oracle", "--data", self._data, "--adapter", "bm25")
        judging = ("--judge", model) if judge else ()
        return self._invoke("eval", *usual, "--protocol", "official", *judging, *words)

    @property
    def report(self) -> dict[str, Any]:
        return report(len(numbers()), "reports/longmemeval-oracle/official-1")


@pytest.fixture
def official(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OfficialEval]:
    for name in [name for name in os.environ if name.startswith("OPENAI")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    data = write_longmemeval(tmp_path / "longmemeval_oracle.json")

    def reply(request: dict[str, Any]) -> Response:
        return held.reply(request)

    with OpenAIServer(reply) as server:
        held = OfficialEval(invoke, data, server)
        yield held


def test_a_model_says_yes_or_no_by_the_rule_of_each_type(official: OfficialEval) -> None:
    """Right: boat and yacht. By type 1, 1/2 and 0; of the unanswerable, all."""
    official.says = lambda prompt: "Yes." if "boat?" in prompt or "yacht" in prompt else "no"

    shown = official("--no-floors")

    assert shown.code == 0, shown.err
    assert len(official.server.requests) == 4
    right = {
        group["name"]: group["figures"]["judged right"]["mean"]
        for group in official.report["groups"]
    }
    assert right == {
        "all": 0.5,
        "answerable": pytest.approx(1 / 3),
        "unanswerable": 1,
        "multi-session": 1,
        "single-session-user": 0.5,
        "single-session-assistant": 0,
        "average of categories": 0.5,
    }
    assert official.report["judge"]["name"] == "longmemeval/official-rules"
    assert official.report["judge"]["model"].startswith("openai:test")


def test_controls_that_would_have_to_be_paid_for_are_not_run(official: OfficialEval) -> None:
    shown = official("-v")

    assert shown.code == 0, shown.err
    assert len(official.server.requests) == 4
    reasons = {each["name"]: each.get("reason") for each in official.report["controls"]}
    assert reasons == dict.fromkeys(("none", "oracle"), "its answers would have to be paid for")
    assert "`none` has no figures: its answers would have to be paid for." in shown.out


def test_a_reader_that_is_paid_for_does_not_read_for_controls(official: OfficialEval) -> None:
    reader = ("--reader", f"openai:test;{official.server.base_url}", "--protocol", "strict")

    shown = official(*reader, judge=False)

    assert shown.code == 0, shown.err
    assert len(official.server.requests) == 2, "where anything was found to read"
    found = report(1, "reports/longmemeval-oracle/strict-1")
    assert {each["name"] for each in found["controls"] if "reason" in each} == {"none", "oracle"}


def test_an_unreadable_reply_is_no_verdict_and_the_same_command_asks_again(
    official: OfficialEval,
) -> None:
    official.says = lambda prompt: "I would say so" if "boat?" in prompt else "yes"

    shown = official("--no-floors", "--error-budget", "0.5")

    assert shown.code == 6
    assert "1 answer could not be judged; run the same command again to retry" in shown.err
    assert official.report["counts"]["unjudged"] == 1
    assert official.report["groups"][0]["figures"]["judged right"]["counted"] == 3
    (unjudged,) = (each for each in official.report["questions"] if "unjudged" in each)
    assert unjudged["source"] == "boat"
    assert "judged right" not in unjudged.get("figures", {})
    before = len(official.server.requests)

    official.says = lambda prompt: "yes"
    again = official("--no-floors", "--error-budget", "0.5")

    assert again.code == 0, again.err
    assert len(official.server.requests) == before + 1
    assert official.report["counts"]["unjudged"] == 0


def test_a_verdict_is_paid_for_once_whichever_run_asks(official: OfficialEval) -> None:
    official("--no-floors", "--into", "first")

    again = official("--no-floors", "--into", "second")

    assert again.code == 0, again.err
    assert len(official.server.requests) == 4

    official("--no-floors", "--into", "third", "--no-judge-cache")

    assert len(official.server.requests) == 8


def test_the_official_protocol_without_a_model_is_refused(official: OfficialEval) -> None:
    shown = official(judge=False)

    assert shown.code == 2
    assert (
        "--protocol: longmemeval/official has a model judge the answers; name one with --judge "
        "provider:model, say --skip-qa, or take --protocol strict" in shown.err
    )
    assert not Path("recall-runs").exists()


def test_the_official_protocol_has_no_appeals(official: OfficialEval) -> None:
    shown = official("--appellate-judge", "offline")

    assert shown.code == 2
    assert "--appellate-judge: longmemeval/official has one model judge, and no appeals" in (
        shown.err
    )


def test_the_official_protocol_needs_no_model_where_answers_are_skipped(
    official: OfficialEval,
) -> None:
    shown = official("--skip-qa", "--no-floors", judge=False)

    assert shown.code == 0, shown.err
    assert official.server.requests == []
    assert official.report["groups"][0]["figures"]["session hit@10"]["counted"] == 2


def test_recorded_answers_are_judged_officially_later(official: OfficialEval) -> None:
    official("--protocol", "strict", "--into", "first", "--no-floors", judge=False)

    shown = official("--answers-from", "first", "--into", "second", "--no-floors")

    assert shown.code == 0, shown.err
    assert len(official.server.requests) == 4
    found = report(1, "reports/longmemeval-oracle/official-1")
    assert found["groups"][0]["figures"]["judged right"]["mean"] == 1
