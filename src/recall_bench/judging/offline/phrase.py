"""Phrases compared word by word, and literals found in any case, spacing or hyphenation.

British and American spellings, contractions, and numbers in words or figures are equal. A different
number or ordinal makes a different phrase, and so does a negation more or less.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from recall_bench.judging.offline.lexicon import PARTICLES, load_lexicon
from recall_bench.text.cued_pattern import CuedPattern
from recall_bench.text.number_words import SMALL_ORDINALS
from recall_bench.text.text import STOPWORDS, WORD, Stems, split_words
from recall_bench.text.values import locate_values
from recall_bench.text.word_cache import WordCache

_ARTICLE = re.compile(r"(?:an?|the|that|our|its)\s+", re.IGNORECASE)
_PIECE = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.,:]\d+)*")
_ASCII_PIECE = re.compile(r"[a-z]+(?:'[a-z]+)?|[0-9]+(?:[.,:][0-9]+)*")
"""The same in lower-case ASCII."""
_LITERAL_DENIAL = re.compile(
    r" (?:not|\w+n't|no longer|rather than|instead of|never"
    r"|(?:every|all|any)\w*(?: \w+){0,3} (?:except|but|excluding|apart|other|save|bar)(?: for)?)"
    r"(?: (?:at|on|by|for|in|to|with|the|an?|about|from|be|been|even|go"
    r"|going|come|become|get)){0,3}$"
)
_DENIAL_REACH = 48


def level_text(text: str) -> str:
    """The words and numbers of a normalised text in lower case, a blank around each."""
    return f" {' '.join(filter(None, map(_LEVELLED.__getitem__, text.lower().split())))} "


def _level_word(word: str) -> str:
    """The levelled form of what stands between two blanks."""
    return " ".join((_ASCII_PIECE if word.isascii() else _PIECE).findall(word))


_LEVELLED = WordCache(_level_word, most=32768)

LINE_CACHE = 16384
"""Lines of histories kept levelled."""
LONGEST_LINE = 2000
"""The characters of a line that is kept."""


def level_lines(text: str) -> str:
    """The same as `level_text`, for a log: an index of its history reads the same lines."""
    lines = text.split("\n")
    is_kept = max(map(len, lines)) <= LONGEST_LINE
    levelled = map(str.strip, map(_level_line if is_kept else level_line, lines))
    return f" {' '.join(filter(None, levelled))} "


def level_line(line: str) -> str:
    """The same for one line: those of a log are read by several indexes, and on many days."""
    return _level_line(line) if len(line) <= LONGEST_LINE else level_text(line)


_level_line = lru_cache(maxsize=LINE_CACHE)(level_text)


def make_literal(text: str) -> str:
    """The levelled form of a text to search for; blank if it has no word."""
    return level_text(_strip_article(text))


def is_any_literal_in(literals: Iterable[str], target: str) -> bool:
    """Whether a levelled text holds one of the literals, other than to deny it.

    What denies a full name denies the last name in it too.
    """
    stated: list[tuple[int, int]] = []
    denied: list[tuple[int, int]] = []
    for literal in literals:
        start = target.find(literal)
        while start >= 0:
            before = target[max(0, start - _DENIAL_REACH) : start]
            found = denied if _LITERAL_DENIAL.search(before) else stated
            found.append((start, start + len(literal)))
            start = target.find(literal, start + 1)
    return any(
        not any(first <= start and end <= last for first, last in denied) for start, end in stated
    )


def find_series(literal: str, target: str) -> Iterator[str]:
    """Other members of the literal's series in a levelled text: `bay 9` for `bay 8`."""
    parts = literal.split()
    if parts[0][0].isdigit() or f" {parts[0]} " not in target:
        return
    size, found = len(parts), target.split()
    for at in range(len(found) - size + 1):
        row = found[at : at + size]
        if row != parts and all(map(_is_alike, row, parts)):
            yield " ".join(row)


def find_places(text: str, target: str) -> Iterator[tuple[int, int]]:
    """The spans where a text occurs in another."""
    if text.isascii() and target.isascii():
        # A pattern takes longer to compile than to search for.
        return _find_rows(_split_literal(text), target.lower())
    pattern = _compile_literal(_strip_article(text))
    return (match.span() for match in pattern.finditer(target)) if pattern else iter(())


