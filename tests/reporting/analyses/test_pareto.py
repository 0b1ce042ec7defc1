"""Who scores at least as much for at most as much leaves the other no place."""

from recall_bench.metrics.estimate import Estimate, IntervalMethod
from recall_bench.reporting.analyses.costs import CostMeasure, Pareto, RunCosts, build_paretos

Run = tuple[str, str, Estimate, RunCosts]


def run(
    name: str,
    score: float,
    cost: float | None,
    *,
    folder: str = "runs/a",
    wide: float | None = 0.1,
    measure: CostMeasure = CostMeasure.TOKENS,
) -> Run:
    estimate = Estimate(
        value=score,
        low=None if wide is None else score - wide,
        high=None if wide is None else score + wide,
        level=0.95,
        method=IntervalMethod.QUESTIONS,
        questions=30,
        personas=1,
        trials=30,
        missing=0,
    )
    measures = {} if cost is None else {measure: cost}
    return name, folder, estimate, RunCosts(points=(), measures=measures, notes=())


def dominated(*runs: Run) -> dict[str, tuple[str, ...]]:
    (found,) = build_paretos(runs)
    return {each.name: each.dominated_by for each in found.contenders}


def names(found: Pareto) -> list[str]:
    return [each.name for each in found.contenders]


def test_dearer_and_worse_is_dominated_dearer_and_better_is_not() -> None:
    assert dominated(run("good", 5, 100), run("cheap", 4, 10), run("poor", 3, 50)) == {
        "cheap": (),
        "poor": ("cheap",),
        "good": (),
    }


def test_equal_scores_do_not_dominate_whatever_they_cost() -> None:
    assert dominated(run("a", 4, 10), run("b", 4, 20)) == {"a": (), "b": ()}
    assert dominated(run("a", 4, 10), run("b", 4, 10)) == {"a": (), "b": ()}


def test_a_better_score_for_as_much_dominates() -> None:
    assert dominated(run("a", 4, 10), run("b", 5, 10)) == {"b": (), "a": ("b",)}


def test_a_score_that_may_be_better_by_chance_does_not_dominate() -> None:
    (found,) = build_paretos(
        [run("a", 4.15, 1), run("b", 4, 2), run("c", 3, 3), run("d", 2, 4, wide=None)]
    )

    assert {each.name: each.in_doubt for each in found.contenders} == {
        "a": (),
        "b": ("a",),
        "c": (),
        "d": ("a", "b", "c"),
    }
    assert {each.name: each.dominated_by for each in found.contenders} == {
        "a": (),
        "b": (),
        "c": ("a", "b"),
        "d": (),
    }


def test_a_test_decides_rather_than_two_intervals() -> None:
    runs = [run("a", 4.15, 1), run("b", 4, 2), run("c", 3, 3)]
    (found,) = build_paretos(runs, lambda one, other: (one, other) == (0, 1))

    assert {each.name: each.dominated_by for each in found.contenders} == {
        "a": (),
        "b": ("a",),
        "c": (),
    }


def test_a_measure_that_one_run_alone_knows_has_no_chart() -> None:
    assert build_paretos([run("a", 4, 10), run("b", 5, None)]) == ()


def test_each_measure_has_a_chart_and_names_those_it_knows_nothing_of() -> None:
    (found,) = build_paretos([run("a", 4, 10), run("b", 5, None), run("c", 4, 5)])

    assert (names(found), found.unknown) == (["c", "a"], ("b",))


def test_runs_of_one_name_are_distinguished_by_their_folders() -> None:
    (found,) = build_paretos([run("a", 4, 1, folder="x/one"), run("a", 4, 2, folder="x/two")])

    assert names(found) == ["a (one)", "a (two)"]
    assert found.contenders[1].in_doubt == ("a (one)",)


def test_folders_of_one_name_are_reported_in_full_and_one_folder_twice_by_number() -> None:
    (apart,) = build_paretos([run("a", 4, 1, folder="x/run"), run("a", 4, 2, folder="y/run")])
    (twice,) = build_paretos([run("a", 4, 1, folder="x/run"), run("a", 4, 1, folder="x/run")])

    assert names(apart) == ["a (x/run)", "a (y/run)"]
    assert names(twice) == ["a (x/run)", "a (x/run) #2"]
