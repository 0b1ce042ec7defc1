"""Writes of the load suite are few enough to be told, and spread over all of the time."""

import pytest

from recall_bench.core.memory import SystemCard
from recall_bench.features.suites.behaviour import LoadStep
from recall_bench.features.suites.load import RATES
from recall_bench.features.suites.load import draw_stories as draw_load_stories
from recall_bench.features.suites.load_generator import draw_arrivals
from recall_bench.features.suites.story_writer import StoryRequest


def draw_steps(load_s: float) -> list[LoadStep]:
    request = StoryRequest(
        seed=42,
        each=1,
        system=SystemCard(name="any", version="1"),
        offers=frozenset(),
        patience_s=1.0,
        load_s=load_s,
        only=("days-10",),
    )
    [story] = draw_load_stories(request)
    return [step for step in story.lanes[0].steps if isinstance(step, LoadStep)]


def test_a_tenth_of_the_arrivals_writes_unless_the_load_lasts_long() -> None:
    assert [step.write_share for step in draw_steps(5.0)] == [0.1] * len(RATES)


@pytest.mark.parametrize("load_s", [5.0, 30.0, 120.0])
def test_writes_go_on_until_the_end(load_s: float) -> None:
    last = draw_steps(load_s)[-1]
    writes = [at for at, is_write in draw_arrivals(last) if is_write][: len(last.episodes)]

    assert len(last.episodes) <= 40
    assert len(writes) > 20
    assert writes[-1] > 0.85 * load_s
