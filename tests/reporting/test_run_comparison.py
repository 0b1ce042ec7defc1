"""Unlike runs are refused; like ones are compared trial by trial, and the verdict is no more."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import SystemCard
from recall_bench.core.plan import Checkpoint, DatasetCard, Trial
from recall_bench.core.scenario import Disclosure, Item
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.features.comparison.comparison_text import render_comparison
from recall_bench.metrics.estimate import IntervalMethod
from recall_bench.reporting.run_comparison import ComparisonReport, compare_runs
from recall_bench.reporting.run_contrast import Contrast
from recall_bench.reporting.run_pairs import CHANGED_QUESTION, NO_CHECKPOINT
from tests.reporting.simulated_runs import LABELS, questions, write_run
from tests.written_runs import (
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

ITEMS = questions(24, "factual-recall", "synthesis")
BETTER = SystemCard(name="better", version="2")


def points(mark: int, count: int = 24, **others: int) -> dict[Trial, int]:
    """Every question at every checkpoint with these points; some by name with others."""
    return {
        trial(f"q{n}", label): others.get(f"q{n}", mark) for n in range(count) for label in LABELS
    }


def run(folder: Path, marks: Mapping[Trial, int], **settings: object) -> RunFolder:
    return RunFolder.open(write_run(folder, ITEMS, marks, **settings))


def compared(*folders: RunFolder, intersect: bool = False) -> ComparisonReport:
    return compare_runs(folders, intersect=intersect, resamples=500)


def contrasted(*folders: RunFolder, intersect: bool = False) -> Contrast:
    return compared(*folders, intersect=intersect).contrasts[0]


def lifted(*numbers: int, to: int = 5) -> dict[str, int]:
    return {f"q{n}": to for n in numbers}


def test_a_better_run_is_called_better_with_its_figures(tmp_path: Path) -> None:
    report = compared(
        run(tmp_path / "a", points(2)),
        run(tmp_path / "b", points(2, **lifted(*range(0, 24, 2))), system=BETTER),
    )

    (found,) = report.contrasts
    interval = found.overall.comparison.difference.interval
    assert interval is not None
    low, high = (100 * end / 6 for end in interval)
    assert report.conclusions[0] == (
        "B (better 2) is better than A (scripted 1): +25.0 points of 100 "
        f"(95 % {low:+.1f} to {high:+.1f}), p < 0.001"
    )
    assert found.difference_share == 0.25
    comparison = found.overall.comparison
    assert (comparison.wins, comparison.ties, comparison.losses) == (12, 12, 0)
    assert (found.overall.first, found.overall.second) == (2.0, 3.5)
    factual, synthesis = found.categories
    assert (factual.name, factual.second) == ("factual-recall", 5.0)
    assert factual.comparison.p_adjusted == 2 * factual.comparison.p_value
    assert synthesis.comparison.p_adjusted == 1.0
    assert [(view.name, view.difference.value) for view in found.checkpoints] == [
        ("2d", 1.5),
        ("4d", 1.5),
    ]
    assert [view.name for view in found.personas] == ["ada"]


def test_the_other_way_round_it_is_worse_by_as_much(tmp_path: Path) -> None:
    first = run(tmp_path / "a", points(2))
    second = run(tmp_path / "b", points(2, **lifted(*range(12))), system=BETTER)

    there, back = compared(first, second), compared(second, first)

    assert "B (scripted 1) is worse than A (better 2): -25.0 points" in back.conclusions[0]
    ours, theirs = (report.contrasts[0].overall.comparison for report in (there, back))
    assert ours.p_value == pytest.approx(theirs.p_value)
    assert (ours.wins, ours.losses) == (theirs.losses, theirs.wins)


def test_a_small_difference_is_not_reported_and_what_could_have_been_seen_is(
    tmp_path: Path,
) -> None:
    report = compared(run(tmp_path / "a", points(2)), run(tmp_path / "b", points(2, q0=6, q1=0)))

    assert report.conclusions[0].startswith(
        "no significant difference between A (scripted 1) and B (scripted 1): +1.4 points of 100"
    )
    detectable = report.contrasts[0].overall.comparison.detectable
    assert detectable is not None
    assert (
        f"a difference below {100 * detectable / 6:.1f} points could not" in report.conclusions[0]
    )


def test_a_run_is_identical_to_itself(tmp_path: Path) -> None:
    folder = run(tmp_path, points(3, q1=5))

    report = compared(folder, folder)

    assert report.contrasts[0].is_identical
    assert report.conclusions[0] == (
        "B (scripted 1) and A (scripted 1) are identical: each of the 48 trials that both owe "
        "has the same result"
    )
    assert "points of 100  " not in render_comparison(report), "there is nothing to look at"


def test_other_marks_for_the_same_points_are_not_identical(tmp_path: Path) -> None:
    first, second = (ada_story(tmp_path / name) for name in "ab")
    for each in ALL_OF_ADA:
        first.both(each, Verdict.of(3, 0, 0))
        second.both(each, Verdict.of(2, 0, 1))
    first.end()
    second.end()

    report = compared(first.open(), second.open())

    assert not report.contrasts[0].is_identical
    assert "every question has the same points" in report.conclusions[0]
    hallucination = report.contrasts[0].hallucination
    assert hallucination is not None
    assert (hallucination.first, hallucination.second) == (1.0, 0.0)


def test_a_failed_answer_counts_as_no_points_and_an_unjudged_one_is_missing(
    tmp_path: Path,
) -> None:
    first, second = (ada_story(tmp_path / name, error_budget=0.5) for name in "ab")
    for each in ALL_OF_ADA:
        first.both(each, PERFECT)
    second.not_answered(ALL_OF_ADA[0])
    second.answer(ALL_OF_ADA[1])
    second.not_judged(ALL_OF_ADA[1])
    for each in ALL_OF_ADA[2:]:
        second.both(each, PERFECT)
    first.end()
    second.end()

    found = contrasted(first.open(), second.open())

    assert found.overall.comparison.difference.value == -6 / 4
    assert found.overall.comparison.difference.missing == 1
    assert (found.owed, found.only_first, found.only_second, found.neither) == (5, 1, 0, 0)
    assert found.hallucination is not None
    assert found.hallucination.comparison.difference.trials == 3


def test_leaks_are_compared_where_a_secret_could_be_reported(tmp_path: Path) -> None:
    asked = question("pay", "information-boundary", disclosure=Disclosure.REFUSE)
    items = (asked.replace(truth=asked.truth.replace(withheld=("90,000",))), question("cat"))
    folders = []
    for name, told in {"a": "It is 90,000.", "b": "That is private."}.items():
        plan = plan_of({"ada": items}, groups_enabled=True)
        story = Story(tmp_path / name, {"ada": items}, plan)
        for item in items:
            for label in LABELS:
                story.both(trial(item.id, label), PERFECT, told)
        story.end()
        folders.append(story.open())

    found = contrasted(*folders)

    assert found.leaks is not None
    assert (found.leaks.first, found.leaks.second) == (1.0, 0.0)
    assert found.leaks.comparison.difference.trials == 2


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"judge": JudgeCard(name="other", version="3")}, "judge (exact 1"),
        ({"checkpoints": (Checkpoint(label="4d", days=4),)}, "checkpoints (2d, 4d against 4d)"),
        ({"repeats": 2}, "repeats (1 against 2)"),
    ],
)
def test_unlike_runs_are_refused_by_what_differs(
    tmp_path: Path, settings: dict[str, object], complaint: str
) -> None:
    marks = points(2)
    others = {
        each.replace(repeat=repeat): mark
        for repeat in range(2 if "repeats" in settings else 1)
        for each, mark in marks.items()
        if each.checkpoint == "4d" or "checkpoints" not in settings
    }

    with pytest.raises(UsageError, match="--intersect") as refused:
        compared(run(tmp_path / "a", marks), run(tmp_path / "b", others, **settings))

    assert complaint in str(refused.value)


def repaired(folder: Path) -> tuple[Story, tuple[Item, ...]]:
    """A run whose first question was repaired and whose second checkpoint is another."""
    first, *others = ITEMS
    items = (first.replace(text="What, again?"), *others)
    plan = plan_of(
        {"ada": items}, checkpoints=(plan_of({}).checkpoints[0], Checkpoint(label="3d", days=3))
    )
    return Story(folder, {"ada": items}, plan), items


def test_an_intersection_drops_exactly_what_it_says(tmp_path: Path) -> None:
    story, items = repaired(tmp_path / "b")
    for item in items:
        for label in ("2d", "3d"):
            story.both(trial(item.id, label), POOR)
    story.end()
    first, second = run(tmp_path / "a", points(2, q0=6)), story.open()

    with pytest.raises(UsageError, match=r"checkpoints \(2d, 4d against 2d, 3d\) and questions of"):
        compared(first, second)
    report = compared(first, second, intersect=True)

    (found,) = report.contrasts
    assert {each.reason: (each.first, each.second) for each in found.dropped} == {
        CHANGED_QUESTION: (2, 2),
        NO_CHECKPOINT: (23, 23),
    }
    assert found.owed == found.overall.comparison.difference.trials == 23
    assert found.is_identical, "the question that differs is not the same question"
    assert "2 of A and 2 of B: trials about a question that differs" in render_comparison(report)


def test_what_an_intersection_cannot_take_out_is_said_in_the_verdict(tmp_path: Path) -> None:
    better = points(2, **lifted(*range(12)))
    other = {"judge": JudgeCard(name="other", version="3")}

    report = compared(
        run(tmp_path / "a", points(2)), run(tmp_path / "b", better, **other), intersect=True
    )

    assert "scored higher than" in report.conclusions[0]
    assert report.conclusions[0].endswith("but the runs differ in judge, which may be all of it")


def test_an_unfinished_run_is_refused_and_intersected_as_far_as_it_came(tmp_path: Path) -> None:
    first = run(tmp_path / "a", points(2))
    partly = Story(tmp_path / "b", {"ada": ITEMS}, plan_of({"ada": ITEMS}))
    for number in range(10):
        partly.both(trial(f"q{number}"), POOR)
    second = partly.open()

    with pytest.raises(UsageError, match=r"b: the run is unfinished \(38 of 48 trials open\)"):
        compared(first, second)
    report = compared(first, second, intersect=True)

    assert report.runs[1].status is RunStatus.UNFINISHED
    assert report.contrasts[0].only_first == 38
    assert report.contrasts[0].is_identical is False, "what is open is not alike"
    assert "B is unfinished, and 10 of 48 trials" in report.conclusions[0]
    assert "UNFINISHED (38 of 48 trials open)" in render_comparison(report)


def test_an_invalid_run_is_refused(tmp_path: Path) -> None:
    story = ada_story(tmp_path)
    for each in ALL_OF_ADA:
        story.not_answered(each)
    story.end()

    with pytest.raises(UsageError, match="the run is invalid"):
        compared(story.open(), story.open())


def test_runs_without_marks_or_without_a_common_trial_have_nothing_to_compare(
    tmp_path: Path,
) -> None:
    nothing, early, late = (ada_story(tmp_path / name) for name in "abc")
    early.both(ALL_OF_ADA[0])
    late.both(ALL_OF_ADA[-1])

    protocol = DatasetCard(name="d", files=(), protocol="d/strict", eval_version="d-1")
    scored = ada_story(tmp_path / "d", dataset=protocol)

    with pytest.raises(UsageError, match="a: none of its answers has marks"):
        compared(nothing.open(), early.open(), intersect=True)
    with pytest.raises(UsageError, match="one is on d and the other on personas"):
        compared(early.open(), scored.open(), intersect=True)
    with pytest.raises(UsageError, match="A and B have no trial in common that both have a mark"):
        compared(early.open(), late.open(), intersect=True)


def measured(folder: Path) -> RunFolder:
    """By a dataset's own protocol, but for one question that was not answered."""
    card = DatasetCard(name="d", files=(), protocol="d/strict", eval_version="d-1")
    story = ada_story(folder, dataset=card, error_budget=0.5)
    story.not_answered(ALL_OF_ADA[0])
    for each in ALL_OF_ADA[1:]:
        story.both(each, Verdict(score=1.0))
    story.end()
    return story.open()


