"""The floor is what drawing at random gets, to the last digit and not by drawing."""

import json
import random
import re
from collections import Counter
from itertools import combinations, permutations
from math import comb
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from recall_bench.features.datasets.chance import ChancePool, expect_coverage
from recall_bench.metrics.retrieval import (
    RankedPassage,
    RetrievalMeasure,
    find_measure,
    list_measures,
    score_all,
)
from tests.conftest import shared_data
from tests.loops import loop_over_rows

BY_RANK = [measure for measure in list_measures(5) if measure.cutoff is not None]

PAGE = Path(__file__).parents[3] / "docs/explanation/retrieval-metrics.md"


def drawn(units: tuple[str, ...]) -> list[RankedPassage]:
    return [RankedPassage(unit, 100) for unit in units]


def enumerated(measure: RetrievalMeasure, items: dict[str, int], gold: frozenset[str]) -> float:
    """The mean over all orders in which the items may be drawn."""
    each = [unit for unit, count in items.items() for _ in range(count)]
    places = min(measure.depth, len(each))
    return fmean(measure.score(drawn(order), gold) for order in permutations(each, places))


SMALL = [
    pytest.param({"A": 1, "B": 1, "C": 1, "D": 1, "E": 1}, "A", id="one turn of five"),
    pytest.param({"A": 2, "B": 3, "C": 1}, "A", id="one session of three"),
    pytest.param({"A": 2, "B": 3, "C": 1}, "AC", id="two sessions of unequal length"),
    pytest.param({"A": 2, "B": 1, "C": 2}, "AC", id="two sessions of equal length"),
    pytest.param({"A": 1, "B": 2, "C": 1, "D": 2}, "ABC", id="three gold sessions"),
    pytest.param({"A": 1, "B": 1, "C": 1}, "ABC", id="all there is"),
    pytest.param({"A": 1, "B": 2}, "A", id="fewer items than places"),
    pytest.param({"A": 2, "B": 0, "C": 2}, "AB", id="a gold session that cannot be drawn"),
]


@pytest.mark.parametrize(("items", "gold"), SMALL)
def test_the_floor_is_the_mean_over_all_draws(items: dict[str, int], gold: str) -> None:
    pool, wanted = ChancePool(items), frozenset(gold)

    floors = {one.name: pool.expect(one, wanted) for one in BY_RANK}

    assert floors == pytest.approx({one.name: enumerated(one, items, wanted) for one in BY_RANK})


def test_random_passages_score_at_the_floor_in_a_pool_of_real_size() -> None:
    """Thirty sessions of ten to thirty turns, three of them gold: within four standard errors."""
    rng = random.Random(64)
    items = {f"s{n}": rng.randint(10, 30) for n in range(30)}
    pool, gold = ChancePool(items), frozenset({"s3", "s8", "s21"})
    each = [RankedPassage(unit, 100) for unit, count in items.items() for _ in range(count)]
    offered = [one for one in list_measures(20) if one.cutoff is not None]

    draws = [score_all(offered, rng.sample(each, 20), gold) for _ in range(1500)]

    for measure in offered:
        values = [draw[measure.name] for draw in draws]
        floor = pool.expect(measure, gold)
        assert floor is not None
        # Where the floor is next to nothing, hardly any draw succeeds: one success is no deviation.
        allowed = max(4 * stdev(values) / len(values) ** 0.5, 2 / len(values))
        assert abs(fmean(values) - floor) <= allowed, measure.name


def test_an_empty_reply_scores_at_its_floor_on_every_measure() -> None:
    """Doing nothing must not win anything."""
    assert set(score_all(list_measures(20), [], frozenset("A")).values()) == {0.0}


def test_many_gold_units_take_no_longer_and_lose_no_digit() -> None:
    """Eighteen gold turns of fifty: of the draws of twenty, those with any two of the rest."""
    pool, gold = ChancePool({f"t{n}": 1 for n in range(50)}), frozenset(f"t{n}" for n in range(18))

    floor = pool.expect(find_measure("recall_all@20", 20), gold)

    assert floor == pytest.approx(comb(32, 2) / comb(50, 20), rel=1e-12)


def test_more_gold_units_than_places_are_never_all_found() -> None:
    pool = ChancePool({f"s{n}": 7 for n in range(20)})

    assert pool.expect(find_measure("recall_all@5", 5), frozenset(f"s{n}" for n in range(6))) == 0.0


def test_drawing_everything_finds_everything() -> None:
    """A cutoff as deep as the collection says nothing of the system."""
    pool = ChancePool({"A": 2, "B": 1})

    assert pool.expect(find_measure("recall_all@3", 5), frozenset("AB")) == 1.0


