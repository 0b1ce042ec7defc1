"""A system that only finds runs like any other, with a reader that costs it nothing.

The adapter returns every day it was fed that shares a word with the question.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import SystemCard
from recall_bench.core.settings import Settings
from recall_bench.systems.readers import resolve_reader
from tests.commands import Invoke, Shown
from tests.gardener import write_persona
from tests.loops import loop_over_rows
from tests.openai_server import OpenAIServer, Response, error, ok

FINDER = """
class Finder:
    answers = {answers}

    def __init__(self):
        self.days = []

    def ingest_day(self, day, content, metadata):
        self.days.append((day, content.splitlines()[-1]))

    def query(self, question):
        wanted = set(question.strip("?").split()[-1:])
        return {{"passages": [{{"text": text, "day": day if {claims} else None}}
                            for day, text in self.days if wanted & set(text.split())]}}
"""

FINDS = SystemCard(name="finder", version="1", answers=False)
ANSWERS = SystemCard(name="talker", version="1")


class Bench:
    """The command, on the gardener and a finder."""

    def __init__(self, folder: Path, invoke: Invoke) -> None:
        self._folder = folder
        self._invoke = invoke
        write_persona(folder / "data")

    def run(self, *words: object, answers: bool = False, claims: bool = True) -> Shown:
        adapter = self._folder / "finder.py"
        adapter.write_text(FINDER.format(answers=answers, claims=claims))
        usual = ("--ranges", "10d", "--into", "r", "--no-heatmap-png", "--parallelism", "1")
        return self._invoke(
            "run", "--data", self._folder / "data", "--adapter", adapter, *usual, *words
        )

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self._folder / "r" / "journal.jsonl").read_text(encoding="utf-8").splitlines()
        return [event for event in map(json.loads, lines) if event["type"] == kind]


@pytest.fixture
def bench(tmp_path: Path, invoke: Invoke) -> Bench:
    return Bench(tmp_path, invoke)


def test_the_extractive_reader_is_the_default(bench: Bench) -> None:
    shown = bench.run()

    assert shown.code == 0, shown.err
    assert bench.events("run_started")[0]["plan"]["reader"]["name"] == "extractive"
    texts = [event["answer"]["text"] for event in bench.events("answered")]
    assert "I planted leeks in bed number 7." in texts


def test_what_was_delivered_and_traced_is_in_the_journal(bench: Bench) -> None:
    bench.run(claims=False)

    first = bench.events("answered")[0]
    counts = {name: each for name, each in first["delivery"].items() if name != "spans"}
    assert counts == {"offered": 1, "kept": 1, "tokens": 8, "traced": 1}
    assert first["answer"]["passages"][0]["day"] in range(1, 11)


def test_a_model_reads_and_what_it_cost_is_recorded(bench: Bench) -> None:
    with OpenAIServer(lambda _: ok("Bed 7.", input_tokens=11, output_tokens=7)) as server:
        shown = bench.run("--reader", f"openai:any;{server.base_url};price=1000000/0")

        assert shown.code == 0, shown.err
        assert len(server.requests) == 10
        card = bench.events("run_started")[0]["plan"]["reader"]
    assert card["model"] == f"openai:any;{server.base_url}"
    assert {event["answer"]["text"] for event in bench.events("answered")} == {"Bed 7."}
    answered = bench.events("answered")
    assert {event["reading_usage"]["cost_usd"] for event in answered} == {11.0}
    assert not any("usage" in event["answer"] for event in answered)


@pytest.mark.parametrize("claims", [True, False])
def test_a_model_is_told_the_days_that_the_system_names_and_no_others(
    bench: Bench, claims: bool
) -> None:
    with OpenAIServer(lambda _: ok("Bed 7.")) as server:
        shown = bench.run("--reader", f"openai:any;{server.base_url};price=0/0", claims=claims)
        sent = [each.json["messages"][1]["content"] for each in server.requests]

    assert shown.code == 0, shown.err
    first = next(each for each in sent if "leeks" in each)
    said = '"I planted leeks in bed number 7."'
    origin = "[2025-04-01] " if claims else ""
    assert f"\n1. {origin}{said}\n" in first
    found = [event["answer"]["passages"][0] for event in bench.events("answered")]
    assert all(each["day"] for each in found)
    assert not any("at" in each for each in found)


def test_a_lost_reader_ends_the_run_and_the_same_command_goes_on(bench: Bench) -> None:
    replies = iter([*(ok("Bed 7.") for _ in range(3)), error(401, "bad key")])

    def scripted(_: dict[str, Any]) -> Response:
        return next(replies, ok("Bed 14."))

    with OpenAIServer(scripted) as server:
        words = ("--reader", f"openai:any;{server.base_url};price=0/0")
        lost = bench.run(*words)
        held = (len(bench.events("answered")), len(bench.events("not_answered")))
        back = bench.run(*words)

    assert lost.code == 6
    assert "bad key" in lost.err
    assert held == (3, 0)
    assert back.code == 0, back.err
    assert len(bench.events("answered")) == len(server.requests) - 1 == 10


def test_passages_of_a_system_that_answers_are_not_read(bench: Bench) -> None:
    shown = bench.run(answers=True)

    assert shown.code == 5
    [message] = {str(event["message"]) for event in bench.events("not_answered")}
    assert "returned passages and no answer; let its adapter say answers = False" in message


def test_money_is_counted_for_reading_too(bench: Bench) -> None:
    with OpenAIServer(lambda _: ok("Bed 7.", input_tokens=1, output_tokens=0)) as server:
        shown = bench.run(
            "--reader", f"openai:any;{server.base_url};price=1000000/0", "--max-cost", "4"
        )

        assert shown.code == 8
        assert len(server.requests) == 4
    assert "reading and judging have cost $4.0000 and --max-cost allows $4.0000" in shown.err


@loop_over_rows(
    ("reader", "card", "name"),
    [
        (None, FINDS, "extractive"),
        (None, ANSWERS, None),
        (None, None, None),
        ("extractive", ANSWERS, "extractive"),
        ("openai:any;http://127.0.0.1:9/v1", ANSWERS, "model"),
    ],
)
def test_who_reads(reader: str | None, card: SystemCard | None, name: str | None) -> None:
    found = resolve_reader(Settings(reader=reader), card)

    assert (None if found is None else found.card.name) == name


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            Settings(reader="nobody"),
            "--reader: no reader of this name; write extractive, or a model",
        ),
        (Settings(reader="openai:"), "--reader: openai: names no model"),
        (
            Settings(reader="openai:any;http://127.0.0.1:9/v1", max_cost_usd=1.0),
            "--max-cost: the price of openai:any;http://127.0.0.1:9/v1 is unknown",
        ),
    ],
)
def test_a_reader_that_cannot_be_had_is_refused_before_anything_is_fed(
    settings: Settings, told: str
) -> None:
    with pytest.raises(UsageError) as raised:
        resolve_reader(settings, FINDS)

    assert told in str(raised.value)