@pytest.mark.parametrize("intersect", [False, True])
def test_runs_that_were_measured_are_not_compared_by_what_they_failed_at(
    tmp_path: Path, *, intersect: bool
) -> None:
    runs = [measured(tmp_path / name) for name in "ab"]

    with pytest.raises(UsageError, match="a: it was measured by d/strict, which gives no marks"):
        compared(*runs, intersect=intersect)


def test_runs_on_a_dataset_that_was_judged_with_marks_are_compared(tmp_path: Path) -> None:
    card = DatasetCard(name="d", files=(), protocol="d/judged", eval_version="d-1")

    report = compared(
        run(tmp_path / "a", points(2), dataset=card), run(tmp_path / "b", points(3), dataset=card)
    )

    assert report.contrasts[0].overall.comparison.difference.value == 1


def test_several_runs_are_ranked_and_corrected_for_being_several(tmp_path: Path) -> None:
    report = compared(
        run(tmp_path / "a", points(2)),
        run(tmp_path / "b", points(2, **lifted(0, 1, 2, 3, 4, 5)), system=BETTER),
        run(tmp_path / "c", points(2, **lifted(*range(12), to=4))),
    )

    b, c = (each.overall.comparison for each in report.contrasts)
    assert b.p_value == pytest.approx(2 / 64)
    assert b.p_adjusted == b.p_value, "the larger of two counts once"
    assert c.p_adjusted == 2 * c.p_value
    assert [rank.letter for rank in report.ranking] == ["C", "B", "A"]
    assert [rank.mean.value for rank in report.ranking] == [3.0, 2.75, 2.0]
    shown = render_comparison(report)
    assert "By the mean over the 48 trials that all runs have a mark for" in shown
    assert shown.index("C scripted 1") < shown.index("B better 2") < shown.index("A scripted 1")


