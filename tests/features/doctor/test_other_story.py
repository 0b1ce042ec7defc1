"""A low score on one drawn story may be the draw, so another one is asked about too."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from recall_bench.core.diagnosis import Diagnosis, SystemHealth
from recall_bench.core.memory import Memory, MemorySystem
from recall_bench.core.scenario import Scenario
from recall_bench.features.doctor import doctor_probe
from recall_bench.features.doctor.doctor import (
    build_doctor_setup,
    collect_temporary_files,
    examine_system,
    load_controls,
)
from recall_bench.features.doctor.doctor_probe import ProbeResult, StoryProbe
from recall_bench.library import load_persona
from recall_bench.systems.python.system import build_python_system
from recall_bench.testing import Honest


class KnowsSomeStories:
    """An honest memory that learns nothing of the stories with these names."""

    def __init__(self, story: Scenario, *unknown: str) -> None:
        self._honest = build_python_system(Honest)
        self._silent = load_controls(story)["none"]
        self._unknown = unknown
        self.card = self._honest.card
        self.snapshots = self._honest.snapshots

    async def open(self, scenario: str) -> Memory:
        system = self._silent if scenario in self._unknown else self._honest
        return await system.open(scenario)

    async def close(self) -> None:
        await self._honest.close()


@pytest.fixture(scope="module")
def story() -> Scenario:
    return load_persona("harbour-office")


def examine(system: MemorySystem, story: Scenario, draw: Callable[[], Scenario]) -> Diagnosis:
    async def examination() -> Diagnosis:
        with collect_temporary_files() as files:
            try:
                setup = build_doctor_setup(story, "code", draw_other=draw)
                return (await examine_system(system, setup, files, timeout_s=30)).diagnosis
            finally:
                await system.close()

    return anyio.run(examination)


def find_message(diagnosis: Diagnosis) -> str:
    return next(each.message for each in diagnosis.complaints if each.check == "random-control")


def test_a_low_score_on_one_story_alone_is_no_suspicion(story: Scenario) -> None:
    other = story.replace(id="other")

    found = examine(KnowsSomeStories(story, story.id), story, lambda: other)

    assert "random-control" not in {each.check for each in found.complaints}
    assert found.figures["score"] == found.figures["score of none"]
    assert found.figures["score on two stories"] > found.figures["score of random on two stories"]


def test_a_low_score_on_both_is(story: Scenario) -> None:
    other = story.replace(id="other")

    found = examine(KnowsSomeStories(story, story.id, "other"), story, lambda: other)

    assert found.health is SystemHealth.SUSPECT
    assert "of 100 on two small stories where the control" in find_message(found)
    assert found.story == "harbour-office, 30 days; and other, 30 days"


def test_what_fails_on_the_other_story_is_reported(
    story: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no points there, which alone would read as a low score."""
    other = story.replace(id="other")
    system = KnowsSomeStories(story, story.id)
    ask = doctor_probe.StoryProbe.ask

    async def fail_on_other(probe: StoryProbe, *given: Any, **named: Any) -> ProbeResult:
        result = await ask(probe, *given, **named)
        if probe.scenario.id == "other":
            result.faults.append("SystemFault: the disk is full")
        return result

    monkeypatch.setattr(doctor_probe.StoryProbe, "ask", fail_on_other)

    found = examine(system, story, lambda: other)

    assert found.health is SystemHealth.INVALID
    failed = next(each.message for each in found.complaints if each.check == "answers")
    assert failed == (
        "it failed at 1 question of two small stories, first with SystemFault: the disk is full"
    )


def test_another_story_is_drawn_only_for_a_low_score(story: Scenario) -> None:
    def draw() -> Scenario:
        pytest.fail("the first story was enough")

    found = examine(KnowsSomeStories(story), story, draw)

    assert found.health is SystemHealth.VALID
    assert "score on two stories" not in found.figures
