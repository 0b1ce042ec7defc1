"""Rules come from a file and from flags; what is none of them is refused by name."""

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.comparison.gate.gate_rules import (
    GateRules,
    format_flag,
    format_key,
    merge_rules,
    read_rules,
    require_baseline,
)
from tests.loops import loop_over_rows


def read(content: object) -> dict[str, object]:
    return read_rules(content, "gate.yaml", lambda field: f"gate.yaml, line 1: {format_key(field)}")


def test_a_file_gives_what_it_names_and_flags_win_over_it() -> None:
    given = read({"minScore": 35, "margin": 2, "minCategory": {"synthesis": 10, "x": 1}})

    rules = merge_rules(given, {"margin": 3.0}, {"min_category": {"synthesis": 20.0}})

    assert rules == GateRules(min_score=35, margin=3, min_category={"synthesis": 20, "x": 1})


def test_an_empty_file_and_an_empty_key_ask_for_nothing() -> None:
    assert read(None) == {}
    assert merge_rules(read({"minScore": None})) == GateRules()


@loop_over_rows(
    ("content", "complaint"),
    [
        ({"minScor": 1}, "gate.yaml: unknown key 'minScor'; did you mean 'minScore'?"),
        ({"zzz": 1}, "gate.yaml: unknown key 'zzz'; known keys: minScore, maxInvented"),
        ([1], "gate.yaml: rules are a mapping of keys"),
        ({"minScore": "high"}, "gate.yaml, line 1: minScore: expected a number, got a text"),
        ({"margin": True}, "gate.yaml, line 1: margin: expected a number"),
        ({"maxLeaks": 1.5}, "gate.yaml, line 1: maxLeaks: expected a whole number"),
        ({"maxLeaks": -1}, "gate.yaml, line 1: maxLeaks: must be 0 or more; got -1"),
        ({"minScore": 101}, "gate.yaml, line 1: minScore: 101 is not between 0 and 100"),
        ({"notice": float("nan")}, "gate.yaml, line 1: notice: nan is not between"),
        ({"minCategory": {"x": -1}}, "gate.yaml, line 1: minCategory: -1 is not between"),
        ({"minCategory": 3}, "gate.yaml, line 1: minCategory: expected a mapping"),
        (
            {"minCategory": {"synthesis": 1, "x": "high"}},
            "gate.yaml, line 1: minCategory: x: expected a number, got a text",
        ),
    ],
)
def test_what_is_no_rule_is_refused_by_name(content: object, complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(content)

    assert str(refused.value).startswith(complaint)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"prove": True}, "--prove: a loss of exactly 0 cannot be proven"),
        ({"margin": 5, "notice": 5}, "--notice 5 is within --margin 5"),
        ({"margin": float("inf")}, "--margin: inf is not between"),
    ],
)
def test_rules_that_contradict_each_other_are_refused(
    given: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        merge_rules(given)

    assert str(refused.value).startswith(complaint)


@loop_over_rows(
    "rules",
    [
        GateRules(min_score=1, margin=1),
        GateRules(min_score=1, category_margin=0.0),
        GateRules(min_score=1, hallucination_margin=1),
        GateRules(min_score=1, notice=3),
    ],
)
def test_a_margin_without_a_baseline_is_refused(rules: GateRules) -> None:
    with pytest.raises(UsageError, match="--baseline"):
        require_baseline(rules)


def test_a_gate_without_any_rule_would_always_pass_and_is_refused() -> None:
    with pytest.raises(UsageError, match="no rule is set"):
        require_baseline(GateRules())
    require_baseline(GateRules(max_leaks=0))


def test_categories_tolerate_what_is_tolerated_overall_unless_said() -> None:
    assert GateRules(margin=2).tolerated_category_loss == 2
    assert GateRules(margin=2, category_margin=0).tolerated_category_loss == 0


def test_what_is_to_be_caught_is_five_points_more_than_is_tolerated() -> None:
    assert GateRules().get_detectable_loss(0) == 5
    assert GateRules(margin=3).get_detectable_loss(3) == 8
    assert GateRules(notice=4).get_detectable_loss(0) == 4
    assert GateRules(notice=4, category_margin=10).get_detectable_loss(10) == 15


def test_flags_and_keys_are_named_after_one_field() -> None:
    assert (format_flag("min_score"), format_key("min_score")) == ("--min-score", "minScore")
