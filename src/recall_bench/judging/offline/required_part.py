"""One part that a right answer contains, and whether a sentence of the answer contains it.

A part is a value (an amount, a date, a time), a count of something, or words. A value matches by
meaning; a count by its number, where the sentence counts nothing else; words by spelling, and a
phrase also by being nearly stated.

A sentence answers directly if it is about little else: most of its words are the question's, the
truth's, or such as every answer uses to speak of itself and its sources. Other sentences count as
far as they share the question's words.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from recall_bench.core.text import STOPWORDS, normalise, split_words
from recall_bench.core.values import IDENTIFIER, QUANTITY, YEAR, ValueAtom, locate_values
from recall_bench.judging.offline.contents import (
    AnswerContents,
    ContentReader,
    TextContents,
    remove_denied_names,
)
from recall_bench.judging.offline.phrase import (
    Phrase,
    find_places,
    find_series,
    is_literal_in,
    level_text,
    make_literal,
)

OWN_WORDS = 2
"""An answer with more words of its own than this may be telling something."""
FOREIGN_ALLOWED = 1
"""Words about something else that a direct sentence may have though it repeats no question."""
RELEVANCE_SHARE = 0.5
"""A sentence counts beside a better one if it shares this part of the words that one shares."""

_FRAME = frozenset(
    """
    accord afraid among amount answer ask awar bear believ best came case check clear clock come
    compar conclud correct count date day detail document enter entri evid exact fact fall far
    fell figur file find follow found full gave get give given go goe going got happen have
    honest hour inde inform item kind know knowledg known list log look make mark matter mean
    memori mention mind moment month name never nobodi none note noth notic number occur one
    original place pleas point present put question read recal record refer regard rememb repli
    report requir respons result said sake say see seem set short show sort sourc speak stand
    stat state stood sum suppos sure take tell thing think time today told took total true turn
    valu want way well went word write written year yes
    """.split()
)
"""Stems of words in which answers speak of themselves, of their sources, and of what is asked."""
_PERSONAL = re.compile(
    r"\b(?:I|my|mine|me|you|your|we|us|our|sorry)\b|\b(?:not|no)\b|n't\b", re.IGNORECASE
)
_MARKED = re.compile(
    r"(?:^|[.!?]\s)\W*(?:(?:the |my |short |final |direct )*answer(?: is| to \w+(?: \w+)*)?"
    r"|to your question|as to your question|in short|in a word)\s*:",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """One sentence of an answer, weighed against the question."""

    text: str
    """Without the words that announce it as the answer."""
    levelled: str
    """The same for comparison, without the names it only denies."""
    contents: TextContents
    is_opening: bool
    is_direct: bool
    relevance: int
    """How many of the question's words it shares."""
    is_bare: bool
    """Whether it has no word about anything else at all."""


def weigh_sentences(
    account: AnswerContents, question: frozenset[str], truth: frozenset[str]
) -> list[AnswerSentence]:
    """The sentences of an answer; `question` and `truth` are stems."""
    own = question | truth
    found = []
    for place, (text, contents) in enumerate(zip(account.sentences, account.passages, strict=True)):
        foreign = {stem for stem in contents.stems - own - _FRAME if "'" not in stem}
        marked = _MARKED.search(text)
        shared = len(contents.stems & question)
        is_direct = marked is not None or len(foreign) <= max(FOREIGN_ALLOWED, shared)
        said = text[marked.end() :] if marked else text
        found.append(
            AnswerSentence(
                text=said,
                levelled=level_text(remove_denied_names(said)),
                contents=contents,
                is_opening=place == 0,
                is_direct=is_direct,
                is_bare=not foreign,
                relevance=shared,
            )
        )
    return found


def is_about_itself(account: AnswerContents, question: frozenset[str]) -> bool:
    """Whether an answer is about the one who gives it, or who gets it, and says nothing else."""
    contents = account.contents
    foreign = {stem for stem in contents.stems - question - _FRAME if "'" not in stem}
    return (
        len(foreign) <= OWN_WORDS
        and not contents.values
        and not contents.names
        and _PERSONAL.search(account.text) is not None
    )


