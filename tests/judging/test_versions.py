"""A judge whose marks move has a new version, so that old and new scores are never compared."""

import pytest

from tests.judging.golden_answers import JUDGES, load_answers, read_marks


@pytest.mark.parametrize("name", JUDGES)
def test_marks_move_only_with_a_new_version(name: str) -> None:
    version, judge = JUDGES[name]
    on_record, marks = read_marks(name)

    found = list(judge())

    moved = [
        f"{golden.item.id}: {golden.answer[:60]!r}: {before} -> {after}"
        for golden, before, after in zip(load_answers(), marks, found, strict=True)
        if before != after
    ]
    assert version == on_record, "write its marks down: python -m tests.judging.golden_answers"
    assert moved == [], f"raise VERSION of {name}, then python -m tests.judging.golden_answers"
