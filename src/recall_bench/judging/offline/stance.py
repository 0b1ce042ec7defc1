"""Whether an answer answers its question, denies it, or leaves it unanswered.

The opening decides: an answer that begins by saying it has no record has not answered, whatever
follows. The grader decides whether the rest answers anyway.
"""

import re
from enum import StrEnum
from functools import lru_cache

import msgspec

from recall_bench.text.cued_pattern import CuedPattern
from recall_bench.text.text import split_normalised

SENTENCE_CACHE = 16384
"""Sentences kept in memory."""


class Stance(StrEnum):
    """How an answer responds to its question."""

    ANSWERS = "answers"
    SILENT = "is empty"
    REFUSES = "refuses"
    IGNORANT = "does not know"
    ABSENT = "finds no record"

    @property
    def is_non_answer(self) -> bool:
        """Whether the question is left unanswered."""
        return self is not Stance.ANSWERS


class Polarity(StrEnum):
    """Which way a yes-or-no question is answered."""

    YES = "yes"
    NO = "no"


class StanceReading(msgspec.Struct, frozen=True, gc=False):
    """How one text responds to its question."""

    stance: Stance
    polarity: Polarity | None
    """Set only where the text opens with yes or no."""
    is_negated: bool = False
    """Whether the first sentence holds a negation."""
    denies_existence: bool = False
    """Whether the first sentence says that there is or was no such thing."""


_SENTINEL = re.compile(r"\s*(?:\[[A-Z _-]+\]|n/?a|none|null|unknown)?[\s.!?-]*", re.IGNORECASE)

_NOT = (
    r"(?:do(?:es)? not|don't|doesn't|did not|didn't|never|cannot|can not|can't|could not|couldn't)"
)
_SOURCE = (
    r"(?:excerpts?|memor(?:y|ies)|notes?|records?|logs?|entries|entry|context|history|text|pages?"
    r"|information|passages?|documents?|sources?|conversations?|diar(?:y|ies)|journals?|files?)"
)
_TELL = (
    r"(?:say|state|specify|mention|name|give|show|include|contain|identify|reveal|provide|list"
    r"|indicate|confirm|record|describe|explain|note|disclose|cover|detail|establish|tell)"
)
_TRACE = (
    r"(?:records?|mention|evidence|information|info|memor(?:y|ies)|details?|data|indication|notes?"
    r"|entry|entries|trace|reference|sign|excerpts?|documentation)"
)

