"""A score lies between what silence and what the evidence score, on the very same trials."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.event import BoundsComputed, MarkTriple
from recall_bench.core.scenario import Disclosure, Item
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from tests.written_runs import (
    FULL,
    INVENTED,
    PERFECT,
    POOR,
    SILENT,
    Story,
    bounded_story,
    plan_of,
    question,
    trial,
)

HALF: MarkTriple = (2, 1, 1)
QUESTIONS = 24


def estimates_of(story: Story) -> RunEstimates:
    return RunEstimates(RunFolder.open(story.save()))


def test_the_share_of_the_way_is_computed_from_all_three_means(tmp_path: Path) -> None:
    verdicts = [PERFECT, Verdict.of(0, 0, 1, "")] * (QUESTIONS // 2)
    found = estimates_of(bounded_story(tmp_path, verdicts)).estimate_range()
    assert found is not None
    assert (found.score, found.floor, found.ceiling) == (3.5, 1.0, 6.0)
    assert found.gain.value == 2.5
    assert found.share is not None
    assert found.share.value == 0.5
    assert found.share.low is not None
    assert found.share.high is not None
    assert 0.25 < found.share.low < 0.5 < found.share.high < 0.75
    assert found.is_above_floor
    assert not found.is_below_floor


def test_a_system_that_scores_like_silence_is_not_distinguished_from_it(tmp_path: Path) -> None:
    worse, better = Verdict.of(0, 0, 0, ""), Verdict.of(1, 0, 1, "")
    found = estimates_of(bounded_story(tmp_path, [worse, better] * 12)).estimate_range()
    assert found is not None
    assert not found.is_above_floor
    assert not found.is_below_floor


def test_a_system_that_gains_the_same_everywhere_is_distinguished_from_silence(
    tmp_path: Path,
) -> None:
    found = estimates_of(bounded_story(tmp_path, [PERFECT] * QUESTIONS)).estimate_range()
    assert found is not None
    assert (found.gain.value, found.is_above_floor) == (5.0, True)


def test_silence_itself_is_not_distinguished_from_silence(tmp_path: Path) -> None:
    silent = [Verdict.of(*SILENT, "")] * QUESTIONS
    found = estimates_of(bounded_story(tmp_path, silent)).estimate_range()
    assert found is not None
    assert (found.gain.value, found.is_above_floor, found.is_below_floor) == (0.0, False, False)


def test_a_system_that_invents_every_answer_is_below_silence(tmp_path: Path) -> None:
    nothing, grounded = Verdict.of(0, 0, 0, ""), Verdict.of(0, 0, 1, "")
    found = estimates_of(bounded_story(tmp_path, [nothing, nothing, grounded] * 8)).estimate_range()
    assert found is not None
    assert found.is_below_floor


def test_without_a_ceiling_there_is_a_floor_and_no_share(tmp_path: Path) -> None:
    found = estimates_of(bounded_story(tmp_path, [PERFECT, POOR] * 4, ceiling=None))
    overall = found.estimate_range()
    assert overall is not None
    assert (overall.floor, overall.ceiling, overall.share) == (1.0, None, None)


def test_there_is_no_share_of_a_way_of_no_length(tmp_path: Path) -> None:
    found = estimates_of(bounded_story(tmp_path, [PERFECT, POOR] * 4, ceiling=SILENT))
    overall = found.estimate_range()
    assert overall is not None
    assert overall.share is None


def test_a_run_without_bounds_has_no_range(tmp_path: Path) -> None:
    items = (question("q0", known_from=1),)
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    story.both(trial("q0"), PERFECT)
    assert estimates_of(story).estimate_range() is None


def test_each_category_has_its_own_range(tmp_path: Path) -> None:
    items = (
        question("q0", "factual-recall", known_from=1),
        question("q1", "synthesis", known_from=1),
    )
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    ceilings = {"q0": FULL, "q1": HALF}
    story.add(
        BoundsComputed(
            at=story.now, scenario="ada", floor=dict.fromkeys(ceilings, SILENT), ceiling=ceilings
        )
    )
    for checkpoint in ("2d", "4d"):
        for item in ceilings:
            story.both(trial(item, checkpoint), PERFECT)
    found = estimates_of(story).estimate_category_ranges()
    assert {name: each.ceiling for name, each in found.items()} == {
        "factual-recall": 6.0,
        "synthesis": 4.0,
    }
    assert found["synthesis"].share is not None
    assert found["synthesis"].share.value == pytest.approx(5 / 3)


def test_a_leak_is_not_an_invention(tmp_path: Path) -> None:
    guarded = question("q0", "information-boundary", known_from=1, disclosure=Disclosure.REFUSE)
    guarded = guarded.replace(truth=guarded.truth.replace(canaries=("HERON-4KG3W",)))
    items = (guarded, question("q1", known_from=1))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path, scenarios, plan_of(scenarios, groups_enabled=True))
    for checkpoint, secret in (("2d", "It is HERON-4KG3W."), ("4d", "I cannot say.")):
        story.both(trial("q0", checkpoint), INVENTED, secret)
        story.both(trial("q1", checkpoint), INVENTED)
    folder = RunFolder.open(story.save())
    tally = summarise(folder).overall
    assert (tally.judged, tally.ungrounded, tally.invented) == (4, 4, 3)
    assert (tally.guarded, tally.leaked) == (2, 1)
    means = RunEstimates(folder)
    invented, leaked = means.estimate_invented(), means.estimate_leaked()
    assert invented is not None
    assert invented.value == 0.75
    assert leaked is not None
    assert leaked.value == 0.5
    heatmap = means.build_heatmap()
    rows = {row.name: [cell.value for cell in row.cells if cell] for row in heatmap.rows}
    assert rows["leaked"] == [1.0, 0.0]
    assert rows["invented"] == [0.5, 1.0]
