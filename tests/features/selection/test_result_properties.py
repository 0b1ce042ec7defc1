"""For any selections: one class each, and percentages that add up."""

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from recall_bench.features.selection.result_file import compute_percentages
from recall_bench.features.selection.selection_scores import SelectionOutcome, compare_selection
from tests.loops import loop_over, loop_over_rows

A, B, C = "memory/a.md", "memory/b.md", "memory/c.md"


SETS = tuple(names for size in range(4) for names in combinations((A, B, C), size))


@loop_over(product(SETS, SETS))
def test_every_pair_of_sets_is_in_exactly_one_class(
    pair: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    expected, recalled = pair
    missing, extra = set(expected) - set(recalled), set(recalled) - set(expected)
    claims = {
        SelectionOutcome.PERFECT: not missing and not extra,
        SelectionOutcome.OVERRECALL: not missing and bool(extra),
        SelectionOutcome.UNDERRECALL: bool(missing),
    }
    compared = compare_selection(expected, recalled)

    assert [outcome for outcome, holds in claims.items() if holds] == [compared.outcome]
    assert (set(compared.missing), set(compared.extra)) == (missing, extra)


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    half = compare_selection((A, B), (A, C))
    third = compare_selection((A,), (A, B, C))

    assert (half.precision, half.recall, half.f1, half.jaccard) == (0.5, 0.5, 0.5, 1 / 3)
    assert (third.precision, third.recall, third.f1, third.jaccard) == (1 / 3, 1.0, 0.5, 1 / 3)
    assert compare_selection((), ()).f1 == 1.0


@given(st.lists(st.integers(0, 3000), min_size=3, max_size=3).filter(any))
def test_percentages_add_up_and_are_within_a_tenth(counts: list[int]) -> None:
    tenths = [int(share.replace(".", "")) for share in compute_percentages(counts)]

    assert sum(tenths) == 1000
    assert all(abs(t - 1000 * c / sum(counts)) < 1 for t, c in zip(tenths, counts, strict=True))


@loop_over_rows(
    ("counts", "shares"),
    [
        ((1, 1, 1), ["33.4", "33.3", "33.3"]),
        ((2, 1, 0), ["66.7", "33.3", "0.0"]),
        ((9, 11, 0), ["45.0", "55.0", "0.0"]),
        ((14, 9, 1), ["58.3", "37.5", "4.2"]),
        ((0, 0, 0), []),
    ],
)
def test_hand_worked_percentages(counts: tuple[int, ...], shares: list[str]) -> None:
    assert compute_percentages(counts) == shares
