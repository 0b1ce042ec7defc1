"""The trades of the shipped personas, and which of them a description is about.

Only words for a profession or a workplace name a trade. Words such as manager or assistant fit any
trade, and so do topics: a baker may worry about tax.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from recall_bench.core.errors import UsageError

TRADES: Mapping[str, str] = {
    "backend-eng-saas": "software",
    "er-physician": "medicine",
    "executive-assistant": "secretariat",
    "financial-advisor": "finance",
    "litigation-attorney": "law",
    "research-scientist": "science",
}
"""The field of each trade."""

_TRADE_WORDS: Mapping[str, str] = {
    "backend-eng-saas": "programmer, software engineer, software developer, software architect, "
    "software team, software company, web developer, app developer, backend, back end, frontend, "
    "front end, full stack, devops, sre, site reliability, sysadmin, system administrator, "
    "database administrator, data engineer, platform engineer, cloud engineer, tech lead",
    "er-physician": "physician, doctor, clinician, surgeon, nurse, medic, paramedic, ambulance, "
    "midwife, hospital, er, emergency room, emergency department, emergency medicine, "
    "intensive care, medical director, medical officer, medical student, general practitioner, gp, "
    "pediatrician, paediatrician, cardiologist, radiologist, anesthesiologist, anaesthetist",
    "executive-assistant": "secretary, executive assistant, personal assistant, "
    "administrative assistant, office manager, chief of staff, chief executive, ceo, cfo, coo, "
    "chief financial officer, chief operating officer, managing director",
    "financial-advisor": "financial advisor, financial adviser, financial planner, "
    "financial analyst, wealth manager, wealth management, investment advisor, investment adviser, "
    "investment banker, investment manager, portfolio manager, asset manager, fund manager, "
    "hedge fund, pension fund, pension planner, retirement planner, tax advisor, tax adviser, "
    "insurance broker, banker, stockbroker, accountant, bookkeeper",
    "litigation-attorney": "lawyer, attorney, solicitor, barrister, paralegal, prosecutor, "
    "public defender, litigator, litigation, law firm, law office, law clerk, law student, "
    "legal assistant, legal counsel, general counsel, in house counsel",
    "research-scientist": "scientist, researcher, research group, research institute, "
    "research assistant, principal investigator, postdoc, phd, doctoral student, professor, "
    "laboratory, lab, biologist, microbiologist, chemist, biochemist, physicist, virologist, "
    "immunologist, geneticist, neuroscientist",
}
"""The words and phrases that name each trade, in the singular; plurals in -s count too."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class TradeMatch:
    """The trade that a description is about."""

    trade: str
    words: tuple[str, ...]
    """The words of the description that name it, in the singular."""


def find_trade(prompt: str) -> TradeMatch | None:
    """The trade that most words of the description name; None without any.

    In a tie the first wins: people say who somebody is before they say for whom they work.
    """
    found: dict[str, dict[str, None]] = {}
    for trade, words in _find_trade_words(prompt):
        found.setdefault(trade, {})[words] = None
    if not found:
        return None
    trade = max(found, key=lambda each: len(found[each]))
    return TradeMatch(trade, tuple(found[trade]))


def check_trade(name: str) -> str:
    """The name, if there is such a trade; else UsageError."""
    if name not in TRADES:
        raise UsageError(f"--trade: there is no trade {name!r}; choose one of {describe_trades()}")
    return name


def describe_trades() -> str:
    """Every trade with its field."""
    return ", ".join(f"{trade} ({field})" for trade, field in TRADES.items())


def _find_trade_words(prompt: str) -> list[tuple[str, str]]:
    """The trades that the description names, with the words."""
    trades = {
        phrase: trade for trade, listed in _TRADE_WORDS.items() for phrase in listed.split(", ")
    }
    phrase = re.compile(rf"\b({'|'.join(trades)})s?\b")
    words = " ".join(_WORD.findall(prompt.casefold()))
    return [(trades[found[1]], found[1]) for found in phrase.finditer(words)]
