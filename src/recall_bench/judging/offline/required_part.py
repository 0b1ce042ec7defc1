"""One part that a right answer contains, and whether a sentence of the answer contains it.

A part is a value (an amount, a date, a time), a count of something, or words. A value matches by
meaning; a count by its number, where the sentence counts nothing else; words by spelling, and a
phrase also by being nearly stated.

A sentence answers directly if it is about little else: most of its words are the question's, the
truth's, or such as every answer uses to speak of itself and its sources. Other sentences count as
far as they share the question's words.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from recall_bench.judging.offline.answer_sentence import (
    AnswerSentence,
)
from recall_bench.judging.offline.contents import (
    ContentReader,
    TextContents,
)
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.phrase import (
    NEGATIONS,
    Phrase,
    find_places,
    find_series,
    is_any_literal_in,
    make_literal,
)
from recall_bench.text.text import STOPWORDS, load_stemmer, normalise, split_words
from recall_bench.text.text_values import CALENDAR_WORDS
from recall_bench.text.value_patterns import WEEKDAYS, is_denied_before, normalise_clock
from recall_bench.text.values import (
    DATE,
    FRACTION,
    IDENTIFIER,
    MONTH,
    QUANTITY,
    TIME,
    YEAR,
    ValueAtom,
    is_metres_or_millions,
    locate_values,
    negate,
)

IDLE = frozenset(
    """
    answer case complet count entri have list log mark number note point put question read record
    refer repli report respons said say show stat state sum tell thing total word write written
    """.split()
)
"""Those of them that are synonyms of much else: "say" for "statement", "answer" for "counter"."""


NEARLY_STATED = 0.5
"""The share of a phrase from which on a text comes near to it."""
MIN_QUESTION_SHARE = 1 / 3
"""A bare number that neither opens the answer nor is stated directly must be among this share of
the question's words."""
SHORT_SENTENCE = 6
"""A sentence is short with at most this many content words beside those of the part."""
FEW_WORDS = 3
"""Content words of a sentence that says next to nothing beside a single word."""
WORDS_PER_MISSING_WORD = 5
"""A phrase may lack one word in this many."""
_TIMES = "x"
_DIGIT = re.compile(r"\d")
_NEGATIVE = re.compile(
    r"\b(?:loss|losses|lost|lose|losing|overdrawn|overdraft|in the red|in deficit|deficit|debit"
    r"|debt"
    r"|ow(?:e|es|ed|ing)|minus|negative|below|under|too few|too little|short(?:fall|age)?|missing"
    r"|less|fewer|down|fell|fall|drop(?:ped|s)?|decreas\w*|declin\w*|shr[aiu]nk\w*|lower\w*|behind"
    r"|colder|shorter|reduc\w*|cut)\b",
    re.IGNORECASE,
)
_POSITIVE = re.compile(
    r"\b(?:profit|gain(?:ed)?|surplus|plus|credit|above|too many|too much|over|more|ahead|rose"
    r"|ris\w*"
    r"|increas\w*|grew|up|warmer|positive|in the black)\b|(?<![\w)])\+(?=\d)",
    re.IGNORECASE,
)


