"""The comparable parts of a text: values, names, content words, and citations apart."""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from recall_bench.text.cued_pattern import CuedPattern
from recall_bench.text.number_words import ROUND_NUMBERS
from recall_bench.text.text import STOPWORDS, Stems, split_normalised, split_words
from recall_bench.text.values import ValueAtom, find_values, locate_values, split_values
from recall_bench.text.word_cache import WordCache

_CAPITALISED = re.compile(r"[A-Z](?<![\w@/].)[A-Za-z]*(?![\w@]|-\d)")
"""Its first sign is a set of letters, which is found fastest."""
_SENTENCE_OPENING = re.compile(r'(?:^|[.!?:;|>#\n]|\n\s*(?:-|\d+[.)]))[\s"\'(\[-]*$')
_NOT_NAMES = (
    STOPWORDS
    | frozenset(
        """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december mon tue wed thu fri sat sun jan feb mar apr
    jun jul aug sep sept oct nov dec am pm est pst utc ok inc ltd llc corp co usd eur gbp
    mondays tuesdays wednesdays thursdays fridays saturdays sundays gmt bst cet cest edt pdt cst
    mr mrs ms dr never nope nothing nobody none somebody yep yeah sure minus plus negative
    answer source sources note notes summary result total reason reply question reference
    celsius fahrenheit swiss christmas easter halloween
    one two three four five six seven eight nine ten eleven twelve first second third
    """.split()
    )
    | frozenset(ROUND_NUMBERS)
)
_GOES_ON = re.compile(r"'s|\s?[A-Z][\w.]")
_DENIAL_CUES = ("ot ", "n't ", "o longer ", "ather than ", "nstead of ")
_DENIAL = r"\b(?:[Nn]ot|\w+n't|no longer|[Rr]ather than|[Ii]nstead of)"
_LEAD = r"(?:by|to|with|for|from|the|be|been)"
_DENIED_NAME = re.compile(rf"{_DENIAL}\s(?:{_LEAD}\s){{0,2}}[A-Z][\w'-]*(?:\s[A-Z][\w'-]*){{0,3}}")
_CUT_DENIAL = re.compile(rf"({_DENIAL}(?:[ ]{_LEAD}){{0,2}})[ ]?\n[\s>*-]*")
"""A denial whose name is on the next line."""


def remove_denied_names(text: str) -> str:
    """The text without names it mentions only to deny them: "not Owen Pike but Nell"."""
    # Most sentences deny nothing, and a substring search is faster than a pattern. The case counts
    # here, so this is no `CuedPattern`.
    for cue in _DENIAL_CUES:
        if cue in text:
            return _DENIED_NAME.sub(" ", text)
    return text


FEW_BLANKS = 3
"""A text with fewer may be nothing but a name."""


def find_names(text: str) -> Iterator[str]:
    """The words of proper names in a normalised text, lower case, in order, repeats included.

    A capital makes a word a name. At the start of a sentence it must also be part of a row of
    capitalised words, have a possessive, or be the whole text.
    """
    is_alone = text.count(" ") < FEW_BLANKS and text.strip(" .!?").istitle()
    for match in _CAPITALISED.finditer(text):
        word = match[0].lower()
        if word in _NOT_NAMES or len(word) < 2:
            continue
        if (
            is_alone
            or not _is_sentence_opening(text, match.start())
            or _GOES_ON.match(text, match.end())
        ):
            yield word


def _is_sentence_opening(text: str, start: int) -> bool:
    return _SENTENCE_OPENING.search(text[max(0, start - 8) : start]) is not None