@lru_cache(maxsize=4096)
def _split_literal(text: str) -> tuple[str, ...]:
    return tuple(_ASCII_PIECE.findall(_strip_article(text).lower()))


def _find_rows(pieces: tuple[str, ...], target: str) -> Iterator[tuple[int, int]]:
    """The spans that `_compile_literal` finds, in lower-case ASCII."""
    start = target.find(pieces[0]) if pieces else -1
    while start >= 0:
        end = _find_row_end(pieces, target, start)
        if end:
            yield start, end
        start = target.find(pieces[0], end or start + 1)


def _find_row_end(pieces: tuple[str, ...], target: str, start: int) -> int:
    """The end of the pieces in a row, up to three signs between them; 0 if they are not there."""
    if start and (target[start - 1] == "-" or _is_of_word(target[start - 1])):
        return 0
    end = start + len(pieces[0])
    for piece in pieces[1:]:
        gap = end
        while not target.startswith(piece, end):
            if end == gap + MOST_BETWEEN or end == len(target) or _is_of_word(target[end]):
                return 0
            end += 1
        end += len(piece)
    following = target[end : end + 2]
    if not following:
        return end
    is_inside = following[0] == "-" and _is_of_word(following[1:])
    is_figure = following[0] in ".,:" and following[1:].isdigit()
    return 0 if _is_of_word(following[0]) or is_inside or is_figure else end


def _is_of_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


MOST_BETWEEN = 3
"""The most signs between two words of a literal."""


def _is_alike(one: str, other: str) -> bool:
    return one == other or (one[0].isdigit() and other[0].isdigit())


def _strip_article(text: str) -> str:
    return _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text


@lru_cache(maxsize=4096)
def _compile_literal(text: str) -> re.Pattern[str] | None:
    pieces = _PIECE.findall(text)
    if not pieces:
        return None
    joined = rf"[^\w]{{0,{MOST_BETWEEN}}}".join(map(re.escape, pieces))
    return re.compile(rf"(?<![\w-]){joined}(?![\w])(?![.,:]\d)(?!-\w)", re.IGNORECASE)


FIGURE_WEIGHT, CONTENT_WEIGHT, SMALL_WEIGHT = 1.0, 1.0, 0.25
"""What a number, a content word and a word such as "of" weigh in a phrase."""

_REWRITES = (
    (CuedPattern(r"\bcan(?:not|'t)\b", "cannot", "can't"), "can not"),
    (CuedPattern(r"\bwon't\b", "won't"), "will not"),
    (CuedPattern(r"n't\b", "n't"), " not"),
    (CuedPattern(r"'(?:re|ve|ll|d|m)\b", "'"), " "),
    (CuedPattern(r"\b(it|there|that|what|who)'s\b", "'s"), r"\1 is"),
    (CuedPattern(r"\bwithout\b", "without"), "with no"),
    (CuedPattern(r"\bno one\b", "no one"), "nobody"),
    (CuedPattern(r"\bone(?=\s(?:minute|hour|day|week|month|year)\b)", "one"), "a"),
    (CuedPattern(r"(?<=\w)-(?=(?-i:[a-z]))", "-"), " "),
    (CuedPattern(r"&", "&"), " and "),
    (
        CuedPattern(
            r"\b(?:from the moment|the (?:moment|minute|instant)|as soon as)\b",
            *("the moment", "the minute", "the instant", "as soon as"),
        ),
        "when",
    ),
    (
        CuedPattern(r"(?:^|(?<=\bis )|(?<=\bnow )|(?<=\ball ))for it(?=[.,;!]|$)", "for it"),
        "in favor",
    ),
)
_REWRITE_CUES = (
    *("'", "-", "one", "&", "cannot", "without", "the moment", "the minute", "the instant"),
    *("as soon as", "for it"),
)
"""A text that holds none of these stays as it is."""


def _rewrite(text: str) -> str:
    """A text with its contractions and some phrases in one form."""
    if not text.isascii():
        for pattern, instead in _REWRITES:
            text = pattern.sub(instead, text)
        return text
    lower = text.lower()
    for cue in _REWRITE_CUES:
        if cue in lower:
            break
    else:
        return text
    for pattern, instead in _REWRITES:
        if pattern.has_cue_in(lower):
            text = pattern.pattern.sub(instead, text)
            lower = text.lower()
    return text


