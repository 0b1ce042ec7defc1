"""The order of what happens in behaviour stories where it decides whether a figure is fair."""

from recall_bench.core.memory import Asker, Offer, SystemCard
from recall_bench.features.suites.behaviour import RestartStep, WaitStep, WriteStep
from recall_bench.features.suites.freshness import draw_stories as draw_freshness_stories
from recall_bench.features.suites.story_writer import StoryRequest


def test_no_memory_is_written_to_when_the_process_of_another_is_killed() -> None:
    """Both may live in one process: a slow system lost its run because of it."""
    request = StoryRequest(
        seed=1,
        each=1,
        system=SystemCard(name="any", version="1", asker=Asker.TOLD),
        offers=frozenset(Offer),
        patience_s=1.0,
    )
    (story,) = draw_freshness_stories(request)
    memory, other = (lane.steps for lane in story.lanes)

    last = other[-1]
    assert isinstance(last, WaitStep)
    assert isinstance(other[-2], WriteStep)
    met = next(at for at, step in enumerate(memory) if step == last)
    assert met < next(at for at, step in enumerate(memory) if isinstance(step, RestartStep))
