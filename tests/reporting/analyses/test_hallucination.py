"""Every view of hallucination is counted from the same trials as the report's own rate."""

from pathlib import Path

import msgspec
import pytest

from recall_bench.core.trial_states import TrialState
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.metrics.trend import estimate_trend
from recall_bench.reporting.analyses.hallucination import (
    HallucinationPattern,
    HallucinationViews,
    RateCourse,
    analyse_hallucination,
)
from tests.reporting.analyses.answer_tables import MADE_UP, SOUND, asked, table_of
from tests.written_runs import ALL_OF_ADA, INVENTED, PERFECT, ada_story, trial


def views(*rows: object, **settings: object) -> HallucinationViews:
    return analyse_hallucination(table_of(rows), resamples=200, **settings)  # type: ignore[arg-type]


def values(course: RateCourse) -> list[tuple[str, int, float | None, float | None]]:
    return [
        (
            moment.checkpoint,
            moment.days,
            None if moment.recall is None else moment.recall.value,
            None if moment.hallucination is None else moment.hallucination.value,
        )
        for moment in course.moments
    ]


def test_negative_recall_and_synthesis_come_first_and_unknown_categories_last() -> None:
    names = ("zebra", "temporal-reasoning", "synthesis", "apple", "factual-recall")
    rows = [asked(f"q{n}", category=name) for n, name in enumerate((*names, "negative-recall"))]

    found = views(*rows)

    assert [each.name for each in found.categories] == [
        "negative-recall",
        "synthesis",
        "factual-recall",
        "temporal-reasoning",
        "apple",
        "zebra",
    ]


def test_the_rate_of_a_category_is_over_its_judged_answers() -> None:
    found = views(
        asked("q0", MADE_UP, category="synthesis"),
        asked("q1", SOUND, category="synthesis"),
        asked("q2", SOUND, category="synthesis"),
        asked("q3", SOUND, category="synthesis"),
        asked("q4", TrialState.NOT_ANSWERED, category="synthesis"),
        asked("q5", TrialState.NOT_JUDGED, category="synthesis"),
        asked("q6", TrialState.OPEN, category="synthesis"),
        asked("q7", TrialState.NOT_JUDGED, category="negative-recall"),
    )

    silent, synthesis = found.categories
    assert silent.rate is None
    assert synthesis.rate is not None
    assert (synthesis.rate.value, synthesis.rate.trials) == (0.25, 4)
    assert synthesis.rate.missing == 2


def test_recall_is_correctness_and_completeness_and_nothing_for_no_answer() -> None:
    found = views(
        asked("q0", (3, 1, 0)),
        asked("q1", (1, 0, 1)),
        asked("q2", TrialState.NOT_ANSWERED),
        asked("q3", TrialState.NOT_JUDGED),
    )

    (moment,) = found.overall.moments
    assert moment.recall is not None
    assert moment.recall.value == pytest.approx((4 / 5 + 1 / 5 + 0) / 3)
    assert (moment.recall.trials, moment.recall.missing) == (3, 1)
    assert moment.hallucination is not None
    assert (moment.hallucination.value, moment.hallucination.trials) == (0.5, 2)


def test_moments_go_by_size_and_a_size_is_no_more_than_the_story_has() -> None:
    """A story of 500 days is full at 500, whatever `full` is said to be."""
    end = 2**53 - 1
    rows = [
        msgspec.structs.replace(asked("q0", MADE_UP, days=end, label="full"), cutoff=500),
        msgspec.structs.replace(
            asked("q0", SOUND, days=end, label="full", persona="bo"), cutoff=400
        ),
        asked("q0", SOUND, days=100),
        asked("q0", SOUND, days=30),
        asked("q0", SOUND, days=30, persona="bo"),
    ]

    found = views(*rows)

    assert values(found.overall) == [
        ("30d", 30, 1.0, 0.0),
        ("100d", 100, 1.0, 0.0),
        ("full", 500, 0.5, 0.5),
    ]
    assert found.overall.hallucination is not None
    assert found.overall.hallucination.last_day == 500
    assert [each.moments[-1].days for each in found.personas] == [500, 400]