_REFUSAL = CuedPattern(
    r"\b(?:(?:can(?:not|'t| not)|won't|will not|not able to|unable to|not allowed to"
    r"|not permitted to|not authori[sz]ed to|not at liberty to|must not|may not|shouldn't)"
    r"\s(?:\w+\s)?(?:shared?|disclosed?|discuss|reveal|help|assist|comply|tell you|comment|pass"
    r"|go into)"
    r"|(?:that|this|it|which)(?:'s| is| stays| remains) (?:\w+ )?(?:confidential|restricted"
    r"|private|off[- ]limits)"
    r"|not (?:something|mine) (?:I can |to )(?:share|discuss|disclose|tell)"
    r"|I(?:'d| would| must| have to|'ll have to)? (?:\w+ )?decline)\b|^\W*(?:decline|refuse)\b",
    *("cannot", "can not", "can't", "won't", "will not", "not able", "unable to", "not allowed"),
    *("not permitted", "not authori", "not at liberty", "must not", "may not", "shouldn't"),
    *("confidential", "restricted", "private", "off-limits", "off limits", "not something"),
    *("not mine", "decline", "refuse"),
)
_DECLINE = re.compile(
    r"\b(?:declin\w*|refus\w*|withh\w+|(?:not|without) (?:shar|disclos|discuss|reveal)\w*)",
    re.IGNORECASE,
)
_TELLING = (
    r"(?:shar|disclos|discuss|reveal|repeat|tell|told|say|said|answer|pass(?:ed)? on|go into"
    r"|give (?:(?:it|that|this|them|anything) )?(?:out|away)|talk(?:ed)? about|speak of)\w*"
)
_RESERVE = re.compile(
    rf"\b(?:can(?:not| not|'t)|won't|will not|may not|must not|not (?:able|free|allowed|permitted"
    rf"|going|willing|authori[sz]ed|at liberty|to)|rather not|n't)\b(?:\W+\w+){{0,3}}?\W+{_TELLING}"
    r"|\b(?:is|are|stays?|remains?|being|was|were|kept|told|said|shared)\W+(?:\w+\W+){0,3}?"
    r"(?:confidential|private|restricted|privileged|secret|classified|off[- ]limits|in confidence"
    r"|closed|sensitive|embargoed|under embargo|under wraps)\b"
    r"|\b(?:stays?|remains?|kept|keep\w*)\W+(?:\w+\W+){0,2}?(?:there|between|within|inside|to"
    r" (?:my|our)sel\w+|where it|among)\b"
    r"|\bis for \w+ to (?:tell|say|talk|share|discuss|answer)\b"
    r"|\bnot (?:mine|for me|the place|ours)\b|\bbelongs? to \w[\w-]* alone\b|\bin confidence\b"
    r"|\b(?:confidentiality|declin(?:e|ing)|lips|unsaid|no comment|breach|discre(?:et|tion))\b"
    r"|\b(?:need to|may|entitled to|supposed to|allowed to) know\b|\bneed-to-know\b|\bsecret\b"
    r"|\bask (?:the (?:people|person|ones?)|those|them|him|her|whoever|someone|somebody)\b"
    r"|\b(?:keep|leave|hold) (?:it|that|this) (?:there|back|at that|out)\b"
    r"|\b(?:secrecy|undisclosed|divulge|divulging|embargo(?:ed)?)\b|\bto (?:my|our)sel(?:f|ves)\b"
    r"|(?:\bnot|n't)\W+(?:\w+\W+){0,2}?(?:cleared|shared|sharing|for (?:you|others|outsiders))\b"
    r"|\bbetween (?:them|us|those|the two of)\b|\b(?:keep|stay|remain)\w* (?:quiet|mum|silent"
    r"|under wraps)\b"
    r"|\b(?:stay|remain|spoil|keep\w*)\b(?:\W+\w+){0,3}?\W+surprise\b|\bfor (?:\w+ ){1,3}only\b"
    r"|\bonly (?:the )?\w+(?: \w+)? (?:may|can|should) (?:know|see|hear)\b|\bcan(?:not|'t) say\b"
    r"|\bno(?:t|thing)? (?:\w+ ){0,4}?(?:be )?(?:released|announced|made public)\b"
    r"|\b(?:not|n't) (?:supposed|meant|free|going) to\b",
    re.IGNORECASE,
)
_IGNORANCE = CuedPattern(
    rf"\b(?:I {_NOT} (?:\w+ )?(?:know|recall|remember|determine|tell|say|answer|confirm|verify"
    r"|have (?:access|enough|sufficient))"
    r"|I(?:'m| am) (?:not (?:sure|certain|aware)|unsure|unable)"
    r"|(?:not enough|insufficient|without more) (?:information|context|detail|evidence|data)"
    r"|(?:cannot|can't|could not|couldn't|impossible to|not possible to|unable to) (?:be )?"
    r"(?:determined?|answered?|confirmed?|verif(?:y|ied)|establish(?:ed)?)"
    r"|(?:not|n't) (?:\w+ )?(?:known|clear|certain) (?:whether|if|who|what|when|where|which|how)"
    r"|unknown (?:whether|if|to me)|(?:beats|escapes|eludes) me|no way (?:of knowing|to (?:know"
    r"|tell))"
    r"|(?:have|had) to guess|I(?:'d| would)(?: only)? be guessing|anyone's guess|(?:wasn't|was"
    r" not|never) told"
    r"|couldn't (?:say|tell)|could not (?:say|tell)|hard to (?:say|tell)"
    r"|no (?:idea|clue)|unclear from"
    r"|(?:know|known|says?|tells?)\b[^.;]*,? (?:but )?not (?:who|what|when|where|which|how(?: much"
    r"| many)?)(?=\W*$))\b",
    *("not ", "n't ", "never ", "unsure", "unable", "insufficient", "without more", "impossible"),
    *("unknown ", "beats me", "escapes me", "eludes me", "no way", "to guess", "be guessing"),
    *("anyone's guess", "hard to", "no idea", "no clue", "unclear from"),
)
_ABSENCE = CuedPattern(
    rf"\b(?:no such|no (?:\w+ ){{0,2}}{_TRACE}"
    rf"|{_SOURCE} (?:\w+ ){{0,3}}{_NOT} (?:\w+ly )?{_TELL}"
    rf"|I {_NOT} (?:\w+ )?(?:find|see|locate|turn up|spot|have(?! (?:access|enough|sufficient)))"
    r"|I (?:found|see|saw|have|know of) (?:no|nothing|none)"
    r"|unspecified|unrecorded|(?:not|never)(?: \w+)? (?:specified|mentioned|stated|recorded|visible"
    r"|available|provided|found|shown|given|contained|included|named|documented|identified|listed"
    r"|in (?:the|my) (?:excerpts?|memor(?:y|ies)|notes|records?))"
    r"|nothing (?:\w+ ){0,2}?(?:about|on|regarding|recorded|suggests?|shows?|indicates?"
    r"|mentions?|says?"
    r"|said|known|written|noted)"
    rf"|{_SOURCE} (?:\w+ ){{0,2}}(?:is|are|stays?|remains?) silent"
    rf"|{_SOURCE} (?:\w+ ){{0,4}}?(?:(?:leaves?|left) (?:\w+ ){{1,4}}?(?:out|open|blank|unsaid)"
    r"|(?:keeps?|kept) (?:quiet|silent|mum)|stops? short|(?:says?|gives?|has|have"
    r"|holds?) nothing(?! to do)"
    r"|(?:does|do|did)(?: not|n't) (?:get|go) (?:that |so |into |as )"
    r"|(?:is|are) (?:blank|empty|no help|unhelpful))"
    rf"|gaps? in (?:the|my|your|our) {_SOURCE}|(?:came|come|coming) up (?:empty|short|blank"
    r"|with nothing)"
    r"|(?:drew|drawn?|drawing) a blank|(?:missing|absent) (?:there )?(?:from|in) (?:the|my|your"
    rf"|our|all|any) (?:\w+ )?{_SOURCE}"
    rf"|left (?:out|open|unsaid|blank) (?:in|by) (?:the|my|your) {_SOURCE}"
    r"|not on (?:the )?record|nothing of the (?:kind|sort)(?! (?:occur|happen|took|was|came"
    r"|took place))|but not (?:this|that"
    r"|the) (?:\w+ )?(?:detail|part|bit|figure|number"
    r"|name|date|point|particular)|never put in writing"
    r"|(?:never|not|n't) (?:\w+ )?(?:came|come|comes) up"
    r"|(?:not|never|nowhere) (?:\w+ )?(?:appear(?:s|ed)?|crop(?:s|ped)? up|shows? up|showed up)"
    r"|nowhere (?:given|stated|mentioned|named|recorded|written|specified|noted"
    r"|to be found)|(?:does|do|did)(?: not|n't) (?:\w+ )?cover"
    r"|(?:is|are|was|were)(?: not|n't) written)\b"
    r"|\b\w+n't (?:\w+ )?(?:specified|mentioned|stated|recorded|documented|listed|in my|in (?:the"
    r"|your)"
    rf" {_SOURCE}|appear|crop up)\b",
    *("no ", "not ", "n't ", "never ", "nothing", "i found no", "i see no", "i saw no"),
    *("i have no", "i know of no", "unspecified", "unrecorded", "silent", "leave", "left "),
    *("quiet", " mum", "stop", "blank", "empty", "unhelpful", "gap", "up short", "missing"),
    *("absent", "nowhere"),
)
_OPENER = re.compile(
    r"\W*(?:(?P<yes>yes|yep|yeah|correct|right|indeed|affirmative"
    r"|(?:that(?:'s| is| was)|exactly|quite) (?:right|correct|so|true)(?=\W*(?:$|[.,;:!-])))"
    r"|(?P<no>no|nope|nah|never"
    r"|negative(?=\W*(?:$|[.,;:!-]))))\b(?!-)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\W*(?:CORRECT|RIGHT)\b")