_WHOLE = re.compile(r"(?:the\s)?(both|all|every|each)\b", re.IGNORECASE)
_PART_OF = r"\b(?:one|either|a single|some|most|half|few|any|several|neither|none)\b"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredPart:
    """One required part in all its spellings."""

    text: str
    value: ValueAtom | None = None
    """Set where the part is a value or a count."""
    is_count: bool = False
    spellings: tuple[str, ...] = ()
    """Texts that state it; empty where only the value decides."""
    literals: tuple[str, ...] = ()
    """The same, to search for in a levelled sentence."""
    phrase: Phrase | None = None
    """Its words; None where only the exact spelling counts."""
    words: tuple[tuple[str, str], ...] = ()
    """Each content word as the phrase has it, and as it is spelled."""
    initials: str = ""
    """A person's name with an initial for the first name,"""
    surname: str = ""
    """the last name alone,"""
    first_name: str = ""
    """and the first name alone."""
    question: TextContents | None = None
    given: frozenset[str] = frozenset()
    """The question's words, as a phrase has them."""
    stems: frozenset[str] = field(default=frozenset())

    def is_in(self, sentence: AnswerSentence, reader: ContentReader) -> bool:
        """Whether a sentence states the part."""
        if self.value is not None:
            stated = [
                value
                for value in sentence.contents.values
                if self.is_value(value) or self._is_value_below_zero(value, sentence.text)
            ]
            is_sure = any(map(self._is_unmistakable, stated))
            return bool(stated) and (is_sure or self._is_near(sentence, reader))
        if self._has_other_extent(sentence.text):
            return False
        if self._is_literal(sentence):
            return True
        if self.phrase is None:
            return self._is_misspelt_name(sentence)
        return self._is_reworded(self.phrase, sentence, reader) or self._is_opposite_of_denied(
            self.phrase, reader.read_phrase(sentence.text)
        )

    def _is_literal(self, sentence: AnswerSentence) -> bool:
        if is_any_literal_in(self.literals, sentence.levelled):
            return True
        if self.initials and self.initials in sentence.text:
            return True
        return next(self.find_surnames(sentence.text), None) is not None

    def find_surnames(self, text: str) -> Iterator[tuple[int, int]]:
        """Where a text names the person by one name alone, other than to deny it."""
        yield from self._find_first_names(text)
        if not self.surname or self.surname not in text:
            return
        for match in re.finditer(rf"(?:([\w'-]+)\.?\s)?\b({self.surname})\b(?![-\w])", text):
            before = match[1]
            is_alone = not before or not before[0].isupper() or before.lower() in STOPWORDS | TITLES
            if is_alone and not is_denied_before(text, match.start(2)):
                yield match.span(2)

    def _find_first_names(self, text: str) -> Iterator[tuple[int, int]]:
        first = self.first_name
        if not first or first not in text:
            return
        for match in re.finditer(rf"\b{first}\b(?!['-]?[\w-]*\s[A-Z]|-)", text):
            before = text[: match.start()].rstrip().rsplit(None, 1)[-1:]
            is_alone = not before or not before[0][:1].isupper() or before[0].lower() in _LEADS
            if is_alone and not is_denied_before(text, match.start()):
                yield match.span()

    def _has_other_extent(self, text: str) -> bool:
        """Whether it is said of one of the things that it has to be said of all of."""
        extent = _WHOLE.match(self.text)
        if extent is None or extent[1].lower() in text.lower() or not self.words:
            return False
        noun = re.escape(self.words[-1][1][:-1])
        return re.search(rf"{_PART_OF}(?:\s\w+){{0,3}}?\s{noun}", text, re.IGNORECASE) is not None

    def _is_reworded(self, phrase: Phrase, sentence: AnswerSentence, reader: ContentReader) -> bool:
        """Whether all words are stated, by themselves, a synonym or a misspelling.

        Words of the question need no repetition, unless there are no others.
        """
        target = reader.read_phrase(sentence.text)
        if not phrase.figures <= target.figures:
            return False
        if phrase.content - target.tokens:
            target = phrase.undo_denials(target)
        # What takes longest comes last: most sentences lack the words.
        return (
            self._holds_words(phrase, target, sentence)
            and not _is_on_other_side(phrase, target)
            and not _is_excluded(self.words, sentence.text)
            and phrase.is_denied_as_in(target)
        )

    def _holds_words(self, phrase: Phrase, target: Phrase, sentence: AnswerSentence) -> bool:
        given = self.given if phrase.content - self.given else frozenset[str]()
        # In a long sentence about other things, a synonym means something else.
        is_short = len(sentence.contents.stems) <= SHORT_SENTENCE + 2 * len(self.stems)
        is_short = is_short and sentence.relevance > 0
        if not (sentence.is_direct or sentence.is_opening or is_short):
            return phrase.content - given <= target.tokens
        missing = phrase.find_missing(target, given, IDLE | self.given)
        needed = phrase.content - given
        if not missing:
            # In a longer sentence nothing shows that a single word is meant in this sense.
            is_clear = len(needed) > 1 or len(sentence.contents.stems) <= FEW_WORDS
            return is_clear or not needed - target.tokens or _is_same(needed, target)
        if len(missing) * WORDS_PER_MISSING_WORD <= len(needed):
            return True
        spelled = dict(self.words)
        return all(
            token in spelled and self._is_misspelt(spelled[token], sentence) for token in missing
        )

    def _is_opposite_of_denied(self, phrase: Phrase, target: Phrase) -> bool:
        """Whether a sentence says "against" where this denies "for"."""
        needed = phrase.content - self.given
        if not phrase.is_denied or len(needed) != 1 or target.is_denied:
            return False
        return not load_lexicon().find_opposites(next(iter(needed))).isdisjoint(target.tokens)

    def _is_misspelt_name(self, sentence: AnswerSentence) -> bool:
        if not self.words or self.has_number:
            return False
        wrong = [word for _, word in self.words if word not in sentence.contents.words]
        return all(self._is_misspelt(word, sentence) for word in wrong)

    def _is_misspelt(self, word: str, sentence: AnswerSentence) -> bool:
        start = word[:1]
        return any(
            other[:1] == start and is_misspelling(other, word) for other in sentence.contents.words
        )

    def measure_likeness(self, sentence: AnswerSentence, reader: ContentReader) -> float:
        """The share of the required words that a sentence states, from 0 to 1."""
        if self._is_literal(sentence):
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
        """How to display it: as a value if it is one."""
        return self.value.value if self.value is not None else self.text

    def find_rivals(self, sentence: AnswerSentence, *, is_stated: bool = False) -> list[str]:
        """Other values of the same kind in a sentence.

        If the right value is stated too, only those in the unit that it is stated in.
        """
        if self.value is not None:
            rivals = [value for value in sentence.contents.values if self._is_rival(value)]
            own = {find_unit(self.value)}
            if any(self.is_value(value) and value.is_bare for value in sentence.contents.values):
                own.add("")
            return [rival.value for rival in rivals if not is_stated or find_unit(rival) in own]
        if not self.has_number:
            return []
        return list(find_series(self.literals[0], sentence.levelled))

    @property
    def is_name(self) -> bool:
        """Whether it is a name, which is not reworded."""
        return self.value is None and self.phrase is None and not self.has_number

    @property
    def is_word(self) -> bool:
        """Whether it is a single word of the language."""
        return self.value is None and self.phrase is not None and len(self.words) == 1

    @property
    def has_number(self) -> bool:
        """Whether it is one of a series: words with a number among them."""
        return bool(self.literals) and _DIGIT.search(self.literals[0]) is not None

    def find_place(self, text: str) -> tuple[int, int] | None:
        """Where a text first states it."""
        if self.value is not None:
            spans = (
                (start, end)
                for atom, start, end in locate_values(text)
                if self.is_value(atom) or self._is_value_below_zero(atom, text)
            )
            return next(spans, None)
        places = (place for one in self.spellings for place in find_places(one, text))
        return next(places, None) or next(self.find_surnames(text), None)

    def is_value(self, value: ValueAtom) -> bool:
        """Whether a value is the required one."""
        if self.value is None:
            return False
        if self.is_count or (self.value.kind == QUANTITY and self.value.is_bare):
            if is_metres_or_millions(value):
                return self.value.matches(value)
            return (_is_plain_number(value) or self.value.core[0] == "-") and (
                value.core == self.value.core
            )
        return (
            self.value.matches(value)
            or _is_short_date_or_time(value, self.value)
            or is_day_of_month(value, self.value)
        )

    def _is_value_below_zero(self, value: ValueAtom, text: str) -> bool:
        """Whether the text gives a negative value in words: "a loss of", "in the red"."""
        if self.value is None or self.value.kind != QUANTITY or self.value.core[0] != "-":
            return False
        if value.kind not in (QUANTITY, YEAR) or value.core[0] == "-":
            return False
        return (
            _NEGATIVE.search(text) is not None
            and _POSITIVE.search(text) is None
            and negate(self.value).matches(value)
        )

    def _is_unmistakable(self, value: ValueAtom) -> bool:
        """Whether a right value can hardly mean something else."""
        if value.kind not in (QUANTITY, YEAR):
            return True
        return not _is_plain_number(value) and self.value is not None and value == self.value

    def _is_rival(self, value: ValueAtom) -> bool:
        if self.value is None or self.is_value(value):
            return False
        if self.value.core[0] == "-" and value == negate(self.value):
            return True
        return self.value.is_rival_of(value)

    @property
    def _asked(self) -> int:
        """The number of content words in the question."""
        return len(self.question.stems) if self.question else 0

    def _is_near(self, sentence: AnswerSentence, reader: ContentReader) -> bool:
        """Whether a bare number in the sentence may be meant."""
        is_near = sentence.is_direct or sentence.is_opening
        if is_near or sentence.relevance >= max(1, MIN_QUESTION_SHARE * self._asked):
            return True
        # Elsewhere it must count the same thing: the row of words must be equal.
        return self.phrase is not None and self.phrase.is_within(reader.read_phrase(sentence.text))


