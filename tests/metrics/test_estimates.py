"""Every mean is the one that is counted, with an interval by questions, whatever the run."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from recall_bench.core.scenario import Disclosure, Item
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.engine.runs.estimates import (
    RunEstimates,
    build_heatmaps,
    estimate_hallucination,
    estimate_overall,
)
from recall_bench.engine.runs.heatmap_rows import CELL_RESAMPLES, UNGROUNDED, RowTable
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import CheckpointSummary, summarise
from recall_bench.metrics import estimate
from recall_bench.metrics.bootstrap import RESAMPLES, SEED
from recall_bench.metrics.estimate import Estimate, IntervalMethod, estimate_mean, forget_intervals
from recall_bench.metrics.marks import TrialTally, sum_tallies
from tests.written_runs import (
    INVENTED,
    PERFECT,
    POOR,
    Story,
    ada_story,
    plan_of,
    question,
    trial,
)

CATEGORIES = ("factual-recall", "temporal-reasoning", "information-boundary")


def varied(folder: Path, personas: int, *, questions: int = 12, **settings: object) -> RunFolder:
    """A run in which everything happens: every mark, failures of both kinds, trials still open."""
    items = tuple(
        question(
            f"q{n}",
            CATEGORIES[n % len(CATEGORIES)],
            known_from=1 + n % 4,
            difficulty=("easy", "hard", None)[n % 3],
            disclosure=Disclosure.REFUSE if n % len(CATEGORIES) == 2 else None,
        )
        for n in range(questions)
    )
    scenarios: dict[str, Sequence[Item]] = {f"p{n}": items for n in range(personas)}
    plan = plan_of(scenarios, **{"repeats": 2, "groups_enabled": True} | settings)
    story, chance = Story(folder, scenarios, plan), Random(7)
    for name, states in RunFolder.open(story.save()).states.scenarios.items():
        for row, point in enumerate(states.checkpoint_plans):
            for repeat, item in states.list_owed_trials(row):
                label = point.checkpoint.label
                each = trial(items[item].id, label, scenario=name, repeat=repeat)
                happen(story, each, chance)
    return story.open()


def happen(story: Story, each: object, chance: Random) -> None:
    from recall_bench.core.plan import Trial

    assert isinstance(each, Trial)
    match chance.randrange(6):
        case 0:
            story.not_answered(each)
        case 1:
            story.answer(each)
            story.not_judged(each)
        case 2:
            pass
        case _:
            marks = chance.randrange(4), chance.randrange(3), chance.randrange(2)
            story.both(each, Verdict.of(*marks, "so it is"))


def counted(found: Estimate | None) -> tuple[float | None, int, int]:
    if found is None:
        return None, 0, 0
    return found.value, found.trials, found.missing


def rows_of(
    heatmap: RowTable, parts: Sequence[CheckpointSummary]
) -> Iterator[tuple[Estimate | None, int | None, TrialTally]]:
    for place, part in enumerate(parts):
        for row in heatmap.categories:
            yield row.cells[place], row.count_eligible(place), part.get_tally(row.name)
        yield heatmap.total.cells[place], heatmap.total.count_eligible(place), part.overall


def rates_of(heatmap: RowTable) -> tuple[Estimate | None, ...]:
    row = heatmap.get(UNGROUNDED)
    assert row is not None
    return row.cells


@pytest.mark.parametrize("personas", [1, 2, 6])
@pytest.mark.parametrize("repeats", [1, 3])
def test_every_value_is_the_mean_that_is_counted(
    tmp_path: Path, personas: int, repeats: int
) -> None:
    folder = varied(tmp_path, personas, repeats=repeats)
    summary = summarise(folder)

    found = build_heatmaps(folder)

    parts = [each.checkpoints for each in summary.personas]
    for heatmap, columns in zip(
        found, ([summary.checkpoints] if personas > 1 else []) + parts, strict=True
    ):
        assert [row.name for row in heatmap.categories] == list(summary.asked_categories)
        assert heatmap.columns == tuple(part.checkpoint for part in columns)
        for mean, eligible, tally in rows_of(heatmap, columns):
            missing = tally.missing if tally.counted else 0
            assert counted(mean) == (tally.mean, tally.counted, missing)
            assert eligible == tally.eligible
        for rate, part in zip(rates_of(heatmap), columns, strict=True):
            assert rate is not None
            assert rate.value == part.overall.hallucination_rate
            assert rate.trials == part.overall.judged


def test_all_personas_together_come_first_and_only_where_there_are_several(tmp_path: Path) -> None:
    several, one = varied(tmp_path / "2", 2), varied(tmp_path / "1", 1)

    assert [heatmap.persona for heatmap in build_heatmaps(several)] == [None, "p0", "p1"]
    assert [heatmap.persona for heatmap in build_heatmaps(one)] == ["p0"]


def test_the_headline_is_the_mean_of_all_trials(tmp_path: Path) -> None:
    folder = varied(tmp_path, 2)
    tally = summarise(folder).overall

    overall, rate = estimate_overall(folder), estimate_hallucination(folder)

    assert counted(overall) == (tally.mean, tally.counted, tally.missing)
    assert counted(rate) == (tally.hallucination_rate, tally.judged, tally.missing)


def test_kinds_are_the_tallies_over_all_checkpoints(tmp_path: Path) -> None:
    folder = varied(tmp_path, 2)
    summary = summarise(folder)

    found = RunEstimates(folder).estimate_by(lambda item: item.truth.difficulty)

    assert set(found) == {"easy", "hard"}
    for name, kind in found.items():
        tally = sum_tallies(part.difficulties[name] for part in summary.checkpoints)
        assert counted(kind.points) == (tally.mean, tally.counted, tally.missing)
        assert kind.invented is not None
        assert kind.invented.value == tally.invention_rate
        assert kind.leaked is None


@pytest.mark.parametrize(
    ("personas", "method"), [(2, IntervalMethod.QUESTIONS), (6, IntervalMethod.PERSONAS)]
)
def test_an_interval_is_the_one_of_the_trials_themselves(
    tmp_path: Path, personas: int, method: IntervalMethod
) -> None:
    """Cells are estimated from what their questions come to: that must change nothing."""
    folder = varied(tmp_path, personas)
    values: list[float] = []
    questions: list[str] = []
    owners: list[str] = []
    for name, states in folder.states.scenarios.items():
        for repeat, item in states.list_owed_trials(1):
            found = states.get_status(1, repeat, item)
            if found.state in (TrialState.JUDGED, TrialState.NOT_ANSWERED):
                values.append(float(found.composite))
                questions.append(states.items[item].id)
                owners.append(name)

    straight = estimate_mean(
        values, questions, owners, seed=SEED, limits=(0.0, 6.0), resamples=CELL_RESAMPLES
    )

    mean = RunEstimates(folder).build_heatmap().total.cells[1]
    assert mean is not None
    assert mean.method is method
    assert mean.replace(missing=0) == straight


def test_more_trials_of_the_same_questions_make_no_interval_narrower(tmp_path: Path) -> None:
    def width(repeats: int) -> float:
        items = tuple(question(f"q{n}") for n in range(10))
        scenarios: dict[str, Sequence[Item]] = {"ada": items}
        story = Story(tmp_path / str(repeats), scenarios, plan_of(scenarios, repeats=repeats))
        for n in range(10):
            for repeat in range(repeats):
                each = trial(f"q{n}", repeat=repeat)
                story.both(each, POOR if n % 2 else PERFECT)
        mean = RunEstimates(story.open()).build_heatmap().total.cells[0]
        assert mean is not None
        assert mean.low is not None
        assert mean.high is not None
        assert (mean.questions, mean.trials) == (10, 10 * repeats)
        return mean.high - mean.low

    assert width(9) == pytest.approx(width(1))


def test_two_questions_have_all_there_is_between_them_as_their_interval(tmp_path: Path) -> None:
    """The tail to cut off is thinner than a float can be from one; that must not be an error."""
    items = (question("cat"), question("dog"))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path, scenarios, plan_of(scenarios, repeats=3))
    for repeat, (one, other) in enumerate([(2, 4), (1, 3), (1, 3)]):
        story.both(trial("cat", repeat=repeat), Verdict.of(min(one, 3), 0, 0, ""))
        story.both(trial("dog", repeat=repeat), Verdict.of(min(other, 3), other - 3, 0, ""))

    mean = RunEstimates(story.open()).build_heatmap("ada").total.cells[0]

    assert mean is not None
    assert mean.value == 14 / 6
    assert mean.low == pytest.approx(4 / 3)
    assert mean.high == pytest.approx(10 / 3)


def test_the_same_run_has_the_same_intervals_each_time(tmp_path: Path) -> None:
    folder = varied(tmp_path, 2)
    first = build_heatmaps(folder)
    forget_intervals()

    assert build_heatmaps(RunFolder.open(folder.path)) == first


def test_equal_cells_are_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand cells take seconds because most of them equal another one."""
    drawn: list[int] = []
    forget_intervals()
    compute = estimate._compute_intervals

    def count_tables(wanted: Any, draws: Any) -> Any:
        drawn.extend([draws.resamples] * len(wanted))
        return compute(wanted, draws)

    monkeypatch.setattr(estimate, "_compute_intervals", count_tables)
    story = ada_story(tmp_path)
    for each, verdict in (("cat", PERFECT), ("dog", POOR)):
        story.both(trial(each), verdict)
        story.both(trial(each, "4d"), verdict)
    means = RunEstimates(story.open())

    found = means.build_heatmap("ada")
    means.estimate_overall()

    first, second = found.total.cells
    assert first is not None
    assert second is not None
    assert first != second
    assert first == second.replace(missing=0)
    # Two questions at one checkpoint, and at both; all rates agree.
    assert sorted(drawn) == [CELL_RESAMPLES, RESAMPLES]


