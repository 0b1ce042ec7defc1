"""What the encoder reads of an answer: the truth and the nearest of the history, then its claims.

Text is cut into pieces, with markers between them. A marker is one token of its own, and training
gives it its meaning.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from recall_bench.core.scenario import Expects
from recall_bench.judging.encoder.history_sentences import HistorySentences
from recall_bench.judging.encoder.value_hints import KnownText, Mention, locate_mentions
from recall_bench.text.encoder.encoder import Marker, Piece
from recall_bench.text.text import normalise, split_normalised

NEAREST_PER_CLAIM = 2
MOST_NEAREST = 5
"""Sentences of the history beside the evidence."""
MOST_CLAIMS = 10
"""What follows them is read as one claim."""
LONG_CLAIM = 90
"""Characters from which a sentence is cut at its conjunctions."""


EXPECTATIONS = {
    Expects.ANSWER: Marker.ANSWER,
    Expects.CORRECT: Marker.ANSWER,
    Expects.ABSTAIN: Marker.ABSTAIN,
    Expects.WITHHOLD: Marker.WITHHOLD,
}


class JudgeInput(NamedTuple):
    """The two parts of what is read."""

    truth: tuple[Piece, ...]
    answer: tuple[Piece, ...]


class TruthText(NamedTuple):
    """What is known of a question, as text."""

    question: str
    references: tuple[str, ...]
    """The reference, then its other wordings."""
    expects: Expects = Expects.ANSWER
    stale: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


_BULLET = re.compile(r"^\s*(?:[-*•>#]+|\d{1,2}[.)])\s+")
_CONJUNCTION = re.compile(
    r"(?<=[^\s,;]{3}),?\s+(?=(?:because|since|which|who|after|before|while|although|though|but|so"
    r"|and\s(?:then|that|the|he|she|it|they|we|I|you)|as\s(?:the|he|she|it|they|we))\s)"
    r"|;\s+|\s+(?:-|--)\s+"
)


def split_claims(answer: str) -> list[str]:
    """The claims of a normalised answer: its sentences, the long ones cut at conjunctions."""
    claims: list[str] = []
    for sentence in split_normalised(answer):
        plain = _BULLET.sub("", sentence).strip()
        parts = _CONJUNCTION.split(plain) if len(plain) > LONG_CLAIM / 2 else [plain]
        for part in parts:
            if claims and part and len(part) < 12 and parts[0] is not part:
                claims[-1] = f"{claims[-1]}; {part}"
            elif re.search(r"\w", part):
                claims.append(part)
    if len(claims) > MOST_CLAIMS:
        claims[MOST_CLAIMS - 1 :] = [" ".join(claims[MOST_CLAIMS - 1 :])]
    return claims


def find_nearest(
    claims: Sequence[str],
    history: HistorySentences,
    until: int,
    evidence: Iterable[str],
) -> list[str]:
    """The sentences of the history nearest to the claims, up to a day, in their order."""
    ranked = [history.find_nearest(claim, until, NEAREST_PER_CLAIM + 2) for claim in claims]
    places: dict[int, None] = {}
    shown = " ".join(evidence)
    for rank in range(NEAREST_PER_CLAIM + 2):
        for found in ranked:
            if rank < len(found) and history.sentences[found[rank]].text not in shown:
                places[found[rank]] = None
    return [history.sentences[place].text for place in sorted(list(places)[:MOST_NEAREST])]


def compose_input(
    truth: TruthText,
    answer: str,
    nearest: Sequence[str],
    history: HistorySentences | None = None,
    until: int = 0,
) -> JudgeInput:
    """What the encoder reads; every text is normalised here."""
    question = normalise(truth.question)
    references = [normalise(text) for text in truth.references]
    stale = [normalise(text) for text in truth.stale]
    withheld = [normalise(text) for text in truth.withheld]
    evidence = [normalise(text) for text in truth.evidence]
    claims = split_claims(normalise(answer))
    sides: list[tuple[Marker, KnownText]] = [
        (Marker.IN_REFERENCE, KnownText(*references)),
        (Marker.IN_STALE, KnownText(*stale)),
        (Marker.IN_SECRET, KnownText(*withheld)),
        (Marker.SHOWN, KnownText(question, *evidence, *nearest)),
    ]

    def place_mention(mention: Mention) -> Marker:
        for marker, known in sides:
            if known.holds(mention):
                return marker
        if history is not None and _is_in_history(mention, history, until):
            return Marker.ELSEWHERE
        return Marker.NOWHERE

    said = KnownText(*claims)
    parts: list[Piece] = [EXPECTATIONS[truth.expects], question]
    for text in references:
        parts.append(Marker.REFERENCE)
        parts += _mark(text, lambda mention: None if said.holds(mention) else Marker.UNSAID)
    for marker, texts in (
        (Marker.STALE, stale),
        (Marker.SECRET, withheld),
        (Marker.EVIDENCE, evidence),
        (Marker.NEAREST, nearest),
    ):
        for text in texts:
            parts += (marker, text)
    answered: list[Piece] = []
    for claim in claims or [""]:
        answered.append(Marker.CLAIM)
        answered += _mark(claim, place_mention)
    return JudgeInput(tuple(parts), tuple(answered))


def _mark(text: str, place: Callable[[Mention], Marker | None]) -> list[Piece]:
    pieces: list[Piece] = []
    start = 0
    for mention in locate_mentions(text):
        marker = place(mention)
        if marker is None:
            continue
        if text[start : mention.start].strip():
            pieces.append(text[start : mention.start].strip())
        pieces.append(marker)
        start = mention.start
    if text[start:].strip():
        pieces.append(text[start:].strip())
    return pieces


def _is_in_history(mention: Mention, history: HistorySentences, until: int) -> bool:
    if mention.value is not None:
        return history.holds_value(mention.value, until)
    return history.holds_word(mention.word, until)
