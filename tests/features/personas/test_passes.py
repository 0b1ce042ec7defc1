"""What every pass is asked for, and what becomes of it."""

import os
import signal
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from recall_bench.core.errors import BudgetSpent, ModelGone, UsageError
from recall_bench.core.usage import Usage
from recall_bench.features.personas.pass_request import PassRequest
from recall_bench.features.personas.pass_run import MissingUnit, PassResult, PassStop, run_pass
from tests.loops import loop_over_rows

HERE = Path()


@loop_over_rows(
    ("fields", "match"),
    [
        ({"days": 3, "start": 1}, "--days is short for"),
        ({"days": 0}, "--days: 0"),
        ({"start": 9, "end": 8}, "--start: day 9"),
        ({"max_cost_usd": float("nan")}, "--max-cost"),
    ],
)
def test_a_request_that_cannot_be_met(fields: dict[str, float], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        PassRequest(persona=HERE, **fields)  # type: ignore[arg-type]


def test_the_days_asked_for() -> None:
    assert PassRequest(persona=HERE).select_days(30) == range(1, 31)
    assert PassRequest(persona=HERE, days=5).select_days(30) == range(1, 6)
    assert PassRequest(persona=HERE, start=7, end=9).select_days(30) == range(7, 10)
    assert PassRequest(persona=HERE, start=7, end=90).select_days(30) == range(7, 31)
    with pytest.raises(UsageError, match="beyond the story's last day, 30"):
        PassRequest(persona=HERE, start=31).select_days(30)


def test_a_missing_folder_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="create-persona"):
        PassRequest(persona=tmp_path / "none").find_layout()


def generated(**fields: object) -> PassResult:
    usual = {"what": "days", "folder": "m", "wanted": 9, "written": 3, "kept": 2}
    return PassResult(**{**usual, **fields})  # type: ignore[arg-type]


def test_what_is_missing_is_named_with_the_command_that_fills_it() -> None:
    missing = tuple(
        MissingUnit(unit=f"day {day}", reason="the reply was prose", day=day) for day in (4, 5, 7)
    )
    found = generated(missing=missing, fill="recall-bench generate --persona p")

    assert found.exit_code == 10
    assert "5 of 9 days are in m (3 new, 2 there before)" in found.in_words
    assert "missing: days 4–5, 7" in found.in_words
    assert "to fill them: recall-bench generate --persona p" in found.in_words


def test_the_cost_of_this_run_and_of_all_runs_is_printed() -> None:
    usage = Usage(calls=2, input_tokens=2000, output_tokens=10, cost_usd=0.5, cached=3)
    words = generated(usage=usage, spent=usage + Usage(calls=1, unpriced=1)).in_words

    assert "2 calls, 2,000 tokens in and 10 out, 0.5000 USD; 3 replies on record" in words
    assert "with earlier runs 3 calls" in words
    assert "1 of unknown price" in words


def test_a_run_that_asked_nothing_says_so() -> None:
    spent = Usage(calls=1, input_tokens=5, output_tokens=1, cost_usd=0.25)
    words = generated(usage=Usage(cached=1), spent=spent).in_words

    assert "no calls; 1 reply on record; with earlier runs 1 call, " in words


def test_a_folder_of_personas_is_none(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "persona.yaml").write_text("id: ada\n")

    with pytest.raises(UsageError, match=r"holds no persona\.yaml; name one of .*ada"):
        PassRequest(persona=tmp_path).find_layout()


def test_what_stops_a_pass_in_good_order() -> None:
    async def spent() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep, 5)
            raise BudgetSpent("enough")

    async def gone() -> None:
        raise ModelGone("no key")

    async def bug() -> None:
        async with anyio.create_task_group():
            raise ValueError("a bug")

    async def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await anyio.sleep(5)

    async def fine() -> None:
        await anyio.lowlevel.checkpoint()

    assert run_pass(spent) == PassStop(reason="enough", exit_code=8)
    assert run_pass(gone) == PassStop(reason="no key", exit_code=6)
    assert run_pass(fine) is None
    stopped = run_pass(interrupted)
    assert stopped is not None
    assert stopped.exit_code == 143
    with pytest.raises(ValueError, match="a bug"):
        run_pass(bug)
