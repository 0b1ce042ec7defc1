"""A measure is what its name says: every passage takes a place, and every gold unit counts once."""

import random
from collections.abc import Sequence
from math import log2
from typing import Any

import pytest

from recall_bench.metrics.retrieval import (
    BUDGETS,
    RankedPassage,
    drop_repeats,
    find_measure,
    list_measures,
    score_all,
)
from tests.loops import loop_over_rows

GOLD = frozenset({"A", "C"})


def ranking(*units: str | None, tokens: int = 100) -> list[RankedPassage]:
    return [RankedPassage(unit, tokens) for unit in units]


BABA = ranking("B", "A", "A", None, "C")
"""A gold unit at rank 2, its repeat, an untraceable one, and the other gold unit last."""


@loop_over_rows(
    ("name", "value"),
    [
        ("hit@1", 0.0),
        ("hit@3", 1.0),
        ("recall@1", 0.0),
        ("recall@3", 1 / 2),
        ("recall@5", 1.0),
        ("recall_all@3", 0.0),
        ("recall_all@5", 1.0),
        ("precision@1", 0.0),
        ("precision@3", 1 / 3),
        ("precision@5", 2 / 5),
        ("mrr@5", 1 / 2),
        ("map@5", (1 / 2 + 2 / 5) / 2),
        ("ndcg@1", 0.0),
        ("ndcg@3", (1 / log2(3)) / (1 + 1 / log2(3))),
        ("ndcg@5", (1 / log2(3) + 1 / log2(6)) / (1 + 1 / log2(3))),
        ("ndcg_lme@3", 1 / 2),
        ("ndcg_lme@5", (1 + 1 / log2(5)) / 2),
        ("recall@250tok", 1 / 2),
        ("recall@500tok", 1.0),
        ("recall_all@250tok", 0.0),
        ("hit@250tok", 1.0),
    ],
)
def test_measures_are_as_worked_by_hand(name: str, value: float) -> None:
    assert find_measure(name, 5).score(BABA, GOLD) == pytest.approx(value, abs=1e-12)


def test_all_values_at_once_are_those_of_each_measure() -> None:
    offered = list_measures(5)

    assert score_all(offered, BABA, GOLD) == {one.name: one.score(BABA, GOLD) for one in offered}


@loop_over_rows("measure", list_measures(20), ids=lambda measure: measure.name)
def test_the_gold_at_the_top_is_full_marks_and_nothing_is_none(measure: Any) -> None:
    top = ranking("A", *"bcdefghijklmnopqrst", tokens=12)
    best = 1 / measure.cutoff if measure.family == "precision" else 1.0

    assert measure.score(top, frozenset("A")) == pytest.approx(best)
    assert measure.score([], frozenset("A")) == 0.0
    assert measure.score(ranking(*"bcdefghijklmnopqrst"), frozenset("A")) == 0.0


@loop_over_rows(
    "name", ["recall@3", "recall_all@3", "precision@3", "map@3", "ndcg@3", "ndcg_lme@3"]
)
def test_recall_at_k_is_not_hit_at_k(name: str) -> None:
    """memorybench and Hebb report as recall whether anything was found at all."""
    first_only = ranking("A", "x", "y")

    assert find_measure("hit@3", 3).score(first_only, GOLD) == 1.0
    assert find_measure(name, 3).score(first_only, GOLD) < 1.0


def test_recall_is_below_one_whenever_a_gold_unit_is_missing() -> None:
    rng = random.Random(5)
    for _ in range(200):
        gold = frozenset(rng.sample("ABCDEFGH", rng.randint(1, 5)))
        missing = rng.choice(sorted(gold))
        found = [unit for unit in rng.choices("ABCDEFGH", k=10) if unit != missing]

        values = score_all(list_measures(10), ranking(*found), gold)

        assert all(value < 1 for name, value in values.items() if name.startswith("recall"))


def test_recall_all_is_all_or_nothing_and_not_a_fraction() -> None:
    """Hebb computes its `recall_all` as the fractional recall."""
    half = ranking("A", "x", "y")

    assert find_measure("recall_all@3", 3).score(half, GOLD) == 0.0
    assert find_measure("recall@3", 3).score(half, GOLD) == 0.5