_ISO = r"\d{4}-\d\d-\d\d"
_CITED_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_CITED_DATE = rf"(?:{_ISO}|\d\d?\s{_CITED_MONTH}\s\d{{4}}|{_CITED_MONTH}\s\d\d?,?\s\d{{4}})"
_DATED_LINE = re.compile(rf"[ \t>-]{{0,20}}(?:On\s)?({_ISO})\b[^:\n]{{0,80}}:")
_NOTED_DATE = (
    rf"(?:{_ISO}|\d\d?(?:st|nd|rd|th)?\s{_CITED_MONTH}(?:\s\d{{4}})?"
    rf"|{_CITED_MONTH}\s\d\d?(?:st|nd|rd|th)?(?:,?\s\d{{4}})?)"
)
_NOTE = (
    r"(?:notes?|logs?|entry|entries|records?|diary|minutes|messages?|e?mails?|report|review|letter)"
)
_CITATION = CuedPattern(
    rf"""
      ^[ \t>-]{{0,20}}(?:On\s)?(?:{_CITED_DATE}|day[\s-]\d+)\s*(?:\([^()\n]*\))?\s*:
    | \((?:sources?|see|from(?!\s[$€£]?\d+(?:[.,]\d+)?\s?%?\))|cf)\b[^()]{{0,400}}\)
    | \[(?:sources?|see|from|cf)\b[^\]]{{0,400}}\]
    | \bsources?:[^\n]*
    | [(\[]\s?(?:(?:{_CITED_DATE}|day[\s-]\d+)(?:\.md)?[\s,;]{{0,3}}){{1,20}}[)\]]
    | (?<![\w-])(?:{_ISO}|day-\d+)\.md\b
    """,
    *("source", ":", "(", "[", ".md"),
    flags=re.VERBOSE | re.MULTILINE,
)
_DIGIT = re.compile(r"\d")
_UNDATED = CuedPattern(r"source|[(\[](?:see|from|cf)", "source", "(", "[")
"""A citation without a digit holds this."""
_NOTE_CITATION = CuedPattern(
    rf"""\b(?:
      {_NOTE}\s(?:dated|of|from|for|on)\s(?:the\s)?{_NOTED_DATE}
    | (?:noted|logged|recorded|written|reported)\son\s{_NOTED_DATE}
    | (?=[\djfmasond]){_NOTED_DATE}\s{_NOTE}
    )\b""",
    *("note", "log", "entry", "entries", "record", "diary", "minutes", "message", "mail", "report"),
    *("review", "letter", "written"),
    flags=re.VERBOSE,
)
_OFFER = CuedPattern(
    r"\b(?:If you(?:'d| would)? (?:want|like|need)|Let me know|Would you like|Do you want)\b[^\n]*",
    *("if you", "let me know", "would you like", "do you want"),
)
_NAMES_A_MARK = re.compile(r"[:=]\s*[\"']?(?:\d|[A-Za-z]+\W*$)", re.MULTILINE)
_SELF_GRADE = re.compile(
    r"\b(?:correctness|completeness|grounded(?:ness)?|hallucination|score|grade|marks?|label"
    r"|rating|verdict)\b[\"']?\s*[:=]\s*[\"']?[\w./]+[\"'},]*",
    re.IGNORECASE,
)


def split_citations(text: str) -> tuple[str, str]:
    """The text without citations, offers of help and marks for itself; and the citations alone."""
    cited: list[str] = []

    def remove(match: re.Match[str]) -> str:
        cited.append(match[0])
        return " "

    if _NAMES_A_MARK.search(text):
        text = _SELF_GRADE.sub(" ", text)
    body = _OFFER.sub(" ", text)
    has_digit = _DIGIT.search(body) is not None
    if has_digit or _UNDATED.search(body):
        body = _CITATION.sub(remove, body)
    if has_digit:
        body = _NOTE_CITATION.sub(remove, body)
    return body, " ; ".join(cited)


_PIECE = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.,:]\d+)*")


def _level_word(word: str) -> str:
    return " ".join(_PIECE.findall(word))


_LEVELLED = WordCache(_level_word, most=32768)


def level_text(text: str) -> str:
    """The words and numbers of a normalised text in lower case, a blank around each."""
    return f" {' '.join(filter(None, map(_LEVELLED.__getitem__, text.lower().split())))} "


class TextContents(msgspec.Struct, frozen=True, gc=False):
    """The comparable parts of one text."""

    values: tuple[ValueAtom, ...]
    """Amounts, dates, times and identifiers that it claims, each once, in order."""
    names: frozenset[str]
    """The words of the proper names that it claims, lower case."""
    words: frozenset[str]
    """All words outside values and denied names, lower case."""
    stems: frozenset[str]
    """The stems of the content words among them."""

    def holds(self, atom: ValueAtom) -> bool:
        """Whether one of the values may be the same as this one."""
        for value in self.values:  # noqa: SIM110 - twice as fast as any()
            if atom.matches(value):
                return True
        return False


class LineContents(msgspec.Struct, frozen=True, gc=False):
    """One line of an answer."""

    text: str
    dated: str
    """The date that the line opens with, if it is a quotation; or else blank."""
    sentences: tuple[str, ...]
    passages: tuple[TextContents, ...]
    names: frozenset[str]
    cited: tuple[ValueAtom, ...]


