"""What every report says first, in one wording."""

from pathlib import Path

import pytest

from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.engine.runs.summary import summarise
from recall_bench.engine.runs.trials import read_trials
from recall_bench.metrics.estimate import Estimate, IntervalMethod
from recall_bench.reporting.headlines import (
    describe_doubt,
    describe_doubts,
    describe_headline,
    describe_place,
    describe_unmeasured,
    format_ceiling,
    format_way,
)
from recall_bench.reporting.run_report import build_report
from recall_bench.reporting.run_text import render_run
from tests.loops import loop_over_rows
from tests.written_runs import ada_story, trial


def _estimate(
    value: float, low: float | None, high: float | None, questions: int = 100
) -> Estimate:
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=0.95,
        method=IntervalMethod.QUESTIONS,
        questions=questions,
        personas=1,
        trials=230,
        missing=0,
    )


def _bounds(
    gain: tuple[float, float, float] = (0.96, 0.8, 1.1),
    share: tuple[float, float, float] | None = (0.3, 0.24, 0.36),
    ceiling: float | None = 4.86,
) -> ScoreRange:
    return ScoreRange(
        score=2.58,
        floor=1.62,
        ceiling=ceiling,
        gain=_estimate(*gain),
        share=None if share is None else _estimate(*share),
    )


SCORE = _estimate(2.58, 2.34, 2.82)


def test_the_headline_names_score_silence_ceiling_way_and_both_rates() -> None:
    words = describe_headline(
        SCORE, _bounds(), _estimate(0.004, 0.0, 0.01), _estimate(0.12, 0.1, 0.2)
    )
    assert words == (
        "43 of 100 (39 to 47) · silence 27 · ceiling 81 · 30 % of the way (24 to 36) · "
        "invented 0.4 % · leaked 12 % of 230"
    )


def test_what_is_unknown_is_left_out_of_the_headline() -> None:
    assert describe_headline(SCORE, None, None, None) == "43 of 100 (39 to 47)"
    bounds = _bounds(share=None, ceiling=None)
    assert describe_headline(SCORE, bounds, None, None) == "43 of 100 (39 to 47) · silence 27"


def test_an_interval_wider_than_the_way_is_no_share() -> None:
    assert format_way(_bounds(share=(0.3, -0.2, 0.79))) == "30 % (-20 to 79)"
    assert format_way(_bounds(share=(6.9, 2.3, 20.5))) == "--"


@pytest.mark.parametrize(("marks", "shown"), [(2.9, "48^"), (3.0, "50"), (None, "--")])
def test_a_low_ceiling_is_marked(marks: float | None, shown: str) -> None:
    assert format_ceiling(_bounds(ceiling=marks)) == shown


def test_a_system_no_better_than_silence_is_called_so() -> None:
    equal, below = _bounds((0.1, -0.1, 0.3)), _bounds((-0.3, -0.5, -0.1))
    assert describe_doubt(_bounds()) is None
    assert describe_doubt(None) is None
    assert describe_doubt(equal) == "cannot be distinguished from a memory that knows nothing"
    assert describe_doubt(below) == "scores below a memory that knows nothing"
    few = _bounds().replace(gain=_estimate(0.1, -0.1, 0.3, questions=19))
    doubt = "cannot be distinguished from a memory that knows nothing by so few questions"
    assert describe_doubt(few) == doubt
    assert list(describe_doubts([("a", few), ("b", few)])) == [f"a and b {doubt}"]
    none = few.replace(gain=_estimate(0.0, -0.2, 0.2, questions=19))
    assert describe_doubt(none) == "cannot be distinguished from a memory that knows nothing"
    systems = [("a", equal), ("b", _bounds()), ("c", below), ("d", below)]
    assert list(describe_doubts(systems)) == [
        "a cannot be distinguished from a memory that knows nothing",
        "c and d score below a memory that knows nothing",
    ]


@loop_over_rows(
    ("gain", "ceiling", "shown"),
    [
        ((0.96, 0.8, 1.1), 2.0, "above ceiling"),
        ((0.96, 0.8, 1.1), 2.58, "as ceiling"),
        ((0.96, 0.8, 1.1), 5.0, "--"),
        ((0.96, -0.8, 1.1), 2.0, "as silence"),
        ((-0.96, -1.8, -0.1), 2.0, "below silence"),
    ],
)
def test_a_score_without_a_share_is_placed_in_words(
    gain: tuple[float, float, float], ceiling: float, shown: str
) -> None:
    assert describe_place(_bounds(gain, None, ceiling)) == shown


def test_a_score_says_which_categories_it_is_without(tmp_path: Path) -> None:
    """Judged questions of the others would give a headline that looks whole."""
    story = ada_story(tmp_path)
    for label in ("2d", "4d"):
        story.both(trial("cat", label))
        story.both(trial("dog", label))
    folder = story.open()
    missing = "without synthesis, of which no question was judged"

    report = build_report(folder, read_trials(folder))

    assert summarise(folder).unmeasured == ("synthesis",)
    assert missing in " ".join(render_run(folder, summarise(folder)).split())
    assert f"the score is {missing}" in report.header.notices
    assert describe_unmeasured(()) == ""