@pytest.mark.parametrize("family", ["ndcg", "ndcg_lme"])
def test_the_ideal_of_ndcg_is_built_from_the_gold_and_not_from_the_results(family: str) -> None:
    """A lone find at the top would otherwise be perfect, whatever else was missed."""
    measure = find_measure(f"{family}@10", 10)

    assert measure.score(ranking("A"), frozenset("ACEG")) < 0.5
    assert measure.score(ranking(*"ACEG"), frozenset("ACEG")) == pytest.approx(1.0)


@pytest.mark.parametrize("family", ["ndcg", "ndcg_lme"])
def test_more_gold_than_places_can_still_be_found_perfectly(family: str) -> None:
    assert find_measure(f"{family}@3", 3).score(
        ranking(*"ACE"), frozenset("ACEG")
    ) == pytest.approx(1.0)


def test_the_standard_discount_is_not_that_of_longmemeval() -> None:
    """Its script leaves the first two ranks undiscounted."""
    second = ranking("x", "A")

    assert find_measure("ndcg@5", 5).score(second, frozenset("A")) == pytest.approx(0.631, abs=5e-4)
    assert find_measure("ndcg_lme@5", 5).score(second, frozenset("A")) == 1.0


def test_expansion_items_count_toward_k() -> None:
    """Neighbours appended to every hit would otherwise be free, as in Hebb's `related`."""
    with_neighbours = ranking("x", "x-1", "x+1", "A")

    assert find_measure("hit@3", 5).score(with_neighbours, GOLD) == 0.0


@loop_over_rows("measure", list_measures(10), ids=lambda measure: measure.name)
def test_what_lies_beyond_the_cutoff_does_not_count(measure: Any) -> None:
    """A set of all that was returned is no ranking, and its hit has no k."""
    fillers = ranking(*(f"x{n}" for n in range(measure.depth)))

    assert measure.score([*fillers, RankedPassage("A", 1), RankedPassage("C", 1)], GOLD) == 0.0


def test_a_repeat_uses_its_rank_and_is_not_relevant_again() -> None:
    repeated = ranking("A", "A", "A", "A", "C")

    assert find_measure("precision@5", 5).score(repeated, GOLD) == 2 / 5
    assert find_measure("recall@3", 5).score(repeated, GOLD) == 1 / 2
    assert find_measure("map@5", 5).score(repeated, GOLD) == pytest.approx((1 + 2 / 5) / 2)


def test_an_untraceable_passage_uses_its_rank() -> None:
    assert find_measure("mrr@3", 3).score(ranking(None, None, "A"), GOLD) == pytest.approx(1 / 3)


def test_precision_is_by_the_places_and_not_by_what_was_delivered() -> None:
    """One lucky passage is not a precision of 1 at 5."""
    assert find_measure("precision@5", 5).score(ranking("A"), GOLD) == 1 / 5


def test_session_5_of_one_conversation_is_not_session_5_of_another() -> None:
    assert find_measure("hit@1", 1).score(ranking("conv-30/5"), frozenset({"conv-26/5"})) == 0.0


@loop_over_rows("measure", list_measures(5), ids=lambda measure: measure.name)
def test_a_question_without_gold_is_neither_found_nor_missed(measure: Any) -> None:
    """LoCoMo's script scores it 1, Hebb's function 0."""
    with pytest.raises(ValueError, match="without gold"):
        measure.score(BABA, frozenset())


@loop_over_rows(("depth", "deepest"), [(1, 1), (4, 3), (7, 5), (10, 10), (50, 20)])
def test_no_cutoff_is_deeper_than_what_was_retrieved(depth: int, deepest: int) -> None:
    """PasClaw prints R@5 and R@10 of a single passage."""
    offered = list_measures(depth)

    assert max(one.cutoff for one in offered if one.family == "recall" and one.cutoff) == deepest
    assert all(one.depth <= depth for one in offered)
    assert {one.name for one in offered} >= {f"mrr@{depth}", f"map@{depth}"}
    assert {one.budget for one in offered} == {None, *BUDGETS}