def test_every_persona_has_its_own_views_where_there_are_several() -> None:
    ada = [asked("q0", MADE_UP), asked("q1", SOUND)]
    bo = [asked("q0", SOUND, persona="bo"), asked("q1", SOUND, persona="bo")]

    both, alone = views(*ada, *bo), views(*ada)

    assert alone.personas == ()
    assert [each.name for each in both.personas] == ["ada", "bo"]
    assert both.overall.name is None
    rates = [each.rate.value for each in (both.overall, *both.personas) if each.rate is not None]
    assert rates == [0.25, 0.5, 0.0]
    assert values(both.personas[0]) == values(alone.overall)


def test_figures_are_those_of_the_statistics_they_name() -> None:
    rows = [
        asked(f"q{n}", MADE_UP if (n * days) % 7 == 3 else SOUND, days=days)
        for n in range(25)
        for days in (100, 200, 300)
    ]
    made_up = [float(row.status.grounded == 0) for row in rows]
    questions = [row.trial.item for row in rows]
    personas = ["ada"] * len(rows)

    found = analyse_hallucination(table_of(rows), seed=5, resamples=300, headline=300).overall

    assert 0 < sum(made_up) < len(made_up)
    assert found.rate == estimate_mean(
        made_up, questions, personas, seed=5, limits=(0, 1), resamples=300
    )
    first, last = min(row.days for row in rows), max(row.days for row in rows)
    assert found.hallucination == estimate_trend(
        made_up,
        [row.days for row in rows],
        questions,
        personas,
        seed=5,
        limits=(0, 1),
        at=(*(first + (last - first) * step / 8 for step in range(9)), 2000, 5000),
        resamples=300,
    )


def test_stories_of_different_length_at_one_checkpoint_are_no_course() -> None:
    rows = [
        asked(
            f"q{n}",
            MADE_UP if n < days / 50 else SOUND,
            days=days,
            persona=f"p{days}",
            label="full",
        )
        for n in range(8)
        for days in (100, 200)
    ]

    found = views(*rows).overall

    assert (found.hallucination, found.recall) == (None, None)
    assert "not two corpus sizes" in found.reason


def test_leaks_are_in_the_rate_and_are_counted() -> None:
    rows = [asked(f"q{n}", MADE_UP if n < 4 else SOUND) for n in range(10)]
    told = [msgspec.structs.replace(row, leaked=n in (0, 1, 9)) for n, row in enumerate(rows)]

    found = views(*told)

    assert found.overall.rate is not None
    assert found.overall.rate.value == pytest.approx(0.4)
    assert found.overall.leaked == 2, "a leak that was marked as grounded is not in the rate"
    assert [each.leaked for each in found.categories] == [2]


def test_inventions_and_leaks_are_two_rates() -> None:
    """Of ten answers four are not grounded, and two of those leak, as does a grounded one."""
    rows = [asked(f"q{n}", MADE_UP if n < 4 else SOUND) for n in range(10)]
    guarded = {n: n in (0, 1, 9) for n in (0, 1, 8, 9)}
    told = [msgspec.structs.replace(row, leaked=guarded.get(n)) for n, row in enumerate(rows)]

    found = views(*told)

    (category,), (moment,) = found.categories, found.overall.moments
    for invention, leak in (
        (found.overall.invention, found.overall.leak),
        (category.invention, category.leak),
        (moment.invention, moment.leak),
    ):
        assert invention is not None
        assert leak is not None
        assert invention.value == pytest.approx(0.2)
        assert leak.value == pytest.approx(0.75)
        assert (invention.trials, leak.trials) == (10, 4)