def select_deciding(
    told: list[AnswerSentence], rival: list[AnswerSentence]
) -> list[AnswerSentence]:
    """Of the sentences that hold the right answer, and of those that hold another, which count.

    Direct ones count alone. Where there is none, the right answer counts wherever it stands, and
    another one where it bears on the question as much.
    """
    candidates = [*told, *rival]
    direct = [sentence for sentence in candidates if sentence.is_direct]
    if direct or not candidates:
        return direct
    bar = max(1.0, RELEVANCE_SHARE * max(sentence.relevance for sentence in candidates))
    return [*told, *(sentence for sentence in rival if sentence.relevance >= bar)]


NEARLY_STATED, NEARLY_QUOTED = 0.5, 0.75
"""A sentence that is direct or short must say more than this of a phrase, another still more."""
BEARS = 1 / 3
"""A bare number that neither opens the answer nor is told directly must stand among this share of
the question's words."""
_TIMES = "x"
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredPart:
    """One wanted thing in all its spellings."""

    text: str
    value: ValueAtom | None = None
    """Set where it is a value or a count."""
    is_count: bool = False
    spellings: tuple[str, ...] = ()
    """Texts that tell it; empty where only the value decides."""
    literals: tuple[str, ...] = ()
    """The same, to be looked for in a levelled sentence."""
    phrase: Phrase | None = None
    """Its words; None where they may not be others, or where there is none."""
    initials: str = ""
    """A person's name with an initial for the first."""
    asked: int = 0
    """How many content words the question has."""
    stems: frozenset[str] = field(default=frozenset())

    def is_in(self, sentence: AnswerSentence, reader: ContentReader) -> bool:
        """Whether a sentence tells it."""
        if self.value is not None:
            told = [value for value in sentence.contents.values if self._is_value(value)]
            is_sure = any(map(self._is_unmistakable, told))
            return bool(told) and (is_sure or self._is_near(sentence, reader))
        is_short = len(sentence.contents.stems) <= 2 * len(self.stems)
        bar = NEARLY_STATED if sentence.is_direct or is_short else NEARLY_QUOTED
        return self.measure_likeness(sentence, reader) > bar

    def measure_likeness(self, sentence: AnswerSentence, reader: ContentReader) -> float:
        """How much of the wanted words a sentence says, from 0 to 1."""
        if any(is_literal_in(literal, sentence.levelled) for literal in self.literals):
            return 1.0
        if self.initials and self.initials in sentence.text:
            return 1.0
        if (
            self.value
            or self.phrase is None
            or len(self.stems & sentence.contents.stems) * 3 < len(self.stems)
        ):
            return 0.0
        return self.phrase.measure_likeness(reader.read_phrase(sentence.text))

    @property
    def display(self) -> str:
        """How it is named where it is told: by its value if it is one."""
        return self.value.value if self.value is not None else self.text

    def find_rivals(self, sentence: AnswerSentence, *, is_told: bool = False) -> list[str]:
        """Values and numbers of the same kind that a sentence tells and that are not this one.

        Beside the right value only values in its own unit are.
        """
        if self.value is not None:
            rivals = [value for value in sentence.contents.values if self._is_rival(value)]
            own = _get_unit(self.value)
            return [rival.value for rival in rivals if not is_told or _get_unit(rival) == own]
        if not self.has_number:
            return []
        return list(find_series(self.literals[0], sentence.levelled))

    @property
    def has_number(self) -> bool:
        """Whether it is one of a series: words with a number among them."""
        return bool(self.literals) and _DIGIT.search(self.literals[0]) is not None

    def find_place(self, text: str) -> tuple[int, int] | None:
        """Where a plain text first tells it, in figures or in its own words."""
        if self.value is not None:
            spans = ((s, e) for atom, s, e in locate_values(text) if self._is_value(atom))
            return next(spans, None)
        return next((place for one in self.spellings for place in find_places(one, text)), None)

    def _is_value(self, value: ValueAtom) -> bool:
        if self.value is None:
            return False
        if self.is_count or (self.value.kind == QUANTITY and self.value.is_bare):
            return _is_plain_number(value) and value.core == self.value.core
        return self.value.matches(value)

    def _is_unmistakable(self, value: ValueAtom) -> bool:
        """Whether a value that is right can hardly be meant for something else."""
        if value.kind not in (QUANTITY, YEAR):
            return True
        return not _is_plain_number(value) and self.value is not None and value == self.value

    def _is_rival(self, value: ValueAtom) -> bool:
        if self.value is None or self._is_value(value):
            return False
        return self.value.is_rival_of(value)

    def _is_near(self, sentence: AnswerSentence, reader: ContentReader) -> bool:
        """Whether a bare number in the sentence may be meant."""
        is_near = sentence.is_direct or sentence.is_opening
        if is_near or sentence.relevance >= max(1, BEARS * self.asked):
            return True
        # Among other things it must count what is wanted: the row of words must be the same.
        return self.phrase is not None and self.phrase.is_within(reader.read_phrase(sentence.text))


