"""A score stands beside what the system knew, delivered, spent and how healthy it was."""

from pathlib import Path

import msgspec

from recall_bench.core.diagnosis import Diagnosis, DoctorFinding, SystemHealth
from recall_bench.core.event import Answered, Metered
from recall_bench.core.memory import Answer, Asker, Clock, Delivery, ReaderCard, SystemCard
from recall_bench.core.scenario import BOUNDARY
from recall_bench.core.usage import Usage
from recall_bench.reporting.heatmap.heatmap_data import build_run_heatmap
from recall_bench.reporting.heatmap.heatmap_files import load_result_heatmap
from tests.engine.runs.test_result_files import exported
from tests.reporting.test_run_facts import fact
from tests.written_runs import (
    NOON,
    Story,
    ada_story,
    examined_story,
    plan_of,
    question,
    trial,
)

UNTOLD = SystemCard(name="deaf", version="1", asker=Asker.UNTOLD)


def delivered(name: str, seconds: float, **delivery: int) -> Answered:
    return Answered(
        at=NOON,
        trial=trial(name),
        answer=Answer(text="x"),
        seconds=seconds,
        delivery=msgspec.convert(delivery, Delivery),
    )


def test_how_the_system_knows_date_and_asker_is_said(tmp_path: Path) -> None:
    card = SystemCard(name="s", version="1", clock=Clock.IN_TEXT, asker=Asker.HONOURED)

    assert fact(ada_story(tmp_path, system=card), "Knows") == "date in-text · asker honoured"


def test_a_system_that_says_nothing_of_dates_is_said_to(story: Story) -> None:
    assert fact(story, "Knows") == "date not declared · asker told"


def test_boundary_questions_do_not_apply_to_a_system_that_cannot_know_who_asks(
    tmp_path: Path,
) -> None:
    items = {"ada": (question("cat"), question("secret", BOUNDARY))}
    story = Story(tmp_path, dict(items), plan_of(dict(items), system=UNTOLD, groups_enabled=True))
    story.both(trial("cat"))
    story.both(trial("cat", "4d"))
    story.end()

    files = exported(story)
    pictures = (build_run_heatmap(story.open()), load_result_heatmap(files.folder / "result.json"))

    assert files.result["metadata"]["totalEvalsOwed"] == 2
    assert files.result["metadata"]["validity"] == "valid"
    assert "not applicable" in (fact(story, "Knows") or "")
    for picture in pictures:
        assert picture.table.get(BOUNDARY) is None
        assert "boundaries not applicable" in picture.subtitle[1]


def test_what_was_delivered_is_counted_and_the_traced_share_said(story: Story) -> None:
    story.add(delivered("cat", 0.002, offered=20, kept=10, tokens=300, traced=9))
    story.add(delivered("dog", 0.004, offered=4, kept=4, tokens=100, traced=0))

    assert fact(story, "Delivered") == (
        "7.0 of 12.0 passages an answer (top 10) · 200 tokens · 64.3 % traced"
    )
    assert exported(story).result["metadata"]["delivery"] == {
        "answers": 2,
        "offered": 24,
        "kept": 14,
        "tokens": 400,
        "traced": 9,
        "tracedRate": 900 / 14,
    }


def test_answers_without_passages_deliver_nothing(finished: Story) -> None:
    assert fact(finished, "Delivered") is None
    assert "delivery" not in exported(finished).result["metadata"]


def test_the_system_s_own_time_is_shown_as_it_is_distributed(story: Story) -> None:
    story.add(delivered("cat", 0.002, offered=1, kept=1, tokens=1, traced=1))
    story.add(delivered("dog", 0.4, offered=1, kept=1, tokens=1, traced=1))

    assert fact(story, "Latency") == "p50 2.0 ms · p95 400 ms"


def test_the_reader_is_named(tmp_path: Path) -> None:
    card = ReaderCard(name="model", version="2", model="openai:small")

    assert fact(ada_story(tmp_path, reader=card), "Reader") == "model 2 (openai:small)"


def test_what_the_reader_cost_is_distinguished_from_what_judging_did(tmp_path: Path) -> None:
    card = ReaderCard(name="model", version="2", model="openai:small")
    story = ada_story(tmp_path, reader=card)
    answer = delivered("cat", 0.002, offered=1, kept=1, tokens=1, traced=1)
    usage = Usage(calls=1, input_tokens=110, output_tokens=7, cost_usd=0.5)
    story.add(answer.replace(reading_s=0.1, reading_usage=usage))

    assert fact(story, "Reader") == (
        "model 2 (openai:small) · 1 call · 110 tokens in, 7 out · $0.50"
    )
    metadata = exported(story).result["metadata"]
    assert metadata["readerUsage"]["costUsd"] == 0.5
    assert "usage" not in metadata


def test_what_the_system_spent_is_reported_by_stage(story: Story) -> None:
    for stage in ("ingest", "query", "query"):
        usage = Usage(calls=2, input_tokens=10, cost_usd=0.5)
        story.add(Metered(at=NOON, scenario="ada", checkpoint="2d", stage=stage, usage=usage))

    assert fact(story, "Spent") == (
        "ingest: 2 calls, 10 tokens in, 0 out, $0.50 · query: 4 calls, 20 tokens in, 0 out, $1.00"
    )


def test_the_doctor_s_word_is_on_every_report(tmp_path: Path) -> None:
    complaint = DoctorFinding(
        check="count", health=SystemHealth.INVALID, message="7 of 10 days are there"
    )
    diagnosis = Diagnosis(
        health=SystemHealth.INVALID, system="x", at=NOON, code="1", complaints=(complaint,)
    )
    story = examined_story(tmp_path, diagnosis)

    assert fact(story, "Doctor") == (
        "invalid, diagnosed 2026-05-24: count (recall-bench doctor explains them)"
    )
    assert exported(story).result["metadata"]["doctor"]["health"] == "invalid"


def test_a_system_no_doctor_saw_is_said_not_to_be_examined(story: Story) -> None:
    assert fact(story, "Doctor") == "not diagnosed (run `recall-bench doctor`)"