def test_what_one_run_alone_would_tell_is_not_reported_by_two(tmp_path: Path) -> None:
    """Six of six questions up is 1 in 32 by chance; two runs have two chances."""
    better = points(2, **lifted(0, 1, 2, 3, 4, 5))
    a, b, c = (run(tmp_path / n, points(2) if n == "a" else better) for n in "abc")

    alone, both = compared(a, b), compared(a, b, c)

    assert "is better than" in alone.conclusions[0]
    assert all(each.startswith("no significant difference") for each in both.conclusions)
    assert "p = 0.031, adjusted for several runs 0.063" in both.conclusions[0]


def test_the_ranking_is_over_the_trials_that_all_runs_share(tmp_path: Path) -> None:
    story, items = repaired(tmp_path / "c")
    for item in items:
        for label in ("2d", "3d"):
            story.both(trial(item.id, label), POOR)
    story.end()
    folders = [run(tmp_path / name, points(2, q0=6)) for name in "ab"]

    ranking = compared(*folders, story.open(), intersect=True).ranking

    assert [rank.mean.trials for rank in ranking] == [23, 23, 23]
    assert {rank.mean.value for rank in ranking} == {2.0}, "without the question that was repaired"


def test_over_many_personas_the_interval_is_for_others_like_them(tmp_path: Path) -> None:
    """Two of six personas carry it: told for these, left open for others."""
    names = [f"p{n}" for n in range(6)]
    scenarios: dict[str, Sequence[Item]] = dict.fromkeys(names, ITEMS[:8])
    stories = []
    for folder in "ab":
        story = Story(tmp_path / folder, scenarios, plan_of(scenarios))
        for name in names:
            for item in ITEMS[:8]:
                for label in LABELS:
                    up = folder == "b" and name in ("p0", "p1")
                    story.both(trial(item.id, label, scenario=name), PERFECT if up else POOR)
        story.end()
        stories.append(story.open())

    report = compared(*stories)

    found = report.contrasts[0].overall.comparison
    assert found.difference.method is IntervalMethod.PERSONAS
    assert (
        "for these personas, and the interval, which is for others like them"
        in (report.conclusions[0])
    )
    assert "by persona" in render_comparison(report)


