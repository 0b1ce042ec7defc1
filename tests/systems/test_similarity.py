"""What is kept of a search by meaning is what a search of everything finds."""

import numpy as np
import pytest

from recall_bench.models.static_embedding import compute_similarity
from recall_bench.systems.builtin import similarity
from recall_bench.systems.builtin.similarity import IndexVersion

ROWS = np.random.default_rng(7).standard_normal((60, 256)).astype(np.float32)
DIRECTION = ROWS[0]


def measure(version: IndexVersion, rows: int, block: int = 16) -> list[float]:
    blocks = [ROWS[start : min(start + block, rows)] for start in range(0, rows, block)]
    return [
        float(each)
        for each in version.measure_likeness(blocks, "Which?", DIRECTION, is_exact=True).values
    ]


def expect(rows: int) -> list[float]:
    return [float(each) for each in compute_similarity(ROWS[:rows], DIRECTION)]


def count_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted: list[int] = []

    def compute(vectors: np.ndarray, direction: np.ndarray) -> np.ndarray:
        counted.append(len(vectors))
        return compute_similarity(vectors, direction)

    monkeypatch.setattr(similarity, "compute_similarity", compute)
    return counted


def test_a_larger_index_compares_only_its_new_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = count_rows(monkeypatch)
    first = IndexVersion(None)
    second = IndexVersion(first)
    third = IndexVersion(second)

    assert measure(first, 10) == expect(10)
    assert measure(third, 45) == expect(45)
    assert measure(third, 45) == expect(45)
    assert sum(counted) == 45


def test_an_index_that_grows_often_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = count_rows(monkeypatch)
    version = None
    for rows in range(2, 60, 3):
        version = IndexVersion(version)
        assert measure(version, rows) == expect(rows)

    assert sum(counted) == 59


def test_two_indexes_that_grew_from_one_share_its_passages_and_no_others() -> None:
    first = IndexVersion(None)
    measure(first, 10)
    one, other = IndexVersion(first), IndexVersion(first)
    measure(one, 30)
    swapped = [ROWS[:10], ROWS[40:60]]

    found = other.measure_likeness(swapped, "Which?", DIRECTION, is_exact=True).values

    assert found.tolist() == compute_similarity(np.concatenate(swapped), DIRECTION).tolist()


def test_an_index_of_another_memory_is_compared_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    measure(IndexVersion(None), 20)
    counted = count_rows(monkeypatch)

    assert measure(IndexVersion(None), 20) == expect(20)
    assert sum(counted) == 20


def test_what_does_not_fit_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "SIMILARITY_CACHE_BYTES", 20 * 4)
    counted = count_rows(monkeypatch)
    version = IndexVersion(None)

    assert measure(version, 30) == expect(30)
    assert measure(version, 30) == expect(30)
    assert sum(counted) == 60


def test_what_fitted_stays_when_the_rest_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "SIMILARITY_CACHE_BYTES", 20 * 4)
    counted = count_rows(monkeypatch)
    first = IndexVersion(None)
    second = IndexVersion(first)

    assert measure(first, 15) == expect(15)
    assert measure(second, 30) == expect(30)
    assert measure(second, 30) == expect(30)
    assert sum(counted) == 15 + 15 + 15


def test_what_another_index_kept_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "SIMILARITY_CACHE_BYTES", 40 * 4)
    first = IndexVersion(None)
    one, other = IndexVersion(first), IndexVersion(first)
    measure(one, 30)
    counted = count_rows(monkeypatch)

    assert measure(other, 30) == expect(30)
    assert measure(other, 30) == expect(30)
    assert sum(counted) == 30


def test_what_is_kept_cannot_be_changed() -> None:
    found = IndexVersion(None).measure_likeness([ROWS], "Which?", DIRECTION, is_exact=True).values

    with pytest.raises(ValueError, match="read-only"):
        found += 1


def test_rounded_similarities_are_as_near_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    exact = compute_similarity(rows, rows[0])
    counted = count_rows(monkeypatch)
    first = IndexVersion(None)
    second = IndexVersion(first)

    first.measure_likeness([rows[:16], rows[16:20]], "Which?", rows[0], is_exact=False)
    found = second.measure_likeness(
        [rows[:16], rows[16:32], rows[32:]], "Which?", rows[0], is_exact=False
    )

    assert sum(counted) == len(rows)
    assert 0 < float(abs(found.values - exact).max()) <= found.error
    assert (found.low, found.high) == (exact.min(), exact.max())
    some = np.array([3, 15, 16, 17, 40, 59])
    assert found.measure(some).tolist() == exact[some].tolist()
