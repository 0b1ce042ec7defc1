"""Answers in the question's own words: `Who objected?` becomes `Ada objected`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from recall_bench.judge_lab.audit.values import ValueKind

_VERB = (
    r"(?:was|were|is|had|has|took|won|made|came|gave|got|kept|put|went|stood|held|brought|found|"
    r"caught|led|wrote|spoke|set|lent|sold|sent|asked|\w{3,}ed)"
)
_NAME_KINDS = frozenset({ValueKind.PERSON, ValueKind.NAME})
_FIGURE_KINDS = frozenset({ValueKind.NUMBER, ValueKind.MEASURE, ValueKind.MONEY, ValueKind.PERCENT})
_RESTATED_KINDS = frozenset(ValueKind) - {ValueKind.PHRASE}


@dataclass(frozen=True, slots=True)
class _QuestionPattern:
    kinds: frozenset[ValueKind]
    question: re.Pattern[str]
    answer: Callable[[re.Match[str], str], str]


_PATTERNS = (
    _QuestionPattern(
        _NAME_KINDS,
        re.compile(rf"Who (?P<rest>{_VERB} .+)\?"),
        lambda match, said: f"{said} {match['rest']}.",
    ),
    _QuestionPattern(
        _NAME_KINDS,
        re.compile(rf"Which (?:[a-z-]+ ){{1,3}}?(?P<rest>{_VERB} .+)\?"),
        lambda match, said: f"{said} {match['rest']}.",
    ),
    _QuestionPattern(
        frozenset({ValueKind.NUMBER}),
        re.compile(r"How many (?P<counted>.+?) were there (?P<rest>.+)\?"),
        lambda match, said: f"There were {said} {match['counted']} {match['rest']}.",
    ),
    _QuestionPattern(
        _RESTATED_KINDS,
        re.compile(r"What (?P<verb>was|is) (?P<what>(?:the|our|its) .+)(?<! worth)(?<! like)\?"),
        lambda match, said: f"{_capitalise(match['what'])} {match['verb']} {said}.",
    ),
    _QuestionPattern(
        _FIGURE_KINDS,
        re.compile(r"(?:How much|What) did (?P<what>the .+) come to\?"),
        lambda match, said: f"{_capitalise(match['what'])} came to {said}.",
    ),
    _QuestionPattern(
        frozenset({ValueKind.DATE, ValueKind.TIME}),
        re.compile(
            r"(?:When|On what date|On what day|On which day|On which date) was (?P<what>.+) "
            r"(?P<done>(?:first |finally )?\w{3,}ed)\?"
        ),
        lambda match, said: f"{_capitalise(match['what'])} was {match['done']} on {said}.",
    ),
)


def restate(question: str, kind: ValueKind, text: str) -> Iterator[str]:
    """Sentences that say the text in the question's words, where its form is a known one."""
    for pattern in _PATTERNS:
        match = pattern.question.fullmatch(question)
        if match and kind in pattern.kinds:
            yield pattern.answer(match, text)


_POLAR_FORMS = (
    (re.compile(r"(Was|Were|Has|Have|Is|Are) (.+?) ever (.+)\?"), "{1} {aux} {how} {2}."),
    (re.compile(r"(Did) (we|they|anything) (?:ever )?(.+)\?"), "{1} {did}{2}."),
    (re.compile(r"(Did) (.+?) ever (.+)\?"), "{1} {did}{2}."),
)
_THERE_FORM = re.compile(r"(Was|Were|Has|Have) there (?:ever )?(?:been )?(?:a|an|any) (.+)\?")


def deny(question: str) -> Iterator[str]:
    """The question's own words turned into their denial, where its form is a known one."""
    yield from _state(question, how="never", did="did not ")
    if match := _THERE_FORM.fullmatch(question):
        verb = {"Was": "was", "Were": "were", "Has": "has been", "Have": "have been"}[match[1]]
        yield f"There {verb} no {match[2]}."


def affirm(question: str) -> Iterator[str]:
    """The same turned into their affirmation."""
    yield from _state(question, how="indeed", did="did ")
    if match := _THERE_FORM.fullmatch(question):
        verb = {"Was": "was", "Were": "were", "Has": "has been", "Have": "have been"}[match[1]]
        yield f"There {verb} indeed a {match[2]}."


def _state(question: str, *, how: str, did: str) -> Iterator[str]:
    for pattern, frame in _POLAR_FORMS:
        if match := pattern.fullmatch(question):
            sentence = frame.replace("{aux}", match[1].lower()).replace("{how}", how)
            sentence = sentence.replace("{did}", did)
            yield _capitalise(sentence.replace("{1}", match[2]).replace("{2}", match[3]))
            return


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
