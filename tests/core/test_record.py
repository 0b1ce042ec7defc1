"""What we write down is frozen, closed, checked when read, and knows its own name."""

from datetime import UTC, date, datetime

import msgspec
import pytest

from recall_bench.core.event import RunEnded, decode_event, encode_event
from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Item, Scenario, Truth, compute_story_date
from recall_bench.core.verdict import Verdict
from tests.conftest import EPOCH, episode
from tests.loops import loop_over_rows


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(
            b'{"scenario": "s", "item": "q", "checkpoint": "30d", "x": 1}', type=Trial
        )


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Trial(scenario="s", item="q", checkpoint="30d").item = "other"  # type: ignore[misc]


def test_equal_records_have_equal_digests_and_others_do_not() -> None:
    trial = Trial(scenario="s", item="q", checkpoint="30d")

    assert trial.digest == Trial(checkpoint="30d", item="q", scenario="s", repeat=0).digest
    assert trial.digest != trial.replace(repeat=1).digest


def test_wall_time_without_a_zone_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_event(b'{"type": "run_ended", "at": "2024-01-01T12:00:00"}')


def test_an_event_survives_its_line() -> None:
    event = RunEnded(at=datetime(2024, 1, 1, tzinfo=UTC))

    assert decode_event(encode_event(event)) == event


@loop_over_rows(
    "marks",
    [
        {"correctness": 4, "completeness": 2, "grounded": 1},
        {"correctness": -1, "completeness": 2, "grounded": 1},
        {"correctness": 3, "completeness": 2, "grounded": 2},
        {"correctness": 3, "completeness": 2, "grounded": True},
        {"correctness": 2.5, "completeness": 2, "grounded": 1},
        {"correctness": 3},
        {"correctness": 3, "completeness": 2, "grounded": 1, "charm": 1},
    ],
)
def test_a_mark_missing_or_off_its_scale_cannot_be_made(marks: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must be a whole number|a verdict has the marks"):
        Verdict(marks=marks)


@loop_over_rows(
    ("marks", "failed"),
    [
        ((3, 2, 1), False),
        ((2, 1, 1), False),
        ((1, 1, 1), True),
        ((3, 2, 0), True),
        ((0, 2, 1), True),
    ],
)
def test_the_verdicts_that_an_appeal_looks_at(marks: tuple[int, int, int], failed: bool) -> None:
    assert Verdict.of(*marks).is_failure is failed


@pytest.mark.parametrize(
    ("day", "expected"), [(1, "2026-01-01"), (68, "2026-03-09"), (305, "2026-11-01")]
)
def test_story_days_are_counted_on_the_calendar(day: int, expected: str) -> None:
    assert compute_story_date(date(2026, 1, 1), day).date().isoformat() == expected


def test_a_story_crosses_every_clock_change_without_losing_a_day() -> None:
    assert compute_story_date(date(2026, 1, 1), 500).date() == date(2027, 5, 15)


def test_a_scenario_refuses_days_out_of_order() -> None:
    with pytest.raises(ValueError, match="day-0001 does not come after day-0002"):
        Scenario(id="s", epoch=EPOCH, episodes=(episode(2, "b"), episode(1, "a")), items=())


def test_a_scenario_refuses_two_items_of_one_name() -> None:
    twin = Item(id="q", text="?", known_from=1, truth=Truth(reference="", category=""))

    with pytest.raises(ValueError, match="two items are called q"):
        Scenario(id="s", epoch=EPOCH, episodes=(episode(1, "a"),), items=(twin, twin))