"""In capitals it is a mark that the answer gives itself."""
_NON_EXISTENCE = CuedPattern(
    r"\b(?:there (?:is|was|are|were|has been|have been|had been) (?:no|never|not|none)"
    r"|(?:never|not|\w+n't) (?:\w+ )?(?:happen(?:ed)?|occur(?:red)?|exist(?:ed)?|take place"
    r"|took place|taken place|c[ao]me (?:about|to pass|off)|have|had))\b",
    *("there ", "never ", "not ", "n't "),
)
_CLAUSE_END = re.compile(
    r"[;.!?](?=\s|$)|,? (?:and|but|though|although|however|as|so) ", re.IGNORECASE
)
_NEGATION = CuedPattern(
    r"\b(?:not|no|never|none|nobody|nothing|neither|without|unchanged|cannot|zero (?:evidence|sign"
    r"|trace|record))\b|n't\b",
    *("no", "never", "neither", "unchanged", "without", "zero ", "n't"),
)


def read_stance(text: str) -> StanceReading:
    """How a normalised text without citations responds to its question."""
    if _SENTINEL.fullmatch(text):
        return StanceReading(Stance.SILENT, None)
    first, *others = split_normalised(text)
    polarity = _find_polarity(first)
    stance = _find_stance(first)
    if polarity is Polarity.YES:
        stance = Stance.ANSWERS
    elif (stance is Stance.IGNORANT and any(map(_finds_nothing, others))) or (
        stance is Stance.REFUSES and _CANNOT_TELL.search(first) and _ABSENCE.search(text)
    ):
        stance = Stance.ABSENT
    return StanceReading(
        stance,
        polarity,
        is_negated=count_negations(first) > 0,
        denies_existence=_NON_EXISTENCE.search(first) is not None,
    )


