"""The trades that ship with the package, and which of them a description is about.

Only words for a profession or a workplace name a trade. Words such as manager or assistant fit any
trade, and so do topics: a baker may worry about tax.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from recall_bench.core.errors import UsageError

_FOLDER = Path(__file__).with_name("trades")
_WORD = re.compile(r"\w+")


@cache
def load_trades() -> Mapping[str, Mapping[str, str]]:
    """The field of each trade, and the words and phrases that name it."""
    return tomllib.loads((_FOLDER / "trades.toml").read_text(encoding="utf-8"))


def find_trade_folder(trade: str) -> Path:
    """The folder with the sources of a trade."""
    if trade not in load_trades():
        raise UsageError(f"there is no trade {trade!r}; choose one of {describe_trades()}")
    return _FOLDER / trade


def describe_trades() -> str:
    """Every trade with its field."""
    return ", ".join(f"{trade} ({about['field']})" for trade, about in load_trades().items())


def find_trade(prompt: str) -> tuple[str, tuple[str, ...]] | None:
    """The trade that most words of a description name, with these words; None without any.

    In a tie the first wins: people give the role before the employer.
    """
    phrases = {
        phrase: trade
        for trade, about in load_trades().items()
        for phrase in about["words"].split(", ")
    }
    pattern = re.compile(rf"\b({'|'.join(phrases)})s?\b")
    named: dict[str, dict[str, None]] = {}
    for match in pattern.finditer(" ".join(_WORD.findall(prompt.casefold()))):
        named.setdefault(phrases[match[1]], {})[match[1]] = None
    if not named:
        return None
    trade = max(named, key=lambda name: len(named[name]))
    return trade, tuple(named[trade])
