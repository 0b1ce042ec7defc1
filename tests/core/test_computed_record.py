"""A record of computed numbers can always be written down, whatever computed them."""

import msgspec
import numpy as np
import pytest

from recall_bench.core.record import ComputedRecord
from recall_bench.metrics.survival import FactLifetime, estimate_survival
from tests.computed_records import find_plain_records
from tests.loops import loop_over_rows


class Figures(ComputedRecord, frozen=True, kw_only=True):
    value: float
    count: int = 0
    interval: tuple[float, float] | None = None
    by_name: dict[str, float] = msgspec.field(default_factory=dict)


def test_numpy_scalars_become_python_numbers() -> None:
    found = Figures(
        value=np.float64(0.5),
        count=np.int64(3),  # type: ignore[arg-type]
        interval=(np.float64(0.25), 1.0),
        by_name={"a": np.float64(0.75)},
    )

    assert [type(each) for each in (found.value, found.count)] == [float, int]
    assert msgspec.json.encode(found) == (
        b'{"value":0.5,"count":3,"interval":[0.25,1.0],"by_name":{"a":0.75}}'
    )


def test_numpy_scalars_of_a_changed_copy_become_python_numbers() -> None:
    assert type(Figures(value=0.5).replace(value=np.float64(1.5)).value) is float


def test_plain_values_stay_the_very_objects() -> None:
    by_name = {"a": 0.5}

    assert Figures(value=1.0, by_name=by_name).by_name is by_name


@loop_over_rows("seed", range(5))
def test_every_half_life_can_be_written(seed: int) -> None:
    """Ordinary runs ended in a TypeError: the band's bound was a numpy scalar."""
    rng = np.random.default_rng(seed)
    lifetimes = [
        FactLifetime(
            persona=str(n % 6),
            question=str(n),
            known_for=30.0 * int(known),
            lost_by=30.0 * int(known) + 30.0 if lost else None,
        )
        for n, (known, lost) in enumerate(
            zip(rng.integers(1, 9, 40), rng.random(40) < 0.4, strict=True)
        )
    ]

    found = estimate_survival(lifetimes, seed=1, resamples=100)

    assert found is not None
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


@pytest.mark.parametrize("package", ["metrics", "reporting"])
def test_every_record_of_computed_numbers_is_one(package: str) -> None:
    assert find_plain_records(f"recall_bench.{package}") == []
