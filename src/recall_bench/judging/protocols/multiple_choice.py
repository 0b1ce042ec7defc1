"""Multiple choice: which option an answer names, and whether it is the right one.

`choice/letter` is ours, and strict: it reads a letter only where the answer plainly names one
option, and an answer it cannot read is wrong, never a guess. In order:

1. What the answer announces: "the answer is (c)", "Answer: C", "the best option is C because ...",
   "I choose C", PersonaMem's `<final_answer>(c)`, any of these with an option's whole text in place
   of the letter, and whatever other letters the same sentence adds ("... or (d)").
2. If it announces nothing, the letters that its lines begin with ("C", "C.", "c) ...", "(c) ..."),
   every letter before a closing parenthesis, and an option's text if that is the whole answer or
   all that follows the letter.

A letter that is plainly denied ("not (a)", "(a) is wrong") does not count.

One option named, however often, is the choice; two are none. Letters are read in either case, marks
of emphasis and quotation are ignored, and a letter that is not on offer counts as another option.
In running text a bare letter is not read: "A good friend" names nothing. A text that two options
share, as in 8 of the 270 questions of PersonaMem's 128k sample, names neither without its letter.

`personamem/official` is PersonaMem's own reading. The letters of a text are a to d in parentheses,
or if there are none, those that stand as words of their own: the article in "a friend" is read as
(a). An answer is right if these are the right letter and no other, either in what follows the last
`<final_answer>` or in the whole answer. So "(a) fits. <final_answer>b" is right for A and for B.

The details hold `read`, the letter, unless none could be read, and `chance`, what guessing gets:
one over the number of options, 0.25 for the four of PersonaMem and MemBench.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from recall_bench.core.errors import Malformed
from recall_bench.core.scenario import Item
from recall_bench.judging.protocols.protocol import (
    ComputedProtocol,
    ProtocolCard,
    ProtocolScore,
    Submission,
)

_EMPHASIS = re.compile(r"[*`\"“”„]")
_ENCLOSED = r"[(\[]\s*([a-z])\s*[)\]]"
_BARE = r"([a-z])\)?(?=\s*(?:$|[.,;:!?<\n])|\s+(?:because|since|as|given|due|based)\b)"
_LETTER = rf"(?:{_ENCLOSED}|{_BARE})"

_ANNOUNCEMENT = re.compile(
    r"(?:<final_answer>"
    r"|\b(?:answer|option|choice|response)(?:\s+(?:is|would\s+be|should\s+be)\b\s*:?|\s*[:=])"
    r"|\b(?:i|we)(?:\s+would|['’]d|\s+will|['’]ll)?\s+(?:choose|chose|pick|select|go\s+with)\b)"
    r"\s*(?:(?:option|choice|answer|letter)\b\s*)?"
)
_NAMED_LETTER = re.compile(_LETTER)
_ALSO = re.compile(rf"\s*(?:,|/|&|\bor\b|\band\b)\s*(?:(?:or|and)\b\s*)?{_LETTER}")
_LEADING = re.compile(
    r"^(?:(?:option|choice|letter) )?\(? ?([a-z]) ?(?:\)|\]|[.:](?= |$)| [-–—] |$) ?", re.MULTILINE
)
_MENTION = re.compile(r"(?<![\w(\['’])[(\[]?\s?([a-z])\s?[)\]]")
_CLAUSE_END = re.compile(r"[.,;:!?\n—–]")
_SENTENCE_END = re.compile(r"[.;!?\n]")
_DENIALS = frozenset(
    "not no never neither nor isn't isnt wasn't cannot can't don't doesn't except excluding unlike"
    " than instead rejected reject wrong incorrect false".split()
)
_DENIAL_WORDS = 3
"""A denial is among this many words before or after the letter: "not the option (a)"."""
_DENIAL_CHARACTERS = 60
"""Room for that many words of English; a bound on the work for long answers."""
_CLOSING_TAG = "</final_answer>"
_MAX_TRIMMED = 2 * len(_CLOSING_TAG)
"""How much longer than an option's text a quotation of it may be: a closing tag, and as much
punctuation."""
_OFFICIAL_ENCLOSED = re.compile(r"\(([a-d])\)")
_OFFICIAL_BARE = re.compile(r"\b([a-d])\b")

# The digests cover the rules that are named here. The others (emphasis, ends of clauses and
# sentences, the bounds above, what is trimmed, PersonaMem's patterns) are tied to the versions by
# `test_readings_move_only_with_a_new_version`.

STRICT = ProtocolCard.declare(
    "choice/letter",
    "1",
    "announcements first, then leading and enclosed letters and whole option texts; unanimous",
    _ANNOUNCEMENT.pattern,
    _NAMED_LETTER.pattern,
    _ALSO.pattern,
    _LEADING.pattern,
    _MENTION.pattern,
    " ".join(sorted(_DENIALS)),
)
PERSONAMEM = ProtocolCard.declare(
    "personamem/official",
    "1",
    "letters a to d after the last <final_answer>, else anywhere; enclosed, else bare; exactly one",
)


def parse_options(options: list[str]) -> dict[str, str]:
    """PersonaMem's options, which begin "(a) ", as letter to text."""
    found: dict[str, str] = {}
    for option in options:
        mark = re.match(r"\s*\(([a-zA-Z])\)\s*", option)
        if mark is None or mark[1].upper() in found:
            raise Malformed(
                "options", f"each begins with its own letter like '(a)'; got {option!r:.80}"
            )
        found[mark[1].upper()] = option[mark.end() :]
    return found


