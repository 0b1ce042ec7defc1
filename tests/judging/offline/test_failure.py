"""A verdict is a failure below four points, without grounds, or without any correctness."""

from recall_bench.core.verdict import Verdict
from tests.loops import loop_over_rows


@loop_over_rows(
    ("marks", "is_failure"),
    [
        ((3, 2, 1), False),
        ((2, 1, 1), False),
        ((1, 1, 1), True),
        ((3, 2, 0), True),
        ((0, 2, 1), True),
    ],
)
def test_the_published_vectors_hold(marks: tuple[int, int, int], is_failure: bool) -> None:
    assert Verdict.of(*marks).is_failure is is_failure
