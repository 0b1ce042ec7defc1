"""Reviews of failures and of passes are told apart, and points are counted as they moved."""

from recall_bench.core.trial_states import ReviewChange
from recall_bench.metrics.marks import ReviewCounts, ReviewTally, count_reviews


def test_each_review_is_in_one_count_of_one_kind() -> None:
    found = count_reviews(
        [
            ReviewChange(was_failure=True, change=4),
            ReviewChange(was_failure=True, change=0),
            ReviewChange(was_failure=True, change=None),
            ReviewChange(was_failure=False, change=-3),
            ReviewChange(was_failure=False, change=1),
        ],
        still_open=2,
    )

    assert found == ReviewCounts(
        failures=ReviewTally(raised=1, same=1, failed=1, points=4),
        passes=ReviewTally(raised=1, lowered=1, points=-2),
        open=2,
    )
    assert found.total == ReviewTally(raised=2, lowered=1, same=1, failed=1, points=2)
    assert (found.failures.done, found.total.done) == (2, 4)


def test_no_review_is_nothing() -> None:
    assert count_reviews([]) == ReviewCounts()