def read_choice(answer: str, options: Mapping[str, str]) -> str | None:
    """The one option that the answer names, as a capital letter; None if it is none or several."""
    text, offered = _normalise_lines(answer), _ChoiceOptions(options)
    named = set(_find_announcements(text, offered)) or set(_find_mentions(text, offered))
    if len(named) != 1:
        return None
    letter = named.pop()
    return letter.upper() if letter in offered.letters else None


def grade_strictly(submission: Submission) -> ProtocolScore:
    """1 for an answer that names the right option and no other."""
    right = _get_right_letter(STRICT, submission)
    choice = read_choice(submission.answer, submission.options)
    chance = 1 / len(submission.options)
    if choice is None:
        reason = "no single option can be read from the answer"
        return ProtocolScore(protocol=STRICT, value=0.0, reason=reason, details={"chance": chance})
    return ProtocolScore(
        protocol=STRICT,
        value=float(choice == right),
        reason=f"chose {choice}; {right} is right",
        details={"chance": chance, "read": choice},
    )


def grade_as_personamem(submission: Submission) -> ProtocolScore:
    """1 for an answer whose letters, as PersonaMem's script finds them, are the right one alone."""
    right = _get_right_letter(PERSONAMEM, submission)
    final = submission.answer.rpartition("<final_answer>")[2].strip().removesuffix(_CLOSING_TAG)
    letters = _read_personamem_letters(final)
    if letters != {right} and _read_personamem_letters(submission.answer) == {right}:
        letters = {right}
    is_right = letters == {right}
    details: dict[str, str | int | float] = {"chance": 1 / len(submission.options)}
    if is_right:
        details["read"] = right
    shown = ", ".join(sorted(letters)) or "no letter"
    return ProtocolScore(
        protocol=PERSONAMEM,
        value=float(is_right),
        reason=f"reads {shown}; {right} is right",
        details=details,
    )


def _normalise_lines(text: str) -> str:
    """Case-folded text without markup, blanks joined but lines kept."""
    bare = _EMPHASIS.sub("", unicodedata.normalize("NFKC", text).casefold())
    return "\n".join(" ".join(line.split()) for line in bare.strip().splitlines())