def make_required_part(
    text: str,
    aliases: Iterable[str],
    hints: Iterable[ValueAtom],
    reader: ContentReader,
    question: str = "",
) -> RequiredPart:
    """The required part of a text; a hint may complete a value that the text states in part."""
    found, rest = reader.split_parts(text)
    others = [normalise(alias) for alias in aliases]
    is_value = len(found) == 1 and not rest and found[0].kind != IDENTIFIER
    is_count = len(found) == 1 and text[:1].isdigit() and bool(rest) and text.islower()
    asked = reader.read(question) if question else None
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
            question=asked,
            stems=reader.stem(rest),
        )
    first, last = _find_name(text)
    plural = [f"{text}s"] if text.capitalize() in WEEKDAYS else []
    spellings = (text, *others, *plural, *([f"{last}, {first}"] if first else []))
    return RequiredPart(
        text=text,
        spellings=spellings,
        literals=tuple(literal for one in spellings if (literal := make_literal(one)).strip()),
        initials=f"{first[0]}. {last}" if first else "",
        surname=_find_surname(text),
        first_name=_find_first_name(text),
        phrase=reader.read_phrase(text) if _is_phrase(text) else None,
        words=tuple(
            (" ".join(reader.read_phrase(word).row), word)
            for word in split_words(text)
            if word not in STOPWORDS
        ),
        question=asked,
        given=reader.read_phrase(question).tokens if question else frozenset(),
        stems=reader.stem(split_words(text)),
    )