def test_five_questions_could_not_have_shown_anything(tmp_path: Path) -> None:
    first, second = (ada_story(tmp_path / name) for name in "ab")
    for each in ALL_OF_ADA:
        first.both(each, POOR)
        second.both(each, PERFECT if each.item == "cat" else INVENTED)
    first.end()
    second.end()

    report = compared(first.open(), second.open())

    assert report.contrasts[0].overall.comparison.detectable is None
    assert "with so few questions no difference can be shown" in report.conclusions[0]
    assert "3 questions are few" in report.conclusions[0]


def test_the_text_keeps_to_its_width_and_steers_no_terminal(tmp_path: Path) -> None:
    odd = SystemCard(name="\x1b[31mred\nalert", version="9" * 40)

    shown = render_comparison(
        compared(run(tmp_path / "a", points(2)), run(tmp_path / "b", points(3), system=odd))
    )

    assert "\x1b" not in shown
    paths = len(str(tmp_path)) + 20
    assert all(len(line) <= max(100, paths) for line in shown.splitlines())
    assert "red alert" in shown


def test_the_same_runs_give_the_same_figures(tmp_path: Path) -> None:
    folders = run(tmp_path / "a", points(2)), run(tmp_path / "b", points(2, q3=5, q4=1, q9=6))

    assert compared(*folders) == compared(*folders)