@loop_over_rows(
    ("name", "reason"),
    [
        ("recall@10", "only 5 passages were asked for; ask for 10"),
        ("mrr@10", "only 5 passages"),
        ("mrr@3", "of the whole ranking, mrr@5"),
        ("recall@4", "there are 1, 3, 5"),
        ("recall@0", "there are 1, 3, 5"),
        ("recall", "needs a cutoff, as in recall@5"),
        ("recall@²", "needs a cutoff"),
        ("f1@5", "there are hit, recall, recall_all, precision, ndcg, ndcg_lme, mrr, map"),
        ("recall@300tok", "there are 250, 500, 1000, 2000, 4000"),
        ("ndcg@250tok", "for hit, recall, recall_all"),
    ],
)
def test_a_measure_that_cannot_be_quoted_says_why(name: str, reason: str) -> None:
    with pytest.raises(ValueError, match="cannot be quoted") as refused:
        find_measure(name, 5)

    assert reason in str(refused.value)


def test_a_ranking_of_no_depth_has_no_measures() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        list_measures(0)


def test_every_measure_has_its_own_name_and_can_be_called_by_it() -> None:
    offered = list_measures(20)

    assert len({one.name for one in offered}) == len(offered) == 6 * 5 + 2 + 3 * 5
    assert [find_measure(one.name, 20) for one in offered] == list(offered)
    assert len({one.definition for one in offered}) == len(offered)


@pytest.mark.parametrize(
    ("lengths", "value"),
    [
        pytest.param((125, 125), 1.0, id="both fit, to the token"),
        pytest.param((125, 126), 0.5, id="the second does not"),
        pytest.param((251, 1), 0.0, id="the first does not, and nothing is skipped to"),
        pytest.param((0, 250), 1.0, id="an empty passage costs nothing"),
    ],
)
def test_a_budget_takes_whole_passages_until_one_does_not_fit(
    lengths: tuple[int, int], value: float
) -> None:
    passages = [RankedPassage(unit, size) for unit, size in zip("AC", lengths, strict=True)]

    assert find_measure("recall@250tok", 5).score(passages, GOLD) == value


def test_a_budget_buys_no_more_passages_than_were_asked_for() -> None:
    assert find_measure("hit@4000tok", 3).score(ranking("x", "y", "z", "A", tokens=1), GOLD) == 0.0


def test_a_passage_of_negative_length_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 tokens"):
        RankedPassage("A", -1)


def test_the_distinct_ranking_keeps_first_passages_and_all_that_are_untraced() -> None:
    first = RankedPassage("A", 7)
    passages = [
        first,
        RankedPassage(None, 1),
        RankedPassage("A", 9),
        RankedPassage(None, 1),
        RankedPassage("B", 2),
    ]

    assert drop_repeats(passages) == [
        first,
        RankedPassage(None, 1),
        RankedPassage(None, 1),
        RankedPassage("B", 2),
    ]


def test_the_distinct_ranking_finds_what_widening_k_finds() -> None:
    """LongMemEval reads on until k passages are of k sessions; stated where it is used."""
    passages = ranking("B", "B", "B", "A", "D", "C")

    assert find_measure("recall@3", 6).score(passages, GOLD) == 0.0
    assert find_measure("recall@3", 6).score(drop_repeats(passages), GOLD) == 0.5
    assert find_measure("recall_all@5", 6).score(drop_repeats(passages), GOLD) == 1.0


def random_cases(count: int) -> list[tuple[list[str | None], frozenset[str]]]:
    """Rankings of ten with repeats and untraced passages, some of them short."""
    rng = random.Random(20)
    units = [f"u{n}" for n in range(14)]
    return [
        (
            rng.choices([None, *units], k=rng.choice([3, 10, 10])),
            frozenset(rng.sample(units, rng.randint(1, 6))),
        )
        for _ in range(count)
    ]