def _complete_value(value: ValueAtom, hints: list[ValueAtom]) -> ValueAtom:
    """The value, completed by a hint where the text leaves a part out."""
    if value.core[0] == "-":
        hints = [negate(hint) if hint.core[0] != "-" else hint for hint in hints]
    if not value.is_bare and not is_metres_or_millions(value):
        return value
    return next((hint for hint in hints if not hint.is_bare and value.matches(hint)), value)


def is_day_of_month(value: ValueAtom, wanted: ValueAtom) -> bool:
    """Whether a date is a day of the wanted month."""
    if wanted.kind != MONTH or value.kind != DATE or value.is_bare:
        return False
    return wanted.value == f"{value.core[:2]}/{value.value[6:]}"


def _is_short_date_or_time(value: ValueAtom, wanted: ValueAtom) -> bool:
    """Whether `4/15` is the wanted day, or `1430` the wanted time."""
    if value.kind == FRACTION and wanted.kind == DATE:
        one, other = map(int, value.core.split("/"))
        return wanted.core in (f"{one:02}-{other:02}", f"{other:02}-{one:02}")
    if wanted.kind == TIME and value.is_bare and re.fullmatch(r"[12]\d[0-5]\d", value.core):
        clock = normalise_clock(value.core[:2], value.core[2:], None)
        return wanted.value in clock or wanted.core == clock[1]
    return False


def find_unit(value: ValueAtom) -> str:
    """What makes two values answers of one kind: the unit of an amount, or the kind."""
    return value.value.removeprefix(value.core) if value.kind == QUANTITY else value.kind


def _is_plain_number(value: ValueAtom) -> bool:
    # A number like 2024 may be a count.
    if value.kind == YEAR:
        return True
    return value.kind == QUANTITY and (value.is_bare or value.value == f"{value.core} {_TIMES}")


def _find_name(text: str) -> tuple[str, str]:
    """The first names and the last name if the text looks like a person's name; else blanks."""
    parts = text.split()
    is_name = len(parts) in (2, 3) and all(part[:1].isupper() and part.isalpha() for part in parts)
    return (" ".join(parts[:-1]), parts[-1]) if is_name else ("", "")


_LEADS = STOPWORDS | frozenset(
    "first firstly initially originally later finally lastly last next currently today".split()
)
"""Words before a name that begin a sentence and are no part of it."""
TITLES = frozenset("mr mrs ms miss dr prof professor sir lord lady dame frau herr captain".split())
SHORTEST_SURNAME = 3