def test_what_was_not_answered_is_no_points_and_missing_from_nothing(story: Story) -> None:
    story.not_answered(trial("cat"))
    story.both(trial("dog"), INVENTED)

    heatmap = RunEstimates(story.open()).build_heatmap("ada")

    assert counted(heatmap.total.cells[0]) == (2.5, 2, 0)
    assert counted(rates_of(heatmap)[0]) == (1.0, 1, 0)


def test_a_rate_is_bounded_by_one_and_points_by_six(story: Story) -> None:
    """Where all agree an interval reaches as far as its scale lets it, and no further."""
    story.both(trial("cat"), PERFECT)
    story.both(trial("dog"), PERFECT)

    heatmap = RunEstimates(story.open()).build_heatmap("ada")

    mean, rate = heatmap.total.cells[0], rates_of(heatmap)[0]
    unseen = 1 - 0.025 ** (1 / 2)
    assert mean is not None
    assert rate is not None
    assert (mean.low, mean.high) == (6 - 6 * unseen, 6.0)
    assert (rate.low, rate.high) == (0.0, unseen)


def test_what_was_not_judged_is_missing_from_both(story: Story) -> None:
    story.answer(trial("cat"))
    story.not_judged(trial("cat"))
    story.both(trial("dog"), INVENTED)

    heatmap = RunEstimates(story.open()).build_heatmap("ada")

    assert counted(heatmap.total.cells[0]) == (5.0, 1, 1)
    assert counted(rates_of(heatmap)[0]) == (1.0, 1, 1)