def as_documents(
    found: Sequence[str | None], gold: frozenset[str], places: int
) -> tuple[list[str], list[int]]:
    """The same as distinct documents for libraries that know no repeats, and their relevance.

    Repeats and untraced passages become documents of their own, empty places too; gold that was
    not found comes last, where it counts for the ideal alone.
    """
    documents = [
        unit if unit is not None and unit not in found[:rank] else f"other-{rank}"
        for rank, unit in enumerate(found)
    ]
    documents += [f"empty-{rank}" for rank in range(len(found), places)]
    documents += sorted(gold - set(documents))
    return documents, [int(document in gold) for document in documents]


def test_ours_agree_with_scikit_learn() -> None:
    """A column is a question, a row a rank, as for labels and samples."""
    import numpy as np
    from sklearn.metrics import average_precision_score, ndcg_score, precision_score, recall_score

    cases = random_cases(300)
    shown = np.zeros((16, len(cases)), dtype=int)
    for column, (found, gold) in enumerate(cases):
        relevance = as_documents(found, gold, 10)[1]
        shown[: len(relevance), column] = relevance
    order = np.repeat(-np.arange(16.0)[:, None], len(cases), axis=1)

    def ours(name: str) -> list[float]:
        return [find_measure(name, 10).score(ranking(*found), gold) for found, gold in cases]

    for k in (1, 3, 5, 10):
        chosen = np.repeat((np.arange(16) < k)[:, None], len(cases), axis=1).astype(int)
        assert ours(f"recall@{k}") == pytest.approx(recall_score(shown, chosen, average=None))
        assert ours(f"precision@{k}") == pytest.approx(precision_score(shown, chosen, average=None))
        values = ours(f"ndcg@{k}")
        assert np.mean(values) == pytest.approx(ndcg_score(shown.T, order.T, k=k))
        for case in range(25):
            alone = slice(case, case + 1)
            theirs = ndcg_score(shown.T[alone], order.T[alone], k=k)
            assert values[case] == pytest.approx(theirs)

    # It has no cutoff, divides by the relevant that it is shown, and cannot do with none of them.
    inside = shown[:10]
    some = inside.any(axis=0)
    precisions = np.zeros(len(cases))
    precisions[some] = average_precision_score(inside[:, some], order[:10, some], average=None)
    assert ours("map@10") == pytest.approx(precisions * inside.sum(axis=0) / shown.sum(axis=0))


def test_ours_agree_with_ir_measures() -> None:
    theirs = pytest.importorskip(
        "ir_measures", reason="ir-measures needs pytrec-eval-terrier, which is built for x86-64"
    )
    families = {"hit": "Success", "recall": "R", "precision": "P", "ndcg": "nDCG"}
    names = {
        f"{ours}@{k}": f"{family}@{k}" for ours, family in families.items() for k in (1, 3, 5, 10)
    } | {"mrr@10": "RR@10", "map@10": "AP@10"}
    cases = random_cases(300)
    qrels, run = {}, {}
    for number, (found, gold) in enumerate(cases):
        documents, _ = as_documents(found, gold, 10)
        qrels[str(number)] = dict.fromkeys(gold, 1)
        run[str(number)] = {document: -float(rank) for rank, document in enumerate(documents[:10])}

    parsed = [theirs.parse_measure(name) for name in names.values()]
    values = {
        (int(value.query_id), str(value.measure)): value.value
        for value in theirs.iter_calc(parsed, qrels, run)
    }

    for number, (found, gold) in enumerate(cases):
        for ours, name in names.items():
            value = find_measure(ours, 10).score(ranking(*found), gold)
            assert value == pytest.approx(values[number, name]), (number, ours)


def test_the_longmemeval_variant_agrees_with_its_formula() -> None:
    """Gain of the first rank, and of rank i by log2(i) from the second on; the ideal likewise."""

    def gain(relevance: list[int]) -> float:
        return relevance[0] + sum(
            one / log2(rank) for rank, one in enumerate(relevance[1:], start=2)
        )

    for found, gold in random_cases(300):
        relevance = as_documents(found, gold, 10)[1]
        for k in (1, 3, 5, 10):
            theirs = gain(relevance[:k]) / gain(sorted(relevance, reverse=True)[:k])
            assert find_measure(f"ndcg_lme@{k}", 10).score(ranking(*found), gold) == pytest.approx(
                theirs
            )