class _ChoiceOptions:
    """The options, found by their texts."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.letters = {letter.lower() for letter in options}
        self._texts: dict[str, set[str]] = {}
        for letter, option in options.items():
            if text := _trim_text(_normalise_lines(option)):
                self._texts.setdefault(text, set()).add(letter.lower())
        self._longest = max(map(len, self._texts), default=0) + _MAX_TRIMMED

    def match_text(self, text: str, start: int) -> set[str]:
        """The options whose whole text is the rest of the text, or the rest of its line."""
        line_end = text.find("\n", start, start + self._longest + 1)
        ends = (len(text), line_end if line_end >= 0 else len(text))
        # A rest longer than any option cannot match and need not be copied.
        rests = {_trim_text(text[start:end]) for end in ends if end - start <= self._longest}
        return {letter for rest in rests for letter in self._texts.get(rest, ())}


def _trim_text(text: str) -> str:
    return text.removesuffix(_CLOSING_TAG).strip(" \n.:-–—)")


def _find_announcements(text: str, options: _ChoiceOptions) -> Iterator[str]:
    announcements = list(_ANNOUNCEMENT.finditer(text))
    # An announcement reaches to the next one at most.
    starts = [*(announcement.start() for announcement in announcements), len(text)]
    for announcement, limit in zip(announcements, starts[1:], strict=True):
        start = announcement.end()
        if letter := _NAMED_LETTER.match(text, start):
            quoted = options.match_text(text, letter.end())
            yield from _merge_letter(letter[1] or letter[2], quoted)
            yield from _find_further_letters(text, letter.end(), limit)
        else:
            yield from options.match_text(text, start)


def _merge_letter(letter: str, quoted: set[str]) -> set[str]:
    """The options that a letter and the text after it name: one if they agree, else both."""
    return {letter} if letter in quoted else {letter, *quoted}


def _find_further_letters(text: str, place: int, limit: int) -> Iterator[str]:
    """Further letters in the sentence of an announcement."""
    while also := _ALSO.match(text, place):
        yield also[1] or also[2]
        place = also.end()
    stop = _SENTENCE_END.search(text, place, limit)
    yield from _find_enclosed_letters(text, place, stop.start() if stop else limit)


def _find_mentions(text: str, options: _ChoiceOptions) -> Iterator[str]:
    yield from options.match_text(text, 0)
    for leading in _LEADING.finditer(text):
        quoted = options.match_text(text, leading.end())
        # In "(a) Not tea" the denial is the option's own text and denies no letter.
        if quoted or not _is_denied(text, leading.start(1), leading.end(1)):
            yield from _merge_letter(leading[1], quoted)
    yield from _find_enclosed_letters(text, 0, len(text))


def _find_enclosed_letters(text: str, start: int, end: int) -> Iterator[str]:
    for mention in _MENTION.finditer(text, start, end):
        if not _is_denied(text, mention.start(), mention.end()):
            yield mention[1]


def _is_denied(text: str, start: int, end: int) -> bool:
    """Whether a word near the letter, in the same clause, denies it."""
    before = text[max(0, start - _DENIAL_CHARACTERS) : start]
    after = text[end : end + _DENIAL_CHARACTERS]
    words = [
        *_CLAUSE_END.split(before)[-1].split()[-_DENIAL_WORDS:],
        *_CLAUSE_END.split(after)[0].strip(")] ").split()[:_DENIAL_WORDS],
    ]
    return not _DENIALS.isdisjoint(words)


def _read_personamem_letters(text: str) -> set[str]:
    lowered = text.lower()
    letters = _OFFICIAL_ENCLOSED.findall(lowered) or _OFFICIAL_BARE.findall(lowered)
    return {letter.upper() for letter in letters}


def _get_right_letter(card: ProtocolCard, submission: Submission) -> str:
    where = f"{card.name}: {submission.question!r}"
    right = submission.get_only_gold(card).strip(" ()").upper()
    offered = [letter.upper() for letter in submission.options]
    if len(offered) < 2 or len(set(offered)) < len(offered) or any(len(x) != 1 for x in offered):
        raise Malformed(where, f"options need two or more different letters; got {offered}")
    if right not in offered:
        raise Malformed(where, f"the right option {right!r} is not among {', '.join(offered)}")
    return right


def _has_options(item: Item) -> bool:
    return bool(item.choices)


CHOICE_PROTOCOLS = (
    ComputedProtocol(STRICT, grade_strictly, _has_options),
    ComputedProtocol(PERSONAMEM, grade_as_personamem, _has_options),
)