def test_nothing_measured_is_none_and_not_zero(story: Story) -> None:
    folder = story.open()

    heatmap = build_heatmaps(folder)[0]

    assert (*heatmap.total.cells, *rates_of(heatmap)) == (None,) * 4
    assert heatmap.total.eligible == (2, 3)
    assert estimate_overall(folder) is None
    assert estimate_hallucination(folder) is None
    assert not heatmap.has_small


def test_a_run_without_marks_has_no_means(tmp_path: Path) -> None:
    story = ada_story(tmp_path, judge=JudgeCard(name="none", version="1"), unjudged=True)
    story.answer(trial("cat"))

    assert estimate_overall(story.open()) is None


def test_a_selection_of_checkpoints_is_a_part_of_the_whole(tmp_path: Path) -> None:
    means = RunEstimates(varied(tmp_path, 2))

    whole, last = means.build_heatmap("p1"), means.build_heatmap("p1", [1])

    assert last.columns == whole.columns[1:]
    for row in last.rows:
        same = whole.get(row.name)
        assert same is not None
        assert row.cells == same.cells[1:]
    assert means.estimate_checkpoints("p1", [1]) == (whole.total.cells[1],)


def test_a_dry_run_has_one_column(tmp_path: Path) -> None:
    heatmap = build_heatmaps(varied(tmp_path, 1, dry_run=True))[0]

    assert [checkpoint.label for checkpoint in heatmap.columns] == ["2d"]
    assert heatmap.has_small
