"""The system's failures cost the system, ours cost the run, and nothing measured is no number."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import CATEGORIES, Disclosure, Item
from recall_bench.engine.runs.summary import (
    CheckpointSummary,
    RunStatus,
    Summary,
    summarise,
    summarise_checkpoint,
)
from recall_bench.metrics.marks import TrialTally
from tests.written_runs import (
    ADA,
    ALL_OF_ADA,
    INVENTED,
    PERFECT,
    POOR,
    Story,
    ada_story,
    plan_of,
    question,
    trial,
)


def first(story: Story) -> CheckpointSummary:
    return summarise(story.open()).checkpoints[0]


def test_an_unanswered_question_scores_zero(story: Story) -> None:
    story.both(trial("cat"), PERFECT)
    story.not_answered(trial("dog"))

    tally = first(story).overall

    assert (tally.mean, tally.counted, tally.missing) == (3.0, 2, 0)


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param(lambda s: None, id="open"),
        pytest.param(lambda s: s.answer(trial("dog")), id="awaiting its verdict"),
        pytest.param(
            lambda s: (s.answer(trial("dog")), s.not_judged(trial("dog"))), id="not judged"
        ),
    ],
)
def test_a_trial_without_a_verdict_is_missing_not_wrong(
    story: Story, leave: Callable[[Story], object]
) -> None:
    story.both(trial("cat"), POOR)
    leave(story)

    tally = first(story).overall

    assert (tally.mean, tally.counted, tally.missing) == (2.0, 1, 1)


def test_nothing_measured_is_none_and_not_zero(story: Story) -> None:
    tally = first(story).overall

    assert (tally.mean, tally.share, tally.hallucination_rate) == (None, None, None)


def test_every_owed_trial_is_in_exactly_one_count(story: Story) -> None:
    story.both(trial("cat"))
    story.not_answered(trial("dog"))
    story.answer(trial("house", "4d"))
    story.answer(trial("cat", "4d"))
    story.not_judged(trial("cat", "4d"))

    tally = summarise(story.open()).overall

    assert (tally.judged, tally.not_answered, tally.not_judged, tally.open) == (1, 1, 1, 2)
    assert tally.awaiting == 1
    assert tally.owed == 5


def test_hallucination_is_a_share_of_judged_answers_only(story: Story) -> None:
    story.both(trial("cat"), INVENTED)
    story.not_answered(trial("dog"))

    assert first(story).overall.hallucination_rate == 1.0


def test_categories_and_difficulties_are_counted_apart(finished: Story) -> None:
    last = summarise(finished.open()).checkpoints[1]

    assert last.get_tally("temporal-reasoning").mean == 2.0
    assert last.get_tally("synthesis").mean == 6.0
    assert last.difficulties["medium"].mean == 2.0
    assert last.difficulties["hard"].counted == 1


def test_eligible_counts_questions_not_yet_askable_as_none(story: Story) -> None:
    early, late = summarise(story.open()).checkpoints

    assert early.get_tally("synthesis") == TrialTally()
    assert late.get_tally("synthesis").eligible == 1
    assert (early.overall.eligible, late.overall.eligible) == (2, 3)


def test_a_group_question_is_eligible_but_not_owed_where_groups_are_off(tmp_path: Path) -> None:
    items = (question("cat"), question("who", "group-session-attribution"))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path, scenarios, plan_of(scenarios))

    group = first(story).get_tally("group-session-attribution")

    assert (group.eligible, group.owed, group.mean) == (1, 0, None)


def test_repeats_count_as_trials_and_not_as_questions(tmp_path: Path) -> None:
    story = ada_story(tmp_path, repeats=3)
    for repeat, verdict in enumerate((PERFECT, POOR, POOR)):
        story.both(trial("cat", repeat=repeat), verdict)

    cats = first(story).get_tally("factual-recall")

    assert (cats.owed, cats.eligible) == (3, 1)
    assert cats.mean == pytest.approx(10 / 3)


def two_personas(folder: Path) -> Story:
    """Ada answers one question perfectly; Bob answers three poorly."""
    bob = (question("sea"), question("sun"), question("sky"))
    scenarios: dict[str, Sequence[Item]] = {"ada": (question("cat"),), "bob": bob}
    checkpoints = (Checkpoint(label="2d", days=2),)
    story = Story(folder, scenarios, plan_of(scenarios, checkpoints=checkpoints))
    story.both(trial("cat"), PERFECT)
    for item in bob:
        story.both(trial(item.id, scenario="bob"), POOR)
    story.end()
    return story


def test_personas_are_weighted_by_their_questions(tmp_path: Path) -> None:
    summary = summarise(two_personas(tmp_path).open())

    assert [persona.overall.mean for persona in summary.personas] == [6.0, 2.0]
    assert summary.checkpoints[0].overall.mean == 3.0
    assert summary.checkpoints[0].get_tally("factual-recall").mean == 3.0
    assert summary.checkpoints[0].get_tally("factual-recall").eligible == 4


def test_a_checkpoint_where_nothing_is_asked_has_no_score(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": (question("late", known_from=3),)}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    story.both(trial("late", "4d"))
    story.end()

    early, late = summarise(story.open()).checkpoints

    assert (early.overall.owed, early.overall.mean) == (0, None)
    assert late.overall.mean == 6.0


def test_no_questions_at_all_is_a_run_without_a_score(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ()}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    story.end()

    summary = summarise(story.open())

    assert summary.overall.mean is None
    assert summary.validity.status is RunStatus.VALID
    assert summary.categories == CATEGORIES


def test_categories_of_another_dataset_replace_the_usual_ten(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"chat": (question("a", "multi-hop"),)}
    story = Story(tmp_path, scenarios, plan_of(scenarios))

    assert summarise(story.open()).categories == ("multi-hop",)


def test_a_category_beside_the_usual_ten_is_listed_after_them(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": (question("a", "smell"), question("b"))}
    story = Story(tmp_path, scenarios, plan_of(scenarios))

    assert summarise(story.open()).categories == (*CATEGORIES, "smell")


def test_disclosure_is_reported_for_boundary_questions_only(tmp_path: Path) -> None:
    items = (
        question("pay", "information-boundary", disclosure=Disclosure.REFUSE),
        question("age", "information-boundary", disclosure=Disclosure.REFUSE),
        question("cat", "factual-recall", disclosure=Disclosure.ANSWER),
    )
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path, scenarios, plan_of(scenarios, groups_enabled=True))
    for label in ("2d", "4d"):
        story.both(trial("pay", label), INVENTED)
        story.both(trial("age", label), PERFECT)
        story.both(trial("cat", label), POOR)

    found = summarise(story.open()).disclosures

    assert list(found) == ["refuse"]
    assert (found["refuse"].tally.counted, found["refuse"].unique) == (4, 2)
    assert found["refuse"].tally.mean == 5.5
    assert found["refuse"].tally.hallucination_rate == 0.5


def run(folder: Path, *, failures: int, budget: float) -> Story:
    """Ten trials, of which some time out; not ended yet."""
    items = tuple(question(f"q{i}") for i in range(10))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    checkpoints = (Checkpoint(label="2d", days=2),)
    plan = plan_of(scenarios, checkpoints=checkpoints, error_budget=budget)
    story = Story(folder, scenarios, plan)
    for i, item in enumerate(items):
        if i < failures:
            story.not_answered(trial(item.id))
        else:
            story.both(trial(item.id))
    return story


def test_failures_within_the_budget_leave_a_run_valid(tmp_path: Path) -> None:
    story = run(tmp_path, failures=2, budget=0.2)
    story.end()

    assert summarise(story.open()).validity.status is RunStatus.VALID


def test_failures_over_the_budget_make_it_invalid_and_say_why(tmp_path: Path) -> None:
    story = run(tmp_path, failures=3, budget=0.2)
    story.end()

    validity = summarise(story.open()).validity

    assert validity.status is RunStatus.INVALID
    assert validity.reason == "3 of 10 trials failed, budget 20 %"


def test_answers_no_one_could_judge_count_against_the_budget(story: Story) -> None:
    for each in ALL_OF_ADA:
        story.answer(each)
        story.not_judged(each)
    story.end()

    assert summarise(story.open()).validity.status is RunStatus.INVALID


def test_a_run_still_going_is_unfinished_whatever_failed(story: Story) -> None:
    story.not_answered(trial("cat"))
    story.not_answered(trial("dog"))

    validity = summarise(story.open()).validity

    assert validity.status is RunStatus.UNFINISHED
    assert validity.reason == "3 of 5 trials open"


def test_a_run_that_could_not_be_fed_is_invalid_by_what_it_left_open(story: Story) -> None:
    story.both(trial("cat"))
    story.both(trial("dog"))
    story.feed_failed("ada", "4d")

    validity = summarise(story.open()).validity

    assert validity.status is RunStatus.INVALID
    assert (
        validity.reason
        == "3 of 5 trials failed, budget 5 %; 3 of them could not be asked, because feeding failed"
    )


def test_a_run_going_on_after_a_feed_failure_is_unfinished(story: Story) -> None:
    story.feed_failed("ada", "2d")
    story.resume()
    story.both(trial("cat"))

    assert summarise(story.open()).validity.status is RunStatus.UNFINISHED


def test_a_persona_not_started_leaves_the_run_unfinished(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ADA, "bob": ADA}
    story = Story(tmp_path, {"ada": ADA}, plan_of(scenarios))
    for each in ALL_OF_ADA:
        story.both(each)

    summary = summarise(story.open())

    assert summary.validity.status is RunStatus.UNFINISHED
    assert summary.validity.reason == "0 of 5 trials open, not started: bob"
    assert [part.is_done for part in summary.personas[0].checkpoints] == [True, True]
    assert summary.planned_checkpoints == 4


def test_a_checkpoint_is_done_when_nothing_is_left_to_do(story: Story) -> None:
    story.both(trial("cat"))
    story.not_answered(trial("dog"))

    summary = summarise(story.open())

    assert [part.is_done for part in summary.checkpoints] == [True, False]


def test_an_empty_checkpoint_is_done_once_the_system_has_lived_it(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": (question("late", known_from=3),)}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    before = summarise(story.open())
    story.settle("ada", "2d")
    after = summarise(story.open())

    assert [part.is_done for part in before.checkpoints] == [False, False]
    assert [part.is_done for part in after.checkpoints] == [True, False]


def test_a_dry_run_visits_one_checkpoint(tmp_path: Path) -> None:
    story = ada_story(tmp_path, dry_run=True)
    story.both(trial("cat"))
    story.both(trial("dog"))
    story.end()

    summary = summarise(story.open())

    assert [part.is_done for part in summary.checkpoints] == [True]
    assert summary.planned_checkpoints == 1


def test_one_checkpoint_counts_alone_as_it_does_in_the_whole(finished: Story) -> None:
    folder = finished.open()

    whole: Summary = summarise(folder)

    states = folder.states.scenarios["ada"]
    assert summarise_checkpoint(states, 1) == whole.personas[0].checkpoints[1]