_SPELLINGS = (
    (re.compile(r"(?<=[a-z]{2})our(?=s|ed|ing|ite|able|less|$)"), "or"),
    (re.compile(r"(?<=[a-z]{3})is(?=e|ed|es|er|ing|ation)"), "iz"),
    (re.compile(r"(?<=[a-z]{2})tre(?=s?$)"), "ter"),
    (re.compile(r"ll(?=ed$|ing$|or$|er$|ors$|ers$)"), "l"),
    (re.compile(r"^grey"), "gray"),
    (re.compile(r"^sceptic"), "skeptic"),
    (re.compile(r"^licence"), "license"),
    (re.compile(r"^(every|some|any)one$"), r"\1body"),
    (re.compile(r"^till$"), "until"),
)
NEGATIONS = frozenset({"not", "no", "never", "nobody", "nothing", "none", "neither", "nor"})
_NO_CONTENT = STOPWORDS | NEGATIONS


_DENIAL_WORDS = 4
"""A negation denies a word that follows within this many."""


class Phrase(msgspec.Struct, frozen=True, gc=False):
    """A row of comparable words."""

    row: tuple[str, ...]
    figures: frozenset[str]
    content: frozenset[str]
    tokens: frozenset[str]
    """The words, and each verb with its particle."""

    @property
    def weight(self) -> float:
        """The weight of all words."""
        return sum(map(_weigh_word, self.row))

    @property
    def is_denied(self) -> bool:
        """Whether the phrase is negated."""
        return _is_odd(self.row)

    def is_denied_as_in(self, target: "Phrase") -> bool:
        """Whether the part of the other that has most of these words is negated like this one."""
        _, first, last = _find_longest_row(self.row, target.row)
        if first < last:
            # A phrase is denied by what stands before it; a single word also from farther away.
            if len(self.content) > 1:
                first = _skip_small_words(target.row, first)
            first = max(0, first - (_DENIAL_WORDS if len(self.content) == 1 else 1))
            # "wanted no slides" denies that they were wanted
            last += len(self.content) == 1 and target.row[last : last + 1] == ("no",)
        return _is_odd(target.row[first:last]) is self.is_denied

    def is_within(self, target: "Phrase") -> bool:
        """Whether the other phrase contains this row of words."""
        size, row = len(self.row), target.row
        return any(row[at : at + size] == self.row for at in range(len(row) - size + 1))

    def find_missing(
        self,
        target: "Phrase",
        given: frozenset[str] = frozenset(),
        idle: frozenset[str] = frozenset(),
    ) -> set[str]:
        """The content words, without the given ones, that the other states in no form.

        A synonym states a word, unless it is idle: one that stands in any answer. A figure, a name
        and a negation are stated by themselves only.
        """
        lexicon = load_lexicon()
        stated = target.tokens - idle
        return {
            word
            for word in self.content - target.tokens - given
            if word.startswith("=")
            or (lexicon.find_alike(word).isdisjoint(stated) and not _is_pair_stated(word, stated))
        }

    def undo_denials(self, target: "Phrase") -> "Phrase":
        """The other phrase with "not tight" as "loose", where this one has "loose"."""
        if NEGATIONS.isdisjoint(target.tokens):
            return target
        row = list(target.row)
        for word in sorted(self.content - target.tokens):
            opposites = load_lexicon().find_opposites(word)
            for place, other in enumerate(row):
                near = range(max(0, place - _DENIAL_WORDS), place)
                denial = next((at for at in near if row[at] in NEGATIONS), None)
                if other in opposites and denial is not None:
                    row[place], row[denial] = word, "the"
        changed = frozenset(row) - frozenset(target.row)
        return replace(
            target,
            row=tuple(row),
            content=target.content | changed,
            tokens=target.tokens | changed,
        )

    def measure_likeness(self, target: "Phrase") -> float:
        """The share of this phrase that the other one states, from 0 to 1."""
        if any(target.row.count(figure) < self.row.count(figure) for figure in self.figures):
            return 0.0
        shared = self.content & target.content
        if not shared and self.content:
            return 0.0
        in_row, first, last = _find_longest_row(self.row, target.row)
        if _is_odd(target.row[first:last]) is not self.is_denied:
            return 0.0
        by_words = sum(map(_weigh_word, shared)) / (sum(map(_weigh_word, self.content)) or 1.0)
        return max(in_row / (self.weight or 1.0), by_words if len(self.content) > 1 else 0.0)


