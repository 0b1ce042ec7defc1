"""What is planted is tested as the gate tests."""

from itertools import product

import numpy as np
import pytest

from recall_bench.features.comparison.gate.gate_loss import (
    QuestionSums,
    _is_detectable,
    simulate_loss_power,
    simulate_proof_power,
)
from recall_bench.metrics.comparison import compute_sign_flip_p


@pytest.mark.parametrize("alike", [True, False])
def test_rows_are_shown_where_turning_their_signs_round_shows_them(alike: bool) -> None:
    """Also where all sizes are the same, so that totals come in steps: 7 to 1 show nothing."""
    agreed, cases = 0, list(product(range(1, 14), range(4)))
    for more, less in cases:
        sizes = np.ones(more + less) if alike else 1 + np.arange(more + less) / 7
        row = np.where(np.arange(more + less) % (more + less) < less, -sizes, sizes)
        exact = compute_sign_flip_p(row, seed=1) / 2 <= 0.025 and row.sum() > 0
        agreed += exact == bool(_is_detectable(row[np.newaxis], 0.05)[0])

    assert agreed == len(cases) if alike else agreed >= len(cases) - 3


def test_five_questions_show_nothing_however_unlike_they_are() -> None:
    assert not _is_detectable(np.array([[1.0, 50.0, 50.0, 50.0, 50.0]]), 0.05)[0]


def test_a_margin_and_one_more_lost_question_have_to_be_got_over() -> None:
    change = np.tile([10.0, -10.0], 60)
    questions = QuestionSums(before=np.full(120, 60.0), change=change, asks=np.ones(120))

    without, with_margin = (simulate_loss_power(questions, margin=m, notice=7) for m in (0, 4))
    proof = simulate_proof_power(questions, margin=2)

    assert without.power > with_margin.power
    assert without.even_power > with_margin.even_power
    assert without.power < without.even_power
    assert proof.power < 0.2, "by themselves these would prove it 53 times in 100"
    assert proof.provable is not None
    assert 2 < proof.provable < 5
