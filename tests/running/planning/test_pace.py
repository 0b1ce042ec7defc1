"""A step takes the same every day unless the earlier run shows that it does not."""

import pytest

from recall_bench.running.step_timings import Timings, make_fixed_pace


def timings(*points: tuple[int, float]) -> Timings:
    found = Timings()
    for number, (day, seconds) in enumerate(points):
        for _ in range(10):
            found.note(("run", "p", str(number)), day, seconds)
    return found


def test_what_grows_with_the_story_goes_on_growing() -> None:
    pace = timings((10, 1.0), (20, 2.0), (30, 3.0), (40, 4.0)).fit_pace()

    assert pace is not None
    assert pace.estimate_at(100) == pytest.approx(10)
    assert pace.last_day == 40


def test_nothing_is_taken_to_be_quicker_than_it_ever_was() -> None:
    pace = timings((100, 1.0), (200, 2.0), (300, 3.0)).fit_pace()

    assert pace is not None
    assert pace.estimate_at(1) == pytest.approx(1)


def test_two_checkpoints_show_no_trend() -> None:
    pace = timings((10, 1.0), (20, 3.0)).fit_pace()

    assert pace is not None
    assert pace.estimate_at(1) == pace.estimate_at(1000) == pytest.approx(2)


def test_what_only_wavers_has_no_trend() -> None:
    pace = timings((10, 1.0), (20, 3.0), (30, 1.0), (40, 3.0)).fit_pace()

    assert pace is not None
    assert pace.slope_s == 0


def test_what_gets_quicker_is_not_taken_to_get_quicker_for_ever() -> None:
    pace = timings((10, 3.1), (20, 1.8), (30, 1.1)).fit_pace()

    assert pace is not None
    assert pace.estimate_at(1000) == pytest.approx(2)


def test_the_range_is_as_wide_as_checkpoints_differ() -> None:
    pace = timings(*((10, 1.0 + place / 10) for place in range(11))).fit_pace()

    assert pace is not None
    assert pace.fast.estimate_at(10) == pytest.approx(1.1)
    assert pace.slow.estimate_at(10) == pytest.approx(1.9)


def test_what_a_person_states_has_no_range() -> None:
    assert make_fixed_pace(2.0).fast == make_fixed_pace(2.0).slow == make_fixed_pace(2.0)


def test_what_never_happened_has_no_pace() -> None:
    assert Timings().fit_pace() is None
