"""Draws that are kept for the next estimate are shared by threads."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from recall_bench.metrics import bootstrap
from tests.thoroughness import choose_number


def test_several_threads_share_the_draws_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The explorer estimates in a worker and in the threads of its requests."""
    monkeypatch.setattr(bootstrap, "_KEPT_BYTES", 20_000)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = pool.map(
                lambda seed: bootstrap._count_draws(4, seed, 5), range(choose_number(1500, 4000))
            )
            shapes = {counts.shape for counts in found}
    finally:
        sys.setswitchinterval(interval)
    assert shapes == {(5, 4)}
