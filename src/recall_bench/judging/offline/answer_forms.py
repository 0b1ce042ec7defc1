"""Short forms in an answer, written out as its question's truth has them.

`One finding` is a number only where the truth counts findings, and `Fri.` a day only where it has
a day of the week. So each question has its own forms.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recall_bench.text.value_patterns import WEEKDAYS

_ONE = r"\b(?:just the one|one(?: single)?|an? (?:single|sole|lone)|(?:the|its|their) only)"
_TWO = re.compile(r"\b(?:an? (?:pair|couple) of|both(?= of)|a duo of)\s", re.IGNORECASE)
_COUNTS_ONE = re.compile(r"(?P<number>1|one)(?: (?P<noun>(?!of\b)[a-z][\w-]*)| *$)", re.IGNORECASE)
_COUNTS_TWO = re.compile(r"(?:2|two)\b", re.IGNORECASE)
_ASKED_NOUN = re.compile(r"\bhow many (?:\w+ ){0,2}?(?P<noun>\w+s)\b", re.IGNORECASE)
# Three of the short forms are words: "she sat down", "the sun", "to wed".
_WEEKDAY = re.compile(
    r"\b(?:(?P<sure>Mon|Tues?|Thu(?:rs?)?|Fri)|(?P<word>Wed|Sat|Sun)(?!\.?\s[a-z]))\b(?:\.(?!\s*$))?"
)
_FULL_DAYS = {day[:3]: day for day in WEEKDAYS}


@dataclass(frozen=True, slots=True)
class AnswerForms:
    """The short forms that the answers to one question may have."""

    rewrites: tuple[tuple[re.Pattern[str], str], ...]
    has_weekday: bool

    @classmethod
    def build(cls, question: str, parts: Iterable[str]) -> "AnswerForms | None":
        """The forms for a question and what its answer has to state; None if there are none."""
        texts = list(parts)
        rewrites = [
            *_list_forms_of_one(question, texts),
            *([(_TWO, "two ")] if any(map(_COUNTS_TWO.match, texts)) else []),
        ]
        has_weekday = any(day in text for text in texts for day in WEEKDAYS)
        return cls(tuple(rewrites), has_weekday) if rewrites or has_weekday else None

    def write_out(self, text: str) -> str:
        """The text with its short forms written out."""
        for pattern, number in self.rewrites:
            text = pattern.sub(number, text)
        if self.has_weekday:
            text = _WEEKDAY.sub(lambda found: _FULL_DAYS[found[0][:3]], text)
        return text


def _list_forms_of_one(
    question: str, texts: Sequence[str]
) -> Iterable[tuple[re.Pattern[str], str]]:
    for text in texts:
        counted = _COUNTS_ONE.match(text)
        if counted is None:
            continue
        match = _ASKED_NOUN.search(question)
        noun = counted["noun"] or (match["noun"] if match else None)
        if noun is None:
            continue
        stem = re.escape(noun.lower().removesuffix("s"))
        pattern = re.compile(rf"{_ONE}\s(?=(?:[\w-]+\s){{0,2}}?{stem})", re.IGNORECASE)
        yield pattern, f"{counted['number']} "