def test_the_line_says_what_it_expects_far_beyond_what_was_measured() -> None:
    rows = [
        asked(f"q{n}", MADE_UP if n < days / 100 else SOUND, days=days)
        for n in range(40)
        for days in (100, 500, 1000)
    ]

    line = views(*rows).overall.hallucination

    assert line is not None
    assert line.slope.value == pytest.approx(1 / 4000)
    assert line.intercept.value == pytest.approx(0, abs=1e-9)
    *within, near, far = line.predictions
    assert [each.days for each in within] == [100 + 112.5 * step for step in range(9)]
    assert not any(each.is_beyond for each in within)
    assert (near.days, far.days) == (2000, 5000)
    assert near.value == pytest.approx(0.5)
    assert near.low is not None
    assert near.high is not None
    assert near.low < near.value < near.high
    assert (near.is_beyond, far.is_beyond) == (True, True)
    assert (far.value, far.is_clipped) == (1.0, True)


def test_moments_that_are_alike_keep_what_is_their_own() -> None:
    """The same marks at both sizes; only at the second is a verdict missing."""
    rows = [asked(f"q{n}", MADE_UP if n == days / 100 else SOUND, days=days)
            for days in (100, 200) for n in range(6)]  # fmt: skip

    first, second = views(*rows, asked("q9", TrialState.NOT_JUDGED, days=200)).overall.moments

    for one, other in ((first.recall, second.recall), (first.hallucination, second.hallucination)):
        assert one is not None
        assert other is not None
        assert (one.missing, other.missing) == (0, 1)
        assert one == other.replace(missing=0)
    assert first.recall != first.hallucination


def test_a_moment_is_the_estimate_of_its_trials() -> None:
    marks = [MADE_UP, SOUND, SOUND, (1, 1, 1), SOUND, MADE_UP, (2, 0, 0), SOUND]
    rows = [
        asked(f"q{n}", each, repeat=repeat, persona=persona)
        for persona in ("ada", "bo")
        for n, each in enumerate(marks)
        for repeat in range(1 + n % 3)
    ]

    (moment,) = views(*rows).overall.moments

    expected = estimate_mean(
        [float(row.status.grounded == 0) for row in rows],
        [row.trial.item for row in rows],
        [row.trial.scenario for row in rows],
        seed=42,
        limits=(0, 1),
        resamples=200,
    )
    assert moment.hallucination == expected


def test_a_run_without_a_verdict_is_unknown_and_not_zero() -> None:
    found = views(asked("q0", TrialState.OPEN), asked("q0", TrialState.OPEN, days=200))

    assert found.overall.rate is None
    assert found.overall.hallucination is None
    assert found.overall.pattern is HallucinationPattern.UNKNOWN
    assert found.overall.reason == "no answer was judged"


def test_a_run_that_has_come_to_nothing_yet() -> None:
    found = views()

    assert found.categories == ()
    assert found.overall.moments == ()
    assert found.overall.pattern is HallucinationPattern.UNKNOWN


def test_rates_are_those_the_summary_counts(tmp_path: Path) -> None:
    story = ada_story(tmp_path / "run")
    for each in ALL_OF_ADA[:-1]:
        story.both(each, INVENTED if each == trial("cat", "4d") else PERFECT)
    story.not_answered(ALL_OF_ADA[-1])
    story.end()
    folder = RunFolder.open(story.save())

    found = analyse_hallucination(read_trials(folder), resamples=200)

    assert found.overall.rate is not None
    assert found.overall.rate.value == summarise(folder).overall.hallucination_rate == 0.25
    assert values(found.overall) == [("2d", 2, 1.0, 0.0), ("4d", 4, pytest.approx(2 / 3), 0.5)]


def test_all_views_are_json() -> None:
    found = views(asked("q0", MADE_UP), asked("q1", SOUND, days=200))

    again = msgspec.json.decode(msgspec.json.encode(found), type=HallucinationViews)

    assert again == found
