"""A replay repeats what the plan says, and is refused where it would not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.event import Judged, RunStarted
from recall_bench.core.memory import ReaderCard
from recall_bench.core.plan import Plan
from recall_bench.engine.runs.journal import encode_events, read_events
from tests.commands import Invoke, Shown

Adapter = Callable[..., Path]
Run = Callable[..., Shown]
COUNTING = """\
self.asked = getattr(self, "asked", 0) + 1
return f"{self.asked}: {question}"
"""
HALF = """\
found = [line for line in self.lines if question.strip("?").split()[-1] in line]
return found[0] if len(question) % 2 else "There is no record."
"""


@pytest.fixture
def run(invoke: Invoke, data: Path) -> Run:
    """Run a system on the gardener, into the folder `run`."""

    def start(system: object, *options: object) -> Shown:
        given = ("-a", system, "-d", data, "-r", "every:5", "--no-heatmap-png", "-o", "run")
        return invoke("run", *given, *options)

    return start


@pytest.fixture
def replay(invoke: Invoke, data: Path) -> Run:
    """Replay all questions of one checkpoint."""

    def start(*options: object) -> Shown:
        return invoke(
            *("leaderboard", "replay", "run", "-d", data, "--share", 1, "--seed", 3, *options)
        )

    return start


def submit(**stated: object) -> None:
    Path("submission.yaml").write_text(json.dumps(stated))


def change_plan(**changes: object) -> None:
    journal = Path("run/journal.jsonl")
    events = [
        event.replace(plan=event.plan.replace(**changes))
        if isinstance(event, RunStarted)
        else event
        for event in read_events(journal)
    ]
    journal.write_bytes(b"".join(encode_events(events)))


def read_plan() -> Plan:
    first = next(read_events(Path("run/journal.jsonl")))
    assert isinstance(first, RunStarted)
    return first.plan


def find_replay() -> dict[str, object]:
    found: dict[str, object] = json.loads(Path("run.replay.json").read_text())
    return found


def test_the_configuration_of_the_submission_is_used(run: Run, replay: Run) -> None:
    run("bm25", "-c", "threshold=1")

    refused = replay()
    submit(adapter="bm25", options=["--config", "threshold=1"])
    accepted = replay()

    assert refused.code == 2
    assert "its setting threshold is 0.17, and in the run it is 1.0" in refused.err
    assert accepted.code == 0, accepted.err


def test_a_flag_wins_over_the_submission(run: Run, replay: Run) -> None:
    run("bm25", "-c", "threshold=1")
    submit(options=["-c", "threshold=0.5"])

    assert replay("-c", "threshold=1").code == 0


def test_reader_and_limits_are_those_of_the_plan(run: Run, replay: Run) -> None:
    run("bm25", "--reader", "extractive", "--max-context-tokens", 4, "--top-k", 2, "--repeats", 2)

    shown = replay()

    found = find_replay()
    assert shown.code == 0, shown.err
    assert found["same_answers"] == found["trials"]


def test_the_second_judge_reviews_what_it_reviewed_in_the_run(
    run: Run, replay: Run, adapter: Adapter
) -> None:
    system = adapter(query=HALF)
    run(system, "--appellate-judge", "stub")
    reviewed = [
        event.primary
        for event in read_events(Path("run/journal.jsonl"))
        if isinstance(event, Judged) and event.primary is not None
    ]
    assert {verdict.is_failure for verdict in reviewed} == {True, False}

    shown = replay("-a", system)

    assert shown.code == 0, shown.out + shown.err


def test_a_memory_that_is_asked_in_place_is_asked_all_that_came_before(
    run: Run, replay: Run, adapter: Adapter
) -> None:
    system = adapter(query=COUNTING)
    run(system, "--lifecycle", "growing")

    shown = replay("-a", system, "--share", 0.2)

    found = find_replay()
    assert shown.code == 0, shown.err
    assert found["same_answers"] == found["trials"] == 3


def test_other_answers_are_not_confirmed(run: Run, replay: Run, adapter: Adapter) -> None:
    system = adapter()
    system.write_text(f"{system.read_text()}    version = '1'\n")
    run(system)
    system.write_text(system.read_text().replace("max(", "min("))

    shown = replay("-a", system)

    assert shown.code == 3
    assert "not confirmed" in shown.out


def test_a_plan_cannot_name_a_program(run: Run, replay: Run) -> None:
    run("bm25")
    change_plan(system=read_plan().system.replace(name="command:touch touched"))

    shown = replay()

    assert shown.code == 2
    assert "name its adapter to replay it" in shown.err
    assert not Path("touched").exists()


def test_a_plan_cannot_name_a_model_that_receives_a_key(run: Run, replay: Run) -> None:
    run("bm25", "--reader", "extractive")
    reader = ReaderCard(name="model", version="1", model="openai:m;http://127.0.0.1:1/v1")
    change_plan(reader=reader)

    shown = replay()

    assert shown.code == 2
    assert (
        "--reader: the run used openai:m;http://127.0.0.1:1/v1. Give --reader yourself" in shown.err
    )


def test_another_reader_than_in_the_plan_is_refused(run: Run, replay: Run) -> None:
    run("bm25", "--reader", "extractive")
    planned = read_plan().reader
    assert planned is not None
    change_plan(reader=planned.replace(version="0"))

    shown = replay()

    assert shown.code == 2
    assert "--reader: here it is extractive 3" in shown.err


def test_a_submission_sets_nothing_that_gives_access_unless_it_is_trusted(
    run: Run, replay: Run, adapter: Adapter
) -> None:
    system = adapter()
    run(system, "--allow-network")
    submit(adapter=str(system), options=["--allow-network"])

    refused = replay()
    refused_options = replay("-a", system)
    missing = replay("-a", system, "--no-allow-network")
    accepted = replay("--trust-submission")

    assert refused.code == 2
    assert "can run code, spend money or give access" in refused.err
    assert "submission.yaml: sets --allow-network" in refused_options.err
    assert "the run had --allow-network" in missing.err
    assert accepted.code == 0, accepted.err


def test_a_submission_does_not_decide_what_the_plan_decides(run: Run, replay: Run) -> None:
    run("bm25")
    submit(options=["--top-k", "3"])

    shown = replay()

    assert shown.code == 2
    assert "submission.yaml: options: No such option" in shown.err
    assert "The plan of the run decides" in shown.err
