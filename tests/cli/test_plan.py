"""`plan` says what a run would do and take, and does nothing."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Invoke

SWEEP = ("--ranges", "5d", "10d")


def planned(invoke: Invoke, *flags: object) -> dict[str, Any]:
    shown = invoke("plan", *flags, "--json")
    assert shown.code == 0, shown.err
    loaded = json.loads(shown.out)
    assert isinstance(loaded, dict)
    return loaded


def run(invoke: Invoke, *flags: object) -> None:
    shown = invoke("run", *flags, "--no-heatmap-png")
    assert shown.code == 0, shown.err


def test_it_counts_what_a_run_then_does(invoke: Invoke, data: Path) -> None:
    said = planned(invoke, "--data", data, *SWEEP)
    run(invoke, "--data", data, *SWEEP, "--into", "r")

    lines = [json.loads(line) for line in Path("r/journal.jsonl").read_text().splitlines()]
    done = [line["type"] for line in lines]
    assert said["trials"] == done.count("answered")
    assert said["ingest_calls"] == done.count("ingested")
    assert said["settle_calls"] == done.count("settled")


@pytest.mark.parametrize(
    ("lifecycle", "days", "settles", "shards"),
    [("fresh", 2 * (5 + 10), 4, 4), ("growing", 10, 4, 1), ("forked", 10, 2, 1)],
)
def test_days_are_fed_as_the_lifecycle_has_it(
    invoke: Invoke, data: Path, lifecycle: str, days: int, settles: int, shards: int
) -> None:
    flags = ("--data", data, *SWEEP, "--lifecycle", lifecycle, "--repeats", 2)
    said = planned(invoke, *flags)
    run(invoke, *flags, "--into", "r")

    lines = [json.loads(line) for line in Path("r/journal.jsonl").read_text().splitlines()]
    done = [line["type"] for line in lines]
    assert (said["ingest_calls"], said["settle_calls"], said["shards"]) == (days, settles, shards)
    assert (done.count("ingested"), done.count("settled")) == (days, settles)


FORKED = ("--lifecycle", "forked", "--adapter", "bm25", "--repeats", 2, "--executor", "processes")


@pytest.mark.parametrize(
    ("flags", "shards"),
    [
        ((), 4),
        (("--copies", 3), 12),
        (("--max-calls", 2), 4),
        (("--max-calls", 1), 1),
        (("--executor", "local"), 1),
    ],
)
def test_a_forked_run_is_divided_as_executors_divide_it(
    invoke: Invoke, data: Path, flags: tuple[object, ...], shards: int
) -> None:
    """With one call at a time a memory cannot be fed while its copies are asked."""
    said = planned(invoke, "--data", data, *SWEEP, *FORKED, *flags)

    assert said["shards"] == shards


def test_workers_are_as_many_as_processors_may_be_used(
    invoke: Invoke, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 64)

    said = planned(invoke, "--data", data, *SWEEP, *FORKED)

    assert (said["shards"], said["workers"]) == (4, 3)


def test_a_run_whose_answers_were_not_all_judged_can_be_estimated_from(
    invoke: Invoke, data: Path, tmp_path: Path
) -> None:
    """The judge fails at the first answers of a run and judges a later one."""
    judge = tmp_path / "judge.py"
    judge.write_text(
        "seen = []\n\nasync def judge(exhibit):\n    seen.append(exhibit)\n"
        "    if len(seen) < 8:\n        raise RuntimeError('later')\n"
        "    return {'correctness': 3, 'completeness': 2, 'grounded': 1}\n"
    )
    flags = ("--data", data, *SWEEP, "--judge", judge)
    shown = invoke("run", *flags, "--into", "r", "--no-heatmap-png")
    assert shown.code == 6, shown.err

    said = planned(invoke, *flags, "--from", "r")

    steps = {stage["step"]: stage["times"] for stage in said["stages"]}
    assert 0 < steps["judge"] < steps["ask"]


def test_nothing_is_asked_and_nothing_written(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    broken = adapter(query="raise KeyError", ingest_day="raise KeyError")
    before = sorted(Path().rglob("*"))

    shown = invoke("plan", "--data", data, "--adapter", broken, "--estimate", "--into", "deep/r")

    assert shown.code == 0, shown.err
    after = [path for path in sorted(Path().rglob("*")) if "__pycache__" not in path.parts]
    assert after == [path for path in before if "__pycache__" not in path.parts]


def test_without_an_earlier_run_no_time_is_made_up(invoke: Invoke, data: Path) -> None:
    shown = invoke("plan", "--data", data, *SWEEP, "--estimate")
    said = planned(invoke, "--data", data, *SWEEP, "--estimate")

    assert "not measured yet" in shown.out
    assert said["hours"] is None
    assert said["sources"] == []


def test_stated_rates_become_hours(invoke: Invoke, data: Path) -> None:
    rates = ("--seconds-per-answer", 2, "--seconds-per-day", 1)
    said = planned(invoke, "--data", data, *SWEEP, *rates, "--lifecycle", "growing")

    hours = said["hours"]
    assert isinstance(hours, dict)
    assert 3600 * hours["expected"] == pytest.approx(2 * 15 + 10)


def test_the_newest_run_of_the_system_beside_the_folder_is_taken(
    invoke: Invoke, data: Path
) -> None:
    run(invoke, "--data", data, *SWEEP, "--adapter", "bm25", "--into", "runs/first")
    run(invoke, "--data", data, *SWEEP, "--adapter", "recency", "--into", "runs/other")

    flags = ("--data", data, "--ranges", "10d", "--adapter", "bm25", "--into", "runs/next")
    said = planned(invoke, *flags, "--estimate")

    assert said["sources"] == ["runs/first", "runs/other"]  # the second for its judge
    assert said["hours"] is not None
    steps = {stage["step"]: stage["times"] for stage in said["stages"]}
    assert (steps["feed"], steps["ask"], steps["judge"]) == (10, 15, 30)


def test_a_smaller_run_is_listed_with_what_it_would_show(invoke: Invoke, data: Path) -> None:
    flags = ("--data", data, *SWEEP, "--adapter", "recency")
    run(invoke, *flags, "--into", "r")

    said = planned(invoke, *flags, "--from", "r")
    rows = {row["change"]: row for row in said["less"]}

    assert rows["as planned"]["trials"] == 15
    assert rows["--sample 0"]["trials"] < 15
    assert rows["--sample 0"]["questions"] == rows["as planned"]["questions"]
    assert rows["--sample 0"]["hours"] < rows["as planned"]["hours"]


def test_it_fits_a_terminal(invoke: Invoke, data: Path) -> None:
    run(invoke, "--data", data, *SWEEP, "--into", "r")

    for flags in ((), ("--estimate",), ("--from", "r")):
        shown = invoke("plan", "--data", data, *SWEEP, *flags)
        assert max(map(len, shown.out.splitlines())) <= 80
        assert len(shown.out.splitlines()) <= 45


def test_a_model_that_never_judged_is_priced_by_its_prompts(
    invoke: Invoke, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none-of-yours")
    said = planned(invoke, "--data", data, *SWEEP, "--judge", "openai:gpt-4o-mini", "--estimate")

    [judge] = said["spending"]
    assert judge["role"] == "judge"
    assert judge["calls"] == 15
    assert judge["input_tokens"] > 15 * 500
    assert judge["is_limit"]
    assert said["cost_usd"] > 0
    assert said["untimed"]


def test_a_folder_that_is_no_run_is_refused(invoke: Invoke, data: Path) -> None:
    shown = invoke("plan", "--data", data, "--from", "nowhere")

    assert shown.code == 2
    assert "there is no folder nowhere; runs are in recall-runs/" in shown.err


@pytest.mark.parametrize("judge", ["openai:gpt-4o-mini", "openai:gpt-4o-mini;key-env=NOBODYS"])
@pytest.mark.parametrize("flags", [(), ("--estimate",)])
def test_a_plan_needs_no_key(
    invoke: Invoke,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    judge: str,
    flags: tuple[str, ...],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    shown = invoke("plan", "--data", data, *SWEEP, "--judge", judge, *flags)
    asked = invoke("run", "--data", data, *SWEEP, "--judge", judge, "--into", "r")

    assert shown.code == 0, shown.err
    assert asked.code == 2
    assert "key" in asked.err


def seconds_of(folder: str) -> float:
    """From the first line of the journal to the last."""
    lines = Path(folder, "journal.jsonl").read_text().splitlines()
    first, last = (datetime.fromisoformat(json.loads(lines[at])["at"]) for at in (0, -1))
    return (last - first).total_seconds()


@pytest.mark.parametrize(
    "flags", [("--lifecycle", "forked"), ("--lifecycle", "fresh"), ("--lifecycle", "growing")]
)
def test_the_very_run_it_is_made_from_is_estimated_at_its_time_and_the_page_adds_up(
    invoke: Invoke, data: Path, flags: tuple[str, ...]
) -> None:
    flags = ("--data", str(data), *SWEEP, "--adapter", "bm25", *flags)
    run(invoke, *flags, "--into", "r")

    said = planned(invoke, *flags, "--from", "r")

    hours = said["hours"]
    assert 3600 * hours["expected"] == pytest.approx(seconds_of("r"), rel=0.01)
    together = sum(stage["total_s"] for stage in said["stages"])
    assert together == pytest.approx(3600 * hours["expected"])


def test_hours_without_verdicts_are_called_so(invoke: Invoke, data: Path) -> None:
    run(invoke, "--data", data, *SWEEP, "--adapter", "bm25", "--into", "r")
    flags = ("--data", data, *SWEEP, "--adapter", "bm25", "--judge", "openai:gpt-4o-mini")

    shown = invoke("plan", *flags, "--from", "r")

    text = " ".join(shown.out.split())
    assert "a verdict was never timed" in text
    assert "what a model reasons unseen comes on top" in text


def test_days_beyond_what_was_measured_are_named(invoke: Invoke, data: Path) -> None:
    run(invoke, "--data", data, "--ranges", "5d", "--adapter", "bm25", "--into", "r")
    flags = ("--data", data, *SWEEP, "--adapter", "bm25", "--from", "r")

    shown = invoke("plan", *flags)
    hours = planned(invoke, *flags)["hours"]

    assert "nothing was measured after day 5, so it may be far off" in " ".join(shown.out.split())
    assert hours["measured_days"] == 5


def test_times_of_another_system_are_said_to_be(invoke: Invoke, data: Path) -> None:
    run(invoke, "--data", data, *SWEEP, "--adapter", "recency", "--into", "r")

    other = invoke("plan", "--data", data, *SWEEP, "--adapter", "bm25", "--from", "r")
    same = invoke("plan", "--data", data, *SWEEP, "--adapter", "recency", "--from", "r")

    assert "these are the times of recency" in other.out
    assert "these are the times of" not in same.out


def test_a_part_is_said_to_owe_what_it_then_asks(invoke: Invoke, data: Path) -> None:
    flags = ("--data", data, *SWEEP, "--lifecycle", "fresh", "--shard", "2/2")
    said = planned(invoke, *flags)["begun"]
    run(invoke, *flags, "--into", "r")

    asked = Path("r/journal.jsonl").read_text().count('"type":"answered"')
    assert (said["part"], said["shards"], said["owed"]) == ("2/2", 1, asked)
    assert 0 < asked < 15
    shown = invoke("plan", *flags, "--into", "r")
    assert f"2/2: {asked} of these trials, in 1 work unit" in shown.out
    assert "all of it is done there" in " ".join(shown.out.split())


def test_a_folder_is_said_to_hold_all_of_it_or_what_is_left(invoke: Invoke, data: Path) -> None:
    flags = ("--data", data, *SWEEP, "--adapter", "bm25", "--into", "r")
    new = invoke("plan", *flags)
    run(invoke, *flags)
    whole = invoke("plan", *flags)
    journal = Path("r/journal.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if '"type":"answered"' in line]
    journal.write_text("".join(lines[: places[0] + 1]))
    partly = invoke("plan", *flags)

    assert "there" not in new.out
    assert "all of it is done there, and nothing would be asked" in " ".join(whole.out.split())
    assert "r; 15 of 15 trials are left to do there" in partly.out


def test_checkpoints_that_fit_are_all_shown(invoke: Invoke, data: Path) -> None:
    points = [word for day in range(4, 11) for word in ("--ranges", f"{day}d")]

    shown = invoke("plan", "--data", data, *points)

    assert "checkpoints shown" not in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
