"""Which of the shipped trades is nearest to what somebody asks for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recall_bench.shipped import SOURCES
from recall_bench.yaml12 import load_yaml

if TYPE_CHECKING:
    from Stemmer import Stemmer

_ALSO = {
    "backend-eng-saas": "software engineer developer programmer coder devops sre it cloud startup "
    "app web data platform database api infrastructure product tech technology computer",
    "er-physician": "doctor nurse medic paramedic clinician surgeon hospital emergency health care "
    "healthcare medicine medical clinic patient ward dr pharmacist dentist veterinarian therapist",
    "executive-assistant": "secretary assistant chief staff office manager administrator executive "
    "ceo cfo director board mayor politician founder company travel event concierge",
    "financial-advisor": "wealth manager adviser planner banker broker accountant tax investment "
    "insurance money fund portfolio pension trader finance financial",
    "litigation-attorney": "lawyer solicitor barrister counsel paralegal judge court law legal "
    "attorney litigator prosecutor notary contract",
    "research-scientist": "researcher postdoc phd professor biologist chemist physicist laboratory "
    "lab science scientist academic university student experiment teacher",
}
"""Other words for each trade and its neighbours, which its persona happens not to use."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The trade taken."""

    trade: str
    is_alike: bool
    """Whether the description shares a word with it; if not, one trade is as good as another."""
    known: tuple[str, ...]


def nearest_trade(prompt: str) -> Nearest:
    """The shipped trade whose persona shares the most telling words with the description."""
    import bm25s
    from Stemmer import Stemmer

    from recall_bench.worlds import shipped

    trades = shipped()
    stemmer = Stemmer("english")
    index = bm25s.BM25(method="lucene")
    index.index(_words([_described(trade) for trade in trades], stemmer), show_progress=False)
    (asked,) = _words([prompt], stemmer)
    scores = index.get_scores(asked) if asked else [0.0] * len(trades)
    best = max(range(len(trades)), key=lambda number: (round(float(scores[number]), 6), -number))
    return Nearest(trades[best], is_alike=bool(scores[best] > 0), known=trades)


def _words(texts: list[str], stemmer: "Stemmer") -> list[list[str]]:
    import bm25s

    found: list[list[str]] = bm25s.tokenize(
        texts, stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False
    )
    return found


def _described(trade: str) -> str:
    """What the trade is about; its cast is left out, as any trade has engineers and counsel."""
    persona: Any = load_yaml(SOURCES / trade / "persona.yaml")
    principal = persona.get("principal") or {}
    parts = [persona.get(key) for key in ("role", "domain", "profile")]
    parts += [principal.get(key) for key in ("role", "profile")]
    return " ".join([trade.replace("-", " "), _ALSO.get(trade, ""), *(str(part) for part in parts)])
