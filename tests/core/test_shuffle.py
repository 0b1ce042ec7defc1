"""An order depends on the seed and the list, and is the public harness's order."""

from itertools import islice

import pytest

from recall_bench.core.schedule import generate_numbers, shuffle
from tests.loops import loop_over_rows


def test_the_first_draws_of_seed_42() -> None:
    assert list(islice(generate_numbers(42), 5)) == [
        0.6011037519201636,
        0.44829055899754167,
        0.8524657934904099,
        0.6697340414393693,
        0.17481389874592423,
    ]


@loop_over_rows(
    ("seed", "order"),
    [
        (0, "0 1 2 3 4 5 6 7 8 9"),
        (1, "7 8 3 2 1 5 9 4 0 6"),
        (7, "6 5 8 1 2 3 4 7 9 0"),
        (42, "0 7 3 5 2 1 8 9 4 6"),
        (123456789, "5 9 0 4 3 7 1 6 8 2"),
    ],
)
def test_ten_things_in_seeded_order(seed: int, order: str) -> None:
    assert shuffle(range(10), seed) == [int(n) for n in order.split()]


@pytest.mark.parametrize("things", [[], ["only"]])
def test_a_list_of_one_or_none_stays_as_it_is(things: list[str]) -> None:
    assert shuffle(things, 42) == things