def test_document_recall_of_a_handful_of_documents_is_automatic() -> None:
    """PasClaw reports a document R@10 of 1.000 over three documents."""
    assert expect_coverage(3, [1, 1], 10) == 1.0
    assert expect_coverage(3, [1, 1], 1) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("holding", "drawn_documents"), [([1], 2), ([2, 1], 3), ([0, 4], 1)])
def test_the_floor_of_facts_is_the_mean_over_all_draws(
    holding: list[int], drawn_documents: int
) -> None:
    draws = list(combinations(range(6), drawn_documents))
    share = fmean(any(one < having for one in draw) for draw in draws for having in holding)

    assert expect_coverage(6, holding, drawn_documents) == pytest.approx(share)


def test_a_budget_has_a_floor_only_where_the_length_of_items_is_known() -> None:
    items, gold = {"A": 2, "B": 3, "C": 1}, frozenset("AC")
    budget = find_measure("recall@250tok", 5)

    assert ChancePool(items).expect(budget, gold) is None
    for tokens, same_as in ((83.0, "recall@3"), (250.0, "recall@1"), (1.0, "recall@5")):
        floor = ChancePool(items, mean_tokens=tokens).expect(budget, gold)
        assert floor == ChancePool(items).expect(find_measure(same_as, 5), gold)
    assert ChancePool(items, mean_tokens=251.0).expect(budget, gold) == 0.0


@pytest.mark.parametrize("budget", [250, 500, 1000])
@pytest.mark.parametrize("family", ["hit", "recall", "recall_all"])
def test_the_floor_of_a_budget_is_near_what_random_passages_get(family: str, budget: int) -> None:
    """Lengths spread from 10 to 120 tokens; the page quotes how near."""
    rng = random.Random(7)
    each = [RankedPassage(f"s{n}", rng.randint(10, 120)) for n in range(20) for _ in range(15)]
    pool = ChancePool(Counter(str(one.unit) for one in each), fmean(one.tokens for one in each))
    measure, gold = find_measure(f"{family}@{budget}tok", 20), frozenset({"s1", "s2"})

    got = fmean(measure.score(rng.sample(each, 20), gold) for _ in range(2000))

    assert pool.expect(measure, gold) == pytest.approx(got, abs=0.04)


@loop_over_rows("measure", list_measures(5), ids=lambda measure: measure.name)
def test_a_question_without_gold_has_no_floor(measure: Any) -> None:
    with pytest.raises(ValueError, match="without gold"):
        ChancePool({"A": 1}).expect(measure, frozenset())


def test_gold_that_the_pool_does_not_know_is_refused() -> None:
    """Left out in silence, it would raise the floor of all that is left."""
    with pytest.raises(ValueError, match="'B' is not in the pool"):
        ChancePool({"A": 1}).expect(find_measure("hit@1", 1), frozenset("AB"))


@pytest.mark.parametrize(
    ("items", "tokens", "reason"),
    [({"A": -1}, None, "fewer than 0"), ({"A": 1}, 0.0, "0.0 tokens"), ({}, -3.0, "-3.0 tokens")],
)
def test_an_impossible_pool_is_refused(
    items: dict[str, int], tokens: float | None, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        ChancePool(items, tokens)


def test_a_question_without_facts_has_no_floor() -> None:
    with pytest.raises(ValueError, match="without facts"):
        expect_coverage(3, [], 1)


def test_ten_random_turns_hit_a_gold_session_of_locomo_in_three_of_eight_questions() -> None:
    """The floor that is often left out: others drew ten of their memories once, and hit 36.7 %."""
    conversations = json.loads(shared_data("locomo/locomo10.json").read_text(encoding="utf-8"))
    floors = []
    for raw in conversations:
        chat = raw["conversation"]
        found = (re.fullmatch(r"session_(\d+)", key) for key in chat)
        pool = ChancePool({one[1]: len(chat[one[0]]) for one in found if one})
        for asked in raw["qa"]:
            cited = re.findall(r"D:?(\d+):\d+", " ".join(asked["evidence"]))
            if cited:
                floors.append(pool.expect(find_measure("hit@10", 10), frozenset(cited)))

    assert len(floors) == 1982
    mean = fmean(floor for floor in floors if floor is not None)
    assert mean == pytest.approx(0.376, abs=5e-4)
    assert f"{mean:.1%}".replace("%", " %") in PAGE.read_text(encoding="utf-8")
