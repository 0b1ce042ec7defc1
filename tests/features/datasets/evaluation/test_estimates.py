"""Figures are means over the questions they apply to, with their counts, floors and intervals."""

import pytest

from recall_bench.features.datasets.eval_groups import (
    AbstentionCounts,
    EvalCounts,
    EvalEstimate,
    EvalGroup,
    average_categories,
    count_abstentions,
    count_outcomes,
    group_scores,
)
from recall_bench.features.datasets.question_scores import ScoredQuestion
from tests.loops import loop_over_rows

F = "turn recall@10"


def scored(item: str, value: float | None = None, **given: object) -> ScoredQuestion:
    """A question that got this much, if anything."""
    usual = {"scenario": "s", "category": "one", "outcome": "answered"}
    figures = {} if value is None else {F: value}
    return ScoredQuestion(item=item, **{**usual, "figures": figures, **given})  # type: ignore[arg-type]


def group(groups: tuple[EvalGroup, ...], name: str) -> EvalGroup:
    return next(each for each in groups if each.name == name)


def test_a_question_without_the_figure_is_not_counted_as_zero() -> None:
    (every, _) = group_scores([scored("a", 1.0), scored("b", 0.0), scored("c")], ())

    assert every.questions == 3
    assert every.figures == {F: EvalEstimate(name=F, mean=0.5, counted=2)}


def test_all_come_first_then_the_answerable_then_each_category_in_its_order() -> None:
    questions = [
        scored("a", 1.0, category="two"),
        scored("b", 0.0, category="one", is_answerable=False),
        scored("c", 1.0, category="one"),
    ]

    found = group_scores(questions, ())

    assert [(each.name, each.questions) for each in found] == [
        ("all", 3),
        ("answerable", 2),
        ("unanswerable", 1),
        ("two", 1),
        ("one", 2),
    ]
    assert [each.figures[F].mean for each in found] == [
        pytest.approx(2 / 3),
        1.0,
        0.0,
        1.0,
        0.5,
    ]


def test_where_every_question_has_an_answer_they_are_not_distinguished() -> None:
    assert [each.name for each in group_scores([scored("a", 1.0)], ())] == ["all", "one"]


def test_every_category_counts_the_same_in_their_average() -> None:
    """Three questions of one category and one of another: 1/3 and 1 are 2/3, not 1/2."""
    questions = [scored("a", 1.0), scored("b", 0.0), scored("c", 0.0)]
    questions += [scored("d", 1.0, category="two"), scored("e", category="three")]

    found = average_categories(group_scores(questions, ()))

    assert (found.name, found.questions) == ("average of categories", 5)
    assert found.figures[F].mean == pytest.approx(2 / 3)
    assert found.figures[F].counted == 4


def test_abstentions_stay_in_their_category_when_categories_are_averaged() -> None:
    questions = [
        scored("a", 1.0, category="one"),
        scored("b", 0.0, category="one", is_answerable=False),
        scored("c", 1.0, category="two"),
    ]

    assert average_categories(group_scores(questions, ())).figures[F].mean == 0.75


@loop_over_rows("name", ["all", "answerable", "unanswerable", "average of categories"])
def test_a_category_named_like_a_group_stays_in_the_average(name: str) -> None:
    questions = [
        scored("a", 1.0, category=name),
        scored("b", 0.0, category="two"),
        scored("c", 0.0, category="two", is_answerable=False),
    ]

    found = group_scores(questions, ())

    assert [each.name for each in found if each.is_category] == [name, "two"]
    assert average_categories(found).questions == 3
    assert average_categories(found).figures[F].mean == 0.5


def test_a_floor_is_reported_only_where_it_is_known_of_every_question() -> None:
    known = [scored("a", 1.0, chance={F: 0.2}), scored("b", 1.0, chance={F: 0.4})]
    unknown = [*known, scored("c", 1.0)]

    assert group(group_scores(known, ()), "all").figures[F].chance == pytest.approx(0.3)
    assert group(group_scores(unknown, ()), "all").figures[F].chance is None
    assert average_categories(group_scores(known, ())).figures[F].chance == pytest.approx(0.3)


def test_a_ceiling_is_that_of_the_same_questions() -> None:
    """A question that has a ceiling and lacks the figure does not raise it."""
    questions = [scored("a", 1.0, ceiling={F: 0.5}), scored("b", ceiling={F: 1.0})]

    assert group(group_scores(questions, ()), "all").figures[F].ceiling == 0.5


def test_figures_that_come_first_have_an_interval_around_their_mean() -> None:
    questions = [scored(f"q{n}", float(n % 2), scenario=f"s{n % 10}") for n in range(40)]
    questions += [scored("x", 0.0, scenario="s1")]

    wanted = group(group_scores(questions, (F,)), "all").figures[F]
    plain = group(group_scores(questions, ()), "all").figures[F]
    unwanted = group_scores(questions, (F,), with_intervals=False)

    assert wanted.interval is not None
    low, high = wanted.interval
    assert low < wanted.mean < high
    assert plain.interval is None
    assert group(unwanted, "all").figures[F].interval is None


def width(questions: list[ScoredQuestion]) -> float:
    interval = group(group_scores(questions, (F,)), "all").figures[F].interval
    assert interval is not None
    return interval[1] - interval[0]


def test_an_interval_draws_histories_and_not_questions() -> None:
    """Ten histories, each all right or all wrong: a hundred questions are but ten draws."""
    together = [scored(f"q{n}", float(n < 50), scenario=f"s{n // 10}") for n in range(100)]
    apart = [scored(f"q{n}", float(n < 50), scenario=f"s{n}") for n in range(100)]

    assert width(together) > 2 * width(apart)


def test_where_histories_are_few_questions_are_drawn() -> None:
    few = [scored(f"q{n}", float(n < 50), scenario=f"s{n // 50}") for n in range(100)]
    apart = [scored(f"q{n}", float(n < 50), scenario=f"s{n}") for n in range(100)]

    assert width(few) == pytest.approx(width(apart))


def test_repeats_of_a_question_are_counted_each() -> None:
    questions = [scored("a", 1.0), scored("a", 0.0, repeat=1), scored("a", 0.0, repeat=2)]

    found = group(group_scores(questions, (F,)), "all").figures[F]

    assert found.mean == pytest.approx(1 / 3)
    assert found.counted == 3


def test_failed_open_and_unjudged_questions_are_distinguished() -> None:
    questions = [
        scored("a", 1.0),
        scored("b", outcome="timeout"),
        scored("c", outcome="crash"),
        scored("d", outcome="open"),
        scored("e", unjudged="unreadable"),
    ]

    assert count_outcomes(questions) == EvalCounts(owed=5, answered=2, failed=2, open=1, unjudged=1)


def test_abstaining_is_counted_where_something_was_said() -> None:
    questions = [
        scored("a", is_answerable=False, abstained=True, fell_for_trap=False),
        scored("b", is_answerable=False, abstained=False, fell_for_trap=True),
        scored("c", abstained=True),
        scored("d", abstained=False),
        scored("e", is_answerable=False, outcome="timeout"),
    ]

    assert count_abstentions(questions) == AbstentionCounts(
        unanswerable=2, abstained=1, answerable=2, wrongly_abstained=1, traps=2, fell_for_trap=1
    )


def test_where_nothing_was_said_abstaining_is_unknown_and_not_zero() -> None:
    assert count_abstentions([scored("a", 1.0), scored("b", outcome="timeout")]) is None
