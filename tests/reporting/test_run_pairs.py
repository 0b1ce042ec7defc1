"""Trials are paired if they are the same trial; every other is left out and counted."""

from collections.abc import Sequence
from pathlib import Path

from recall_bench.core.memory import Asker, SystemCard
from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import Item
from recall_bench.engine.runs.trials import TrialTable, read_trials
from recall_bench.reporting.run_pairs import (
    CHANGED_QUESTION,
    NO_CHECKPOINT,
    NO_PERSONA,
    NO_QUESTION,
    NO_REPEAT,
    NOT_ASKED,
    DroppedTrials,
    TrialPairs,
    pair_trials,
)
from tests.written_runs import ADA, Story, plan_of, question, trial

BOB = (question("sea"), question("sun"))


def table(
    folder: Path, scenarios: dict[str, Sequence[Item]] | None = None, **settings: object
) -> TrialTable:
    asked = scenarios or {"ada": ADA}
    return read_trials(Story(folder, asked, plan_of(asked, **settings)).open())


def dropped(pairs: TrialPairs) -> dict[str, tuple[int, int]]:
    return {each.reason: (each.first, each.second) for each in pairs.dropped}


def test_a_run_is_paired_with_its_like_in_full(tmp_path: Path) -> None:
    pairs = pair_trials(table(tmp_path / "a"), table(tmp_path / "b"))

    assert len(pairs.trials) == 5
    assert pairs.dropped == ()


def test_a_persona_of_one_run_alone_is_left_out(tmp_path: Path) -> None:
    pairs = pair_trials(table(tmp_path / "a"), table(tmp_path / "b", {"ada": ADA, "bob": BOB}))

    assert len(pairs.trials) == 5
    assert pairs.dropped == (DroppedTrials(reason=NO_PERSONA, first=0, second=4),)


def test_a_question_is_the_same_whether_or_not_its_template_is_known(tmp_path: Path) -> None:
    cat, *others = ADA
    told = (cat.replace(template="pets"), *others)

    pairs = pair_trials(table(tmp_path / "a"), table(tmp_path / "b", {"ada": told}))

    assert pairs.dropped == ()
    assert pairs.templates == {("ada", cat.id): "pets"}


def test_a_question_that_was_repaired_is_not_the_same_question(tmp_path: Path) -> None:
    cat, *others = ADA
    repaired = cat.replace(truth=cat.truth.replace(reference="the other cat"))

    pairs = pair_trials(table(tmp_path / "a"), table(tmp_path / "b", {"ada": (repaired, *others)}))

    assert {each.item for each in pairs.trials} == {"dog", "house"}
    assert dropped(pairs) == {CHANGED_QUESTION: (2, 2)}


def test_a_question_of_one_run_alone_is_left_out(tmp_path: Path) -> None:
    pairs = pair_trials(table(tmp_path / "a"), table(tmp_path / "b", {"ada": ADA[:2]}))

    assert {each.item for each in pairs.trials} == {"cat", "dog"}
    assert dropped(pairs) == {NO_QUESTION: (1, 0)}


def test_a_label_is_not_a_checkpoint(tmp_path: Path) -> None:
    """Both have a `4d`, and one of them comes after three days."""
    early = (Checkpoint(label="2d", days=2), Checkpoint(label="4d", days=3))

    pairs = pair_trials(table(tmp_path / "a"), table(tmp_path / "b", checkpoints=early))

    assert pairs.trials == {trial("cat"), trial("dog")}
    assert dropped(pairs) == {NO_CHECKPOINT: (3, 3)}


def test_two_days_after_the_end_are_two_checkpoints(tmp_path: Path) -> None:
    """The days told are the same, the day of asking is not."""
    first, second = (
        table(tmp_path / str(days), checkpoints=(Checkpoint(label="late", days=days),))
        for days in (5, 6)
    )

    assert dropped(pair_trials(first, second)) == {NO_CHECKPOINT: (3, 3)}


def test_beyond_the_end_of_a_shorter_story_the_days_differ(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ADA}
    plan = plan_of(scenarios)
    (card,) = plan.scenarios
    shorter = Story(tmp_path / "b", scenarios, plan.replace(scenarios=(card.replace(last_day=3),)))

    pairs = pair_trials(table(tmp_path / "a"), read_trials(shorter.open()))

    assert dropped(pairs) == {NO_CHECKPOINT: (3, 3)}


def test_repeats_beyond_the_others_are_left_out(tmp_path: Path) -> None:
    pairs = pair_trials(table(tmp_path / "a", repeats=3), table(tmp_path / "b"))

    assert {each.repeat for each in pairs.trials} == {0}
    assert dropped(pairs) == {NO_REPEAT: (10, 0)}


def test_what_one_system_cannot_be_asked_is_left_out(tmp_path: Path) -> None:
    items = (question("cat"), question("pay", "information-boundary"))
    deaf = SystemCard(name="deaf", version="1", asker=Asker.UNTOLD)

    pairs = pair_trials(
        table(tmp_path / "a", {"ada": items}, groups_enabled=True),
        table(tmp_path / "b", {"ada": items}, groups_enabled=True, system=deaf),
    )

    assert {each.item for each in pairs.trials} == {"cat"}
    assert dropped(pairs) == {NOT_ASKED: (2, 0)}


def test_marks_are_kept_for_pairs_alone(tmp_path: Path) -> None:
    pairs = pair_trials(table(tmp_path / "a"), table(tmp_path / "b", {"ada": ADA[:2]}))

    assert pairs.select_marks({trial("cat"): 3.0, trial("house", "4d"): 6.0}) == {trial("cat"): 3.0}