class AnswerContents(msgspec.Struct, frozen=True, gc=False):
    """An answer, as a whole and sentence by sentence."""

    text: str
    """Normalised, without citations."""
    sentences: tuple[str, ...]
    """The sentences and list entries of the text, in order."""
    contents: TextContents
    passages: tuple[TextContents, ...]
    """The values and words of each sentence; names are only in `contents`."""
    cited: tuple[ValueAtom, ...]
    """The values that occur in citations."""
    lines: tuple[LineContents, ...] = ()


TEXT_CACHE = 512
"""Other texts kept in memory: questions, and parts of truths. Most come again at once."""
LINE_CACHE = 1024
"""Lines of answers kept in memory."""


class ContentReader:
    """Extracts contents from normalised texts."""

    def __init__(self) -> None:
        self._stems = Stems()
        self.read = lru_cache(maxsize=TEXT_CACHE)(self._read)
        # Systems that quote give the same lines at every checkpoint.
        self._read_line = lru_cache(maxsize=LINE_CACHE)(self._read_new_line)

    def _read(self, text: str) -> TextContents:
        """The contents of a text."""
        whole = self.read_values_and_words(text)
        return replace(whole, names=frozenset(find_names(remove_denied_names(text))))

    def read_answer(self, text: str) -> AnswerContents:
        """What an answer states, and what it cites."""
        if "\n" in text:
            text = _CUT_DENIAL.sub(r"\1 ", text)
        lines = [line for line in text.split("\n") if line.strip()]
        read = [self._read_line(line) for line in lines]
        passages = tuple(passage for line in read for passage in line.passages)
        whole = join_contents(passages)
        body = "\n".join([line.text for line in read])
        if len(read) == 1 and body.count(" ") < FEW_BLANKS:
            names = frozenset(find_names(remove_denied_names(body)))
        else:
            names = frozenset[str]().union(*(line.names for line in read))
        return AnswerContents(
            text=body,
            sentences=tuple(sentence for line in read for sentence in line.sentences),
            contents=replace(whole, names=names),
            passages=passages,
            cited=tuple(dict.fromkeys(value for line in read for value in line.cited)),
            lines=tuple(read),
        )

    def _read_new_line(self, line: str) -> LineContents:
        body, citations = split_citations(line)
        sentences = tuple(split_normalised(body))
        dated = _DATED_LINE.match(line)
        return LineContents(
            text=body,
            dated=dated[1] if dated else "",
            sentences=sentences,
            passages=tuple(map(self.read_values_and_words, sentences)),
            names=frozenset(find_names(remove_denied_names(f"{body} "))),
            cited=tuple(find_values(citations)) if citations else (),
        )

    def read_values_and_words(self, text: str) -> TextContents:
        """The contents of a text but for its names."""
        claimed, found_words = self.split_claims(text)
        return TextContents(
            values=tuple(dict.fromkeys(claimed)),
            names=frozenset(),
            words=frozenset(found_words),
            stems=self.stem(found_words),
        )

    def split_claims(self, text: str) -> tuple[list[ValueAtom], list[str]]:
        """The values that a text claims, and its words outside values and denied names."""
        claimed, rest = split_values(text)
        return claimed, split_words(remove_denied_names(rest))

    def split_parts(self, text: str) -> tuple[list[ValueAtom], list[str]]:
        """The values of a text, denied or not, and the content words beside them."""
        found, rest = locate_values(text), list[str]()
        end = 0
        for _, start, past in found:
            rest += split_words(text[end:start])
            end = past
        rest += split_words(text[end:])
        return [atom for atom, _, _ in found], [word for word in rest if word not in STOPWORDS]

    def stem(self, found: Iterable[str]) -> frozenset[str]:
        """The stems of the content words among these."""
        return frozenset(self._stems.stem(found))


def join_contents(parts: Collection[TextContents]) -> TextContents:
    """The contents of several texts together."""
    nothing = frozenset[str]()
    return TextContents(
        values=tuple(dict.fromkeys(value for part in parts for value in part.values)),
        names=nothing.union(*(part.names for part in parts)),
        words=nothing.union(*(part.words for part in parts)),
        stems=nothing.union(*(part.stems for part in parts)),
    )
