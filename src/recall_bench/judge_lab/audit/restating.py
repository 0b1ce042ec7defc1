"""Answers in the question's own words: `Who objected?` becomes `Ada objected`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from recall_bench.judge_lab.audit.values import Kind

_VERB = (
    r"(?:was|were|is|had|has|took|won|made|came|gave|got|kept|put|went|stood|held|brought|found|"
    r"caught|led|wrote|spoke|set|lent|sold|sent|asked|\w{3,}ed)"
)
_NAMED = frozenset({Kind.PERSON, Kind.NAME})
_FIGURES = frozenset({Kind.NUMBER, Kind.MEASURE, Kind.MONEY, Kind.PERCENT})
_ANY = frozenset(Kind) - {Kind.PHRASE}


@dataclass(frozen=True, slots=True)
class _Pattern:
    kinds: frozenset[Kind]
    question: re.Pattern[str]
    answer: Callable[[re.Match[str], str], str]


_PATTERNS = (
    _Pattern(
        _NAMED,
        re.compile(rf"Who (?P<rest>{_VERB} .+)\?"),
        lambda match, said: f"{said} {match['rest']}.",
    ),
    _Pattern(
        _NAMED,
        re.compile(rf"Which (?:[a-z-]+ ){{1,3}}?(?P<rest>{_VERB} .+)\?"),
        lambda match, said: f"{said} {match['rest']}.",
    ),
    _Pattern(
        frozenset({Kind.NUMBER}),
        re.compile(r"How many (?P<counted>.+?) were there (?P<rest>.+)\?"),
        lambda match, said: f"There were {said} {match['counted']} {match['rest']}.",
    ),
    _Pattern(
        _ANY,
        re.compile(r"What (?P<verb>was|is) (?P<what>(?:the|our|its) .+)(?<! worth)(?<! like)\?"),
        lambda match, said: f"{_capital(match['what'])} {match['verb']} {said}.",
    ),
    _Pattern(
        _FIGURES,
        re.compile(r"(?:How much|What) did (?P<what>the .+) come to\?"),
        lambda match, said: f"{_capital(match['what'])} came to {said}.",
    ),
    _Pattern(
        frozenset({Kind.DATE, Kind.TIME}),
        re.compile(
            r"(?:When|On what date|On what day|On which day|On which date) was (?P<what>.+) "
            r"(?P<done>(?:first |finally )?\w{3,}ed)\?"
        ),
        lambda match, said: f"{_capital(match['what'])} was {match['done']} on {said}.",
    ),
)


def restated(question: str, kind: Kind, text: str) -> Iterator[str]:
    """Sentences that say the text in the question's words, where its form is a known one."""
    for pattern in _PATTERNS:
        match = pattern.question.fullmatch(question)
        if match and kind in pattern.kinds:
            yield pattern.answer(match, text)


_ASKED = (
    (re.compile(r"(Was|Were|Has|Have|Is|Are) (.+?) ever (.+)\?"), "{1} {aux} {how} {2}."),
    (re.compile(r"(Did) (we|they|anything) (?:ever )?(.+)\?"), "{1} {did}{2}."),
    (re.compile(r"(Did) (.+?) ever (.+)\?"), "{1} {did}{2}."),
)
_THERE = re.compile(r"(Was|Were|Has|Have) there (?:ever )?(?:been )?(?:a|an|any) (.+)\?")


def denied(question: str) -> Iterator[str]:
    """The question's own words turned into their denial, where its form is a known one."""
    yield from _stated(question, how="never", did="did not ")
    if match := _THERE.fullmatch(question):
        verb = {"Was": "was", "Were": "were", "Has": "has been", "Have": "have been"}[match[1]]
        yield f"There {verb} no {match[2]}."


def affirmed(question: str) -> Iterator[str]:
    """The same turned into their affirmation."""
    yield from _stated(question, how="indeed", did="did ")
    if match := _THERE.fullmatch(question):
        verb = {"Was": "was", "Were": "were", "Has": "has been", "Have": "have been"}[match[1]]
        yield f"There {verb} indeed a {match[2]}."


def _stated(question: str, *, how: str, did: str) -> Iterator[str]:
    for pattern, frame in _ASKED:
        if match := pattern.fullmatch(question):
            sentence = frame.replace("{aux}", match[1].lower()).replace("{how}", how)
            sentence = sentence.replace("{did}", did)
            yield _capital(sentence.replace("{1}", match[2]).replace("{2}", match[3]))
            return


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
