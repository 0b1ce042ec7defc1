"""All statements of one state give one value, whole or in part."""

from datetime import date
from decimal import Decimal

import pytest

from recall_bench.core.languages import get_language
from recall_bench.generate.verification.value_readers import Amount, Key
from recall_bench.generate.verification.written_text import (
    StatementRecord,
    StatementText,
    WrittenText,
    find_conflicts,
)

WHOLE = Amount("€", Decimal(3_400_000))


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        pytest.param(WHOLE, WHOLE, True, id="the same"),
        pytest.param(WHOLE, Amount("", Decimal("3.4")), True, id="3.4 for €3.4 million"),
        pytest.param(
            Amount("€", Decimal(2_000_000_000)), Amount("", Decimal(2)), True, id="2 for €2 billion"
        ),
        pytest.param(WHOLE, Amount("", Decimal("3.5")), False, id="3.5 for €3.4 million"),
        pytest.param(WHOLE, Amount("€", Decimal(3_400)), False, id="€3,400 for €3.4 million"),
        pytest.param(WHOLE, Amount("$", Decimal(3_400_000)), False, id="another currency"),
        pytest.param(
            Amount("", Decimal(12)), Amount("", Decimal(12_000)), False, id="12 for 12,000 litres"
        ),
        pytest.param(date(2025, 3, 7), "friday", True, id="the weekday of a date"),
        pytest.param(date(2025, 3, 7), date(2025, 3, 8), False, id="another date"),
        pytest.param("sea green", "signal yellow", False, id="another phrase"),
    ],
)
def test_statements_of_one_state_agree_whichever_comes_first(
    one: Key, other: Key, agree: bool
) -> None:
    for keys in ((one, other), (other, one)):
        stated = tuple(
            StatementText(
                StatementRecord(
                    fact="bid", state=1, kind="any", day=day, session="deck", start=0, end=1
                ),
                str(key),
                key,
            )
            for day, key in enumerate(keys, start=1)
        )
        text = WrittenText({}, date(2025, 3, 3), stated, get_language("en"))

        assert (not list(find_conflicts(text))) is agree, keys