_CANNOT_TELL = re.compile(r"\b(?:can't|cannot|can not|unable to) (?:tell|help)\b", re.IGNORECASE)
_SILENCE = re.compile(
    rf"\b{_SOURCE} (?:\w+ ){{0,3}}(?:{_NOT} (?:\w+ly )?{_TELL}|(?:is|are) silent)"
    r"|\b(?:not|never|n't)(?: \w+)? (?:specified|mentioned|stated|covered)\b|\bnothing (?:\w+"
    r" ){0,2}?(?:about|on|regarding|mentions?|says?|said)\b"
    r"|\bno (?:\w+ )?(?:information|info|details?|data)\b",
    re.IGNORECASE,
)


def is_source_silent(text: str) -> bool:
    """Whether a text says that its sources do not tell, and not that there is no such thing."""
    return _SILENCE.search(text) is not None


def remove_opener(text: str) -> str:
    """The text without the yes or no it opens with."""
    match = _OPENER.match(text)
    return text[match.end() :] if match else text


def is_bare_side(text: str) -> bool:
    """Whether a text is nothing but a yes or a no."""
    match = _OPENER.match(text)
    return match is not None and not text[match.end() :].strip(" .!")


def remove_refusing_clauses(text: str) -> str:
    """The clauses that state something, without those that decline.

    A text that only declines is returned whole.
    """
    clauses = [clause for clause in _CLAUSE_END.split(text) if not _REFUSAL.search(clause)]
    joined = "; ".join(clause.strip() for clause in clauses if clause.strip())
    return joined or text


def is_withholding(text: str) -> bool:
    """Whether a sentence withholds something, in any words.

    Broader than a stance: reliable only where declining is right.
    """
    return _REFUSAL.search(text) is not None or _RESERVE.search(text) is not None


def remove_refusal(text: str) -> str:
    """The text without the words in which it declines."""
    return _REFUSAL.sub(" ", text)


def is_refusal_due(reference: str) -> bool:
    """Whether a reference asks to decline instead of disclosing."""
    return _REFUSAL.search(reference) is not None or _DECLINE.search(reference) is not None


@lru_cache(maxsize=SENTENCE_CACHE)
def count_negations(text: str) -> int:
    """The number of words like no, not and never."""
    return _NEGATION.count(text)


def is_unknowing(sentence: str) -> bool:
    """Whether a sentence says that something is not known or not on record."""
    return _finds_nothing(sentence) or _knows_nothing(sentence)


@lru_cache(maxsize=SENTENCE_CACHE)
def _finds_nothing(sentence: str) -> bool:
    """Whether a sentence says that something is not on record: two rules ask for it."""
    return _ABSENCE.search(sentence) is not None


@lru_cache(maxsize=SENTENCE_CACHE)
def _knows_nothing(sentence: str) -> bool:
    """Whether a sentence says that something is not known."""
    return _IGNORANCE.search(sentence) is not None


@lru_cache(maxsize=SENTENCE_CACHE)
def _find_stance(sentence: str) -> Stance:
    if _REFUSAL.search(sentence):
        return Stance.REFUSES
    if _finds_nothing(sentence):
        return Stance.ABSENT
    if _knows_nothing(sentence):
        return Stance.IGNORANT
    return Stance.ANSWERS


def _find_polarity(sentence: str) -> Polarity | None:
    match = _OPENER.match(sentence)
    if match is None or _LABEL.match(sentence):
        return None
    return Polarity.YES if match["yes"] else Polarity.NO


_AUXILIARY = re.compile(
    r"(?:^|[,;:]\s+(?:and |but )?)(?:did|does|do|was|were|is|are|has|have|had|can|could|will|would"
    r"|should)(?:n't)?\s+(?!not\b)\w",
    re.IGNORECASE,
)
_WH = re.compile(r"\b(?:what|which|who|whom|whose|when|where|why|how)\b", re.IGNORECASE)


def is_polar(question: str) -> bool:
    """Whether a question can be answered with yes or no."""
    match = _AUXILIARY.search(question)
    return match is not None and _WH.search(question[: match.end()]) is None
