"""The trades of the shipped personas, and which of them a description is about.

Only words for a profession or a workplace name a trade. Words such as manager or assistant fit any
trade, and so do topics: a baker may worry about tax.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from recall_bench.core.errors import UsageError

_FILE = Path(__file__).with_suffix(".toml")
_WORD = re.compile(r"\w+")


@cache
def load_trades() -> Mapping[str, Mapping[str, str]]:
    """The field of each trade, and the words and phrases that name it."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class TradeMatch:
    """The trade that a description is about."""

    trade: str
    words: tuple[str, ...]
    """The words of the description that name it, in the singular."""


def find_trade(prompt: str) -> TradeMatch | None:
    """The trade that most words of the description name; None without any.

    In a tie the first wins: people give the role before the employer.
    """
    results: dict[str, dict[str, None]] = {}
    for trade, words in _find_trade_words(prompt):
        results.setdefault(trade, {})[words] = None
    if not results:
        return None
    trade = max(results, key=lambda each: len(results[each]))
    return TradeMatch(trade, tuple(results[trade]))


def check_trade(name: str) -> str:
    """The name, if there is such a trade; else UsageError."""
    if name not in load_trades():
        raise UsageError(f"--trade: there is no trade {name!r}; choose one of {describe_trades()}")
    return name


def describe_trades() -> str:
    """Every trade with its field."""
    return ", ".join(f"{trade} ({about['field']})" for trade, about in load_trades().items())


def _find_trade_words(prompt: str) -> list[tuple[str, str]]:
    """The trades that the description names, with the words."""
    trades = {
        phrase: trade
        for trade, about in load_trades().items()
        for phrase in about["words"].split(", ")
    }
    phrase = re.compile(rf"\b({'|'.join(trades)})s?\b")
    words = " ".join(_WORD.findall(prompt.casefold()))
    return [(trades[match[1]], match[1]) for match in phrase.finditer(words)]