def make_required_part(
    text: str,
    aliases: Iterable[str],
    hints: Iterable[ValueAtom],
    reader: ContentReader,
    asked: int = 0,
) -> RequiredPart:
    """What a plain text wants; hints are values that may say in full what it only says in part."""
    found, rest = reader.split_parts(text)
    others = [normalise(alias) for alias in aliases]
    is_value = len(found) == 1 and not rest and found[0].kind != IDENTIFIER
    is_count = len(found) == 1 and text[:1].isdigit() and bool(rest) and text.islower()
    if is_value or (is_count and found[0].kind in (QUANTITY, YEAR)):
        spelled = [reader.split_parts(other)[0] for other in others]
        value = _complete_value(
            found[0], [*hints, *(atoms[0] for atoms in spelled if len(atoms) == 1)]
        )
        return RequiredPart(
            text=text,
            value=value,
            is_count=is_count and value.is_bare,
            phrase=reader.read_phrase(text) if is_count else None,
            asked=asked,
            stems=reader.stem(rest),
        )
    first, last = _find_name(text)
    spellings = (text, *others, *([f"{last}, {first}"] if first else []))
    return RequiredPart(
        text=text,
        spellings=spellings,
        literals=tuple(literal for one in spellings if (literal := make_literal(one)).strip()),
        initials=f"{first[0]}. {last}" if first else "",
        phrase=reader.read_phrase(text) if _is_phrase(text) else None,
        asked=asked,
        stems=reader.stem(split_words(text)),
    )


def _complete_value(value: ValueAtom, hints: list[ValueAtom]) -> ValueAtom:
    """The value with the part that people leave out, where a hint has it."""
    if not value.is_bare:
        return value
    return next((hint for hint in hints if not hint.is_bare and value.matches(hint)), value)


def _get_unit(value: ValueAtom) -> str:
    return value.value.removeprefix(value.core) if value.kind == QUANTITY else ""


def _is_plain_number(value: ValueAtom) -> bool:
    # What looks like a year may be a count.
    if value.kind == YEAR:
        return True
    return value.kind == QUANTITY and (value.is_bare or value.value == f"{value.core} {_TIMES}")


def _find_name(text: str) -> tuple[str, str]:
    """The first names and the last of what may be a person's name; blanks if it is none."""
    parts = text.split()
    is_name = len(parts) in (2, 3) and all(part[:1].isupper() and part.isalpha() for part in parts)
    return (" ".join(parts[:-1]), parts[-1]) if is_name else ("", "")


def _is_phrase(text: str) -> bool:
    """Whether it is more than a name: people do not put names into other words."""
    content = [word for word in text.split() if word.lower() not in STOPWORDS]
    return len(content) > 1 and any(word[:1].islower() for word in content)