def _is_pair_stated(word: str, stated: frozenset[str]) -> bool:
    """Whether a verb with a particle is stated by a synonym of the verb and the same particle."""
    verb, _, particle = word.partition(" ")
    if particle not in stated:
        return False
    return verb in stated or not load_lexicon().find_alike(verb).isdisjoint(stated)


PHRASE_CACHE = 2048
"""Texts kept in memory."""


class PhraseReader:
    """Reads phrases and caches the words it has seen."""

    def __init__(self, stems: Stems) -> None:
        self._stems = stems
        self._known = WordCache(self._reduce, most=32768)
        self.read = lru_cache(maxsize=PHRASE_CACHE)(self._read)
        self.locate_tokens = lru_cache(maxsize=PHRASE_CACHE)(self._locate_tokens)

    def _read(self, text: str) -> Phrase:
        """The phrase of a normalised text."""
        text = _rewrite(text)
        reduce = self._known.__getitem__
        row: list[str] = []
        end = 0
        for atom, start, past in locate_values(text):
            if start > end:
                row += map(reduce, split_words(text[end:start]))
            row.append(f"={atom.measure or atom.core}")
            end = past
        row += map(reduce, split_words(text[end:]))
        tokens = frozenset(row)
        content = tokens - _NO_CONTENT
        if not tokens.isdisjoint(PARTICLES):
            pairs = [pair for pair in _pair_verbs(row) if pair in load_lexicon()]
            tokens = tokens.union(pairs)
            content = content.union(pairs).difference(pair.partition(" ")[0] for pair in pairs)
        figures = frozenset([word for word in content if word[0] == "="])
        return Phrase(tuple(row), figures, content, tokens)

    def _locate_tokens(self, text: str) -> list[tuple[str, int, int]]:
        """Each word of a normalised text in its reduced form, with its start and end."""
        known = self._known
        return [
            (known[match[0].removesuffix("'s")], match.start(), match.end())
            for match in WORD.finditer(text.lower())
        ]

    def _reduce(self, word: str) -> str:
        if word in STOPWORDS or word in NEGATIONS:
            return word
        if word in SMALL_ORDINALS:
            return f"={SMALL_ORDINALS[word]}"
        for pattern, instead in _SPELLINGS:
            word = pattern.sub(instead, word)
        return next(iter(self._stems.stem([word])), word)


_PARTICLE_REACH = 3


def _pair_verbs(row: list[str]) -> Iterator[str]:
    """Each word with a particle that follows: "turn down" in "turned it down"."""
    for place, word in enumerate(row):
        if word in PARTICLES:
            for before in row[max(0, place - _PARTICLE_REACH) : place]:
                if before not in STOPWORDS:
                    yield f"{before} {word}"


_SMALL_WORDS = frozenset("a an the any at by for from in into of on to with".split())


def _skip_small_words(row: Sequence[str], place: int) -> int:
    """The place before the prepositions and articles that lead up to a place: "never with the"."""
    least = max(0, place - _DENIAL_WORDS)
    while place > least and row[place - 1] in _SMALL_WORDS:
        place -= 1
    return place


def _weigh_word(word: str) -> float:
    if word.startswith("="):
        return FIGURE_WEIGHT
    return SMALL_WEIGHT if word in STOPWORDS else CONTENT_WEIGHT


def _is_odd(row: Sequence[str]) -> bool:
    return sum(word in NEGATIONS for word in row) % 2 == 1


def _find_longest_row(row: Sequence[str], target: Sequence[str]) -> tuple[float, int, int]:
    """The heaviest common row of words, and where it starts and ends in the second."""
    best = [(0.0, len(target), 0)] * (len(target) + 1)
    for word in row:
        weight = _weigh_word(word)
        diagonal = best[0]
        for place, other in enumerate(target, start=1):
            above = best[place]
            if word == other:
                total, first, _ = diagonal
                taken = (total + weight, min(first, place - 1), place)
                best[place] = max(taken, above, best[place - 1], key=_get_total)
            elif best[place - 1][0] > above[0]:
                best[place] = best[place - 1]
            diagonal = above
    return best[-1]


def _get_total(row: tuple[float, int, int]) -> float:
    return row[0]
