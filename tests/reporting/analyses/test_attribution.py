"""Counts add up to the misses, and say what they do not know."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.event import Inspected
from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Item
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.trials import TrialTable, read_trials
from recall_bench.reporting.analyses.attribution import (
    Attribution,
    FailureLeaf,
    count_causes,
    find_leaves,
)
from tests.written_runs import (
    INVENTED,
    NOON,
    PERFECT,
    POOR,
    Story,
    ada_story,
    plan_of,
    question,
    trial,
)


def table(story: Story) -> TrialTable:
    return read_trials(story.open())


def counts(found: Attribution) -> dict[FailureLeaf, int]:
    return {each.leaf: each.trials for each in found.leaves if each.trials}


@pytest.fixture
def mixed(tmp_path: Path) -> Story:
    """Ada's run: one miss of each of three kinds, one right answer, one never judged."""
    story = ada_story(tmp_path)
    story.both(trial("cat"), INVENTED)
    story.not_answered(trial("dog"))
    story.answer(trial("cat", "4d"), "Fig", Passage(text="…", day=3))
    story.judge(trial("cat", "4d"), POOR)
    story.both(trial("dog", "4d"), PERFECT)
    story.answer(trial("house", "4d"))
    story.not_judged(trial("house", "4d"))
    return story


def test_every_miss_is_counted_once_and_what_is_open_apart(mixed: Story) -> None:
    found = count_causes(table(mixed))

    assert (found.answered, found.misses, found.undecided) == (4, 3, 1)
    assert [each.leaf for each in found.leaves] == list(FailureLeaf)
    assert counts(found) == {
        FailureLeaf.FABRICATED: 1,
        FailureLeaf.INFRASTRUCTURE: 1,
        FailureLeaf.NOT_RETRIEVED: 1,
    }
    assert sum(each.trials for each in found.leaves) == found.misses


def test_the_same_misses_are_counted_by_category_and_by_checkpoint(mixed: Story) -> None:
    found = count_causes(table(mixed))

    assert list(found.categories) == ["factual-recall", "temporal-reasoning"]
    assert list(found.checkpoints) == ["2d", "4d"]
    assert found.categories["factual-recall"][FailureLeaf.FABRICATED] == 1
    assert found.categories["temporal-reasoning"][FailureLeaf.INFRASTRUCTURE] == 1
    assert found.checkpoints["4d"][FailureLeaf.NOT_RETRIEVED] == 1
    for crossed in (found.categories, found.checkpoints):
        assert all(list(row) == list(FailureLeaf) for row in crossed.values())
        assert sum(sum(row.values()) for row in crossed.values()) == found.misses


def test_points_lost_are_those_that_were_to_be_had(mixed: Story) -> None:
    lost = {each.leaf: each.points_lost for each in count_causes(table(mixed)).leaves}

    assert lost[FailureLeaf.FABRICATED] == 1, "of six, all but being grounded"
    assert lost[FailureLeaf.INFRASTRUCTURE] == 6
    assert lost[FailureLeaf.NOT_RETRIEVED] == 4


def test_the_leaf_of_each_miss_is_reported(mixed: Story) -> None:
    assert find_leaves(table(mixed)) == {
        trial("cat"): FailureLeaf.FABRICATED,
        trial("dog"): FailureLeaf.INFRASTRUCTURE,
        trial("cat", "4d"): FailureLeaf.NOT_RETRIEVED,
    }


def test_examples_are_of_different_questions_and_three_at_most(tmp_path: Path) -> None:
    items = [question(f"q{number}") for number in range(5)]
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    for label in ("2d", "4d"):
        for item in items:
            story.not_answered(trial(item.id, label))

    found = count_causes(table(story))
    leaf = next(each for each in found.leaves if each.leaf is FailureLeaf.INFRASTRUCTURE)

    assert (leaf.trials, leaf.questions) == (10, 5)
    assert leaf.examples == (trial("q0"), trial("q1"), trial("q2"))


def test_a_protocols_scores_have_no_points_to_lose(tmp_path: Path) -> None:
    story = ada_story(tmp_path)
    story.both(trial("cat"), Verdict(score=0.25))

    found = count_causes(table(story))

    assert (found.misses, sum(each.points_lost for each in found.leaves)) == (1, 0)
    assert any("no grounding mark" in note for note in found.notes)


def test_whether_a_day_was_stored_is_said_to_be_unknown_where_it_is(tmp_path: Path) -> None:
    def notes(*lost: tuple[int, ...]) -> tuple[str, ...]:
        story = ada_story(tmp_path)
        for days in lost:
            story.add(Inspected(at=NOON, scenario="ada", checkpoint="2d", lost=days))
        story.answer(trial("cat"), "no idea", Passage(text="…", day=2))
        story.judge(trial("cat"), POOR)
        return count_causes(table(story)).notes

    assert [note for note in notes() if "stored_days" in note] == [
        (
            "1 miss attributed to retrieval may as well be days never stored: the system does not "
            "say what it holds (a Python adapter says it by stored_days)."
        )
    ]
    assert not any("stored_days" in note for note in notes(()))


def test_a_system_that_shows_nothing_is_said_to(tmp_path: Path) -> None:
    story = ada_story(tmp_path)
    story.both(trial("cat"), POOR)

    found = count_causes(table(story))

    assert counts(found) == {FailureLeaf.UNTRACED: 1}
    assert found.notes == (
        ("1 miss could not be traced: the system returns no passages, or their source is unknown."),
    )


def test_a_run_without_misses_has_nothing_to_add(tmp_path: Path) -> None:
    story = ada_story(tmp_path)
    story.both(trial("cat"), PERFECT)

    found = count_causes(table(story))

    assert (found.answered, found.misses, found.undecided, found.notes) == (1, 0, 4, ())
    assert counts(found) == {}