def _find_surname(text: str) -> str:
    """The surname of a person, which tells who it is; blank for a firm or a place.

    A firm or a place has a word of the language last: "Garden Centre", but not "Iris Brandt".
    """
    parts = [part for part in text.split() if part.lower().strip(".") not in TITLES]
    is_titled = len(parts) < len(text.split())
    if not parts or len(parts) > 3 or len(parts) + is_titled < 2:
        return ""
    if not all(part.istitle() and part.replace("-", "").isalpha() for part in parts):
        return ""
    last = parts[-1]
    is_word = load_stemmer().stemWord(last.lower()) in load_lexicon()
    if len(last) < SHORTEST_SURNAME or (is_word and not is_titled):
        return ""
    return last


def _find_first_name(text: str) -> str:
    """The first name of a person with two names, if it is no word of the language; or else blank.

    A history has few people of one first name, and its own people use it.
    """
    parts = text.split()
    if len(parts) != 2 or not _find_surname(text):
        return ""
    if parts[0].lower().strip(".") in TITLES | STOPWORDS:
        return ""
    is_word = load_stemmer().stemWord(parts[0].lower()) in load_lexicon()
    return "" if is_word or len(parts[0]) < SHORTEST_SURNAME else parts[0]


def _is_phrase(text: str) -> bool:
    """Whether it is more than a name: names are not reworded."""
    return any(word[:1].islower() and word not in STOPWORDS for word in text.split())


def _is_same(needed: frozenset[str], target: Phrase) -> bool:
    """Whether another phrase has a synonym of a single word, in the narrow sense."""
    find_same = load_lexicon().find_same
    return all(not find_same(word).isdisjoint(target.tokens - IDLE) for word in needed)


def _is_on_other_side(phrase: Phrase, target: Phrase) -> bool:
    """Whether one says "before" and the other "after"; "not before" is after."""
    sides = [
        {
            (word == "before") is not (previous in NEGATIONS)
            for previous, word in pairwise(("", *each.row))
            if word in ("before", "after")
        }
        for each in (phrase, target)
    ]
    return len(sides[0]) == len(sides[1]) == 1 and sides[0] != sides[1]


def _is_excluded(words: tuple[tuple[str, str], ...], text: str) -> bool:
    """Whether a text says that not even this changes anything, or "everybody but" this."""
    # Most texts exclude nothing; only the others are searched for the word.
    if not words:
        return False
    first = words[0][1]
    if any(_opens_with(first, text[each.end() :], 0) for each in _EXEMPTS.finditer(text)):
        return True
    return len(words) == 1 and any(
        _opens_with(first, text[each.end() :], 2) for each in _EXCLUDES.finditer(text)
    )


def _opens_with(word: str, text: str, most: int) -> bool:
    """Whether a word stands at the start of a text, after at most this many others."""
    return any(other.startswith(word) for other in split_words(text)[: most + 1])


_EXEMPTS = re.compile(
    r"\b(?:every|all|any)\w*(?:\s\w+){0,3}?\s(?:except|but|excluding|apart from"
    r"|other than|save|bar)(?:\sfor)?\s(?:the\s|an?\s)?",
    re.IGNORECASE,
)
_EXCLUDES = re.compile(r"\b(?:not even|nor|regardless of|without)\b", re.IGNORECASE)


SHORTEST_MISSPELT = 5
LONG_WORD = 8
"""From this length on, two letters may be wrong instead of one."""


@lru_cache(maxsize=16384)
def is_misspelling(word: str, wanted: str) -> bool:
    """Whether a word is another one with a letter or two wrong, and not a word of its own."""
    if len(wanted) < SHORTEST_MISSPELT or not wanted.isalpha() or word == wanted:
        return False
    if word in CALENDAR_WORDS:
        return False
    most = 2 if len(wanted) >= LONG_WORD else 1
    if abs(len(word) - len(wanted)) > most or load_stemmer().stemWord(word) in load_lexicon():
        return False
    return _count_edits(word, wanted) <= most


def _count_edits(one: str, other: str) -> int:
    """Letters added, left out, replaced or exchanged with their neighbour."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for place, letter in enumerate(one, start=1):
        row = [place]
        for at, wanted in enumerate(other, start=1):
            cost = min(last[at] + 1, row[-1] + 1, last[at - 1] + (letter != wanted))
            is_swap = place > 1 and at > 1 and letter == other[at - 2] and one[place - 2] == wanted
            row.append(min(cost, before[at - 2] + 1) if is_swap else cost)
        before, last = last, row
    return last[-1]
