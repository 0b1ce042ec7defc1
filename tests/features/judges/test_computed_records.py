"""Figures of the judge lab can always be written down, whatever computed them."""

from tests.computed_records import find_plain_records


def test_every_record_of_computed_numbers_is_one() -> None:
    assert find_plain_records("recall_bench.features.judges") == []
