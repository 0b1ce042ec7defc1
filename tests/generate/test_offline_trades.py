"""Offline, a description finds the trade it is nearest to."""

import pytest

from recall_bench.generate.offline.trades import nearest_trade
from recall_bench.worlds import shipped


@pytest.mark.parametrize(
    ("prompt", "trade"),
    [
        ("An ER physician at a rural hospital who coordinates night shifts", "er-physician"),
        ("A nurse in a busy emergency department", "er-physician"),
        ("a software engineer at a startup", "backend-eng-saas"),
        ("SRE on call for a payment processor", "backend-eng-saas"),
        ("immigration solicitor in London", "litigation-attorney"),
        ("A lawyer.", "litigation-attorney"),
        ("a PhD student in a biology lab", "research-scientist"),
        ("tax accountant", "financial-advisor"),
        ("a wealth manager for rich families", "financial-advisor"),
        ("chief of staff to a mayor", "executive-assistant"),
    ],
)
def test_a_description_finds_its_trade(prompt: str, trade: str) -> None:
    found = nearest_trade(prompt)

    assert (found.trade, found.is_alike) == (trade, True)
    assert found.known == shipped()


@pytest.mark.parametrize("prompt", ["xyzzy", "the of and", "一人の医者", "?"])
def test_a_description_like_none_of_them_is_told_so(prompt: str) -> None:
    found = nearest_trade(prompt)

    assert not found.is_alike
    assert found.trade in shipped()
