"""Answers with nothing to read: quotations from the history, bare values, plain non-answers.

What is quoted is true, so only whether it answers the question is left to decide. All required
parts must be stated. Another value in place of one contradicts it, unless it is said to be past or
stands in an older quotation. A superseded value may stand beside the current one if the answer says
which is which. A long recital does not say what of it is the answer.
"""

import re
from collections.abc import Sequence
from datetime import date
from itertools import combinations

import msgspec

from recall_bench.core.scenario import Expects
from recall_bench.core.verdict import Finding
from recall_bench.judging.offline.case import JudgedCase, RightResponse
from recall_bench.judging.offline.contents import (
    AnswerContents,
    TextContents,
    find_names,
    level_text,
    split_citations,
)
from recall_bench.judging.offline.history_index import HistoryAsOf
from recall_bench.judging.offline.past_values import is_given_as_past, list_past_values
from recall_bench.judging.offline.stance import (
    Polarity,
    Stance,
    StanceReading,
    count_negations,
    is_source_silent,
    is_withholding,
    read_stance,
    remove_opener,
)
from recall_bench.judging.offline.wanted import Statement, WantedPart, is_plain_number
from recall_bench.text.text import STOPWORDS, normalise, split_words
from recall_bench.text.values import DATE, QUANTITY, LocatedValue, ValueAtom, locate_values

CONTRADICTED = 0.4
"""What remains of correctness where another value stands in place of the right one."""
NOTHING_NEW = 0.1
RIGHT_SIDE = 0.7
"""The correctness of the right side in a yes-or-no question; details are the rest."""
DENIAL_COMPLETE, AFFIRMATION_COMPLETE = 0.6, 0.4
"""The completeness of a bare no and of a bare yes."""
NOT_DECLINED = 0.2
"""The grade of an answer that should decline and talks of something else."""
CLEAR_FOCUS = 0.5
"""With more wrong candidates than right ones, a list of them is not an answer at all."""
PARTLY_RIGHT, PARTLY_COMPLETE = 0.34, 0.55
"""The most for a part of several required parts: never a pass."""
LEAST_SHARE = 0.5
"""With fewer of several required parts, an answer earns nothing: constants hit one by chance."""
FEW_WORDS = 14
"""A non-answer with more words may say something besides."""
EXCERPT_WORDS = 5
"""The most words of an excerpt: a longer one might lack the words that deny it."""
LONG_ANSWER = 12
"""Sentences of an answer that commits itself, whatever it quotes."""
ALLOWED_RIVALS = 1
"""Other values allowed beside each right one: answers mention what was superseded."""
AS_RELEVANT = 0.5
"""Another value counts where its sentence shares this part of the question's words that the best
one shares."""
QUESTION_SHARE = 1 / 3
"""The share of the question's words that a sentence needs for its bare numbers to be meant."""
SMALL_COUNT = 12
"""Whole numbers up to this count an answer's own points."""

_BREAK = re.compile(r"[:;,]\s|(?<=[.!?])\s-\s|\s[+>]\s|[()]")
_ADDS = re.compile(r"\b(?:but|because|as|since|though|only|except|so|please|if)\b", re.IGNORECASE)
"""A word with which a non-answer goes on."""
_OPEN = re.compile(r"\b(?:or|either|perhaps|maybe|possibly|could be|might be)\b", re.IGNORECASE)
_ENTRY_BREAK = re.compile(
    r"[,;:](?!\d)\s*|\n\s*"
    r"|\b(?:or|either|and|perhaps|maybe|possibly|could be|might be|it is|it was)\b",
    re.IGNORECASE,
)
ENTRY_WORDS = 8
"""The most words of a candidate in a list."""
_ABOUT_ITSELF = frozenset(
    """
    accord answer best believ below both case certain check clear complet correct depend either
    entri exact fact find follow full give grade ground happen ignor inde judg know label log look
    made make mark match note oh point question read reason record refer repli respons right rubric
    rule said say score sourc stand state sure system take tell thing think true truth
    verdict word write written yes
    """.split()
)
"""Stems of words in which answers speak of themselves, their sources and their judge."""
_SIDE_WORD = re.compile(r"\b(?:yes|no)\b", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:no|not|never|nothing|none|nobody)\b|n't\b", re.IGNORECASE)
_PLAIN_WORDS = STOPWORDS | frozenset(
    "yes no first then later last came earlier before after since all total altogether".split()
)
_NOW = re.compile(
    r"\b(?:now|currently|at (?:the moment|present|last)|today|in the end|finally|latest|these days"
    r"|nowadays|eventually)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:order|sequence|first|last|earl(?:y|ier|iest)|late(?:r|st)|sooner|before|after)\b",
    re.IGNORECASE,
)


class Grade(msgspec.Struct, frozen=True, gc=False):
    """Correctness and completeness from 0 to 1, and why."""

    correctness: float
    completeness: float
    reason: str
    findings: tuple[Finding, ...] = ()
    is_made_up: bool = False
    """Whether it affirms what never was."""


STANCE_FINDINGS = {
    Stance.REFUSES: (Finding.REFUSAL,),
    Stance.IGNORANT: (Finding.ABSTENTION,),
    Stance.ABSENT: (Finding.ABSTENTION,),
}


def is_plain_non_answer(case: JudgedCase, account: AnswerContents) -> bool:
    """Whether each sentence declines or does not know, in a few words."""
    pairs = zip(account.sentences, account.passages, strict=True)
    return bool(account.sentences) and all(
        _is_non_answer(case, text, contents) for text, contents in pairs
    )


def _is_non_answer(case: JudgedCase, text: str, contents: TextContents) -> bool:
    """Whether a sentence declines or does not know, without a value or a name of its own."""
    return (
        len(split_words(text)) <= FEW_WORDS
        and read_stance(text).stance.is_non_answer
        and not _ADDS.search(text)
        and all(map(case.question.holds, contents.values))
        and case.question.words.issuperset(find_names(text))
    )


def says_nothing(case: JudgedCase, account: AnswerContents) -> bool:
    """Whether an answer has only words of its question, and such as answers use of themselves."""
    told = account.contents
    return (
        account.text.strip() != ""
        and told.stems <= case.question.stems | _ABOUT_ITSELF
        and told.stems.isdisjoint(case.stems)
        and told.names <= case.question.words | _ABOUT_ITSELF
        and all(map(case.question.holds, told.values))
        and not _DENIAL.search(account.text)
    )


def is_undecided(case: JudgedCase, account: AnswerContents) -> bool:
    """Whether it says yes and no, and little else."""
    sides = {side.lower() for side in _SIDE_WORD.findall(account.text)}
    is_short = len(split_words(account.text)) <= FEW_WORDS
    return is_short and len(sides) == 2 and case.right is not RightResponse.DECLINES


def is_quoted(case: JudgedCase, account: AnswerContents, history: HistoryAsOf) -> bool:
    """Whether every sentence stands in the history, is a bare value of it, or tells nothing.

    A Yes or No may come first, and the words of the question may stand anywhere. Where the truth
    does not list what is right, a value or a name alone is read, and a sentence has to be quoted.
    """
    if not account.sentences:
        return False
    opening = remove_opener(account.sentences[0])
    bodies = [_strip_citations(text) for text in (opening, *account.sentences[1:])]
    if (case.right is RightResponse.ABSTAINS or not case.item.truth.atoms) and not any(
        body and history.is_sentence_known(body) for body in bodies
    ):
        return not "".join(bodies)
    return all(
        not body
        or history.is_sentence_known(body)
        or _is_plain(case, account, body, history)
        or _is_non_answer(case, text, contents)
        or all(
            history.is_sentence_known(part) or _is_plain(case, account, part, history)
            for part in _BREAK.split(body)
        )
        for body, text, contents in zip(bodies, account.sentences, account.passages, strict=True)
    )


def _strip_citations(text: str) -> str:
    """A sentence without what leads up to it and what it cites."""
    return split_citations(text.lstrip(" .,;:-"))[0].strip(" .,;:-")


def _is_plain(case: JudgedCase, account: AnswerContents, text: str, history: HistoryAsOf) -> bool:
    """Whether a text has nothing beside words of the question but a known value or name."""
    if len(split_words(text)) <= EXCERPT_WORDS and history.is_excerpt_known(text):
        return True
    located = locate_values(text)
    outside = _remove_spans(text, [(start, end) for _, start, end in located])
    if not _PLAIN_WORDS.union(case.question.words).issuperset(split_words(outside)):
        return False
    return not count_negations(text) and all(
        _is_small_count(atom)
        or history.is_value_known(atom)
        or _is_gap(atom, account)
        or _is_sum(atom, located)
        for atom, _, _ in located
    )


def _remove_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = f"{text[:start]} {text[end:]}"
    return text


def _is_small_count(atom: ValueAtom) -> bool:
    is_count = atom.kind == QUANTITY and is_plain_number(atom)
    return is_count and float(atom.core).is_integer() and 0 <= float(atom.core) <= SMALL_COUNT


def _is_gap(atom: ValueAtom, account: AnswerContents) -> bool:
    """Whether a value is the time between two dates of the answer."""
    amount, _, unit = atom.measure.partition(" ")
    if unit != "s":
        return False
    dates = [
        date(int(value.value[6:]), int(value.core[:2]), int(value.core[3:]))
        for value in account.contents.values
        if value.kind == DATE and not value.is_bare
    ]
    gaps = {abs((one - other).days) for one, other in combinations(dates, 2)}
    return any(abs(float(amount) / 86_400 - gap) <= 1 for gap in gaps)


def _is_sum(atom: ValueAtom, located: Sequence[LocatedValue]) -> bool:
    """Whether a value is the sum of the others beside it."""
    if atom.kind != QUANTITY:
        return False
    others = [abs(float(other.core)) for other, _, _ in located if other.kind == QUANTITY]
    return len(others) > 2 and abs(sum(others) - 2 * abs(float(atom.core))) < 0.005


def grade_quotation(case: JudgedCase, account: AnswerContents, reading: StanceReading) -> Grade:
    """Grade what a quotation or a plain non-answer states."""
    match case.right:
        case RightResponse.TELLS:
            grade = _grade_telling(case, account, reading)
        case RightResponse.ABSTAINS:
            grade = _grade_abstention(case, reading)
        case RightResponse.DECLINES:
            grade = _grade_refusal(account, reading)
        case _:
            grade = _grade_side(case, account, reading)
    findings = (*STANCE_FINDINGS.get(reading.stance, ()), *grade.findings)
    return msgspec.structs.replace(grade, findings=findings)


def _grade_non_answer(reading: StanceReading) -> Grade:
    return Grade(0.0, 0.0, f"left unanswered: it {reading.stance}")


def _grade_telling(case: JudgedCase, account: AnswerContents, reading: StanceReading) -> Grade:
    coverage = cover(case, account)
    if lists_candidates(case, account):
        return Grade(NOTHING_NEW, NOTHING_NEW, "lists candidates", (Finding.CONTRADICTION,))
    if not coverage.share and reading.stance.is_non_answer:
        return _grade_non_answer(reading)
    return _grade_coverage(coverage, len(case.required))


def _grade_abstention(case: JudgedCase, reading: StanceReading) -> Grade:
    if reading.stance is Stance.REFUSES:
        return _grade_non_answer(reading)
    if case.is_denial_due and reading.stance is Stance.IGNORANT:
        # A No has to deny: not knowing is an abstention, here as anywhere.
        return _grade_non_answer(reading)
    if reading.stance.is_non_answer or reading.polarity is Polarity.NO:
        return Grade(1.0, 1.0, "rightly says that there is no such thing")
    return Grade(
        0.0,
        0.0,
        "answers as if there were such a thing, and there is none",
        is_made_up=reading.polarity is Polarity.YES,
    )


def _grade_refusal(account: AnswerContents, reading: StanceReading) -> Grade:
    if reading.stance.is_non_answer or is_withholding(account.text):
        return Grade(1.0, 1.0, "rightly tells nothing")
    return Grade(NOT_DECLINED, NOT_DECLINED, "tells no secret, but does not decline")


def _grade_side(case: JudgedCase, account: AnswerContents, reading: StanceReading) -> Grade:
    is_silent = reading.stance is Stance.ABSENT and is_source_silent(account.text)
    if reading.stance in (Stance.REFUSES, Stance.IGNORANT) or is_silent:
        return _grade_non_answer(reading)
    coverage = cover(case, account)
    is_correction = case.item.truth.expects is Expects.CORRECT
    if is_correction and reading.stance is Stance.ABSENT and not coverage.share:
        # Where the history denies it, to find nothing on record is not to have found that.
        return _grade_non_answer(reading)
    side = reading.polarity
    denial_is_right = case.right is RightResponse.DENIES
    if side is None and reading.stance is Stance.ABSENT:
        side = Polarity.NO
    if side is None and case.required and coverage.share == 1 and not coverage.is_wrong:
        # What states all that the reference states is on its side.
        side = Polarity.NO if denial_is_right else Polarity.YES
    if side is None:
        return Grade(0.0, 0.0, f"takes no side, where it is right to {case.right}")
    if (side is Polarity.NO) is not denial_is_right:
        return Grade(
            0.0,
            0.0,
            f"says {side}, where it is right to {case.right}",
            (Finding.CONTRADICTION,),
            is_made_up=denial_is_right and not case.required,
        )
    bare = DENIAL_COMPLETE if denial_is_right and not is_correction else AFFIRMATION_COMPLETE
    share = coverage.share if case.required else 1.0
    score = RIGHT_SIDE + (1 - RIGHT_SIDE) * share
    return Grade(
        score * CONTRADICTED if coverage.is_wrong else score,
        bare + (1 - bare) * share,
        f"rightly says {side}",
        (Finding.CONTRADICTION,) if coverage.is_wrong else (),
    )


class Coverage(msgspec.Struct, frozen=True, gc=False):
    """How an answer compares with the required parts."""

    share: float
    """The share of required parts that are stated."""
    missing: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    """What is stated in place of missing parts."""
    is_stale: bool = False
    """Whether it gives a superseded value as current."""
    is_disordered: bool = False
    focus: float = 1.0
    """The share of right values, after the allowed others."""
    is_recital: bool = False

    @property
    def is_wrong(self) -> bool:
        """Whether it says something else than the truth."""
        return bool(self.is_disordered or self.instead or self.is_stale)


def _grade_coverage(coverage: Coverage, required: int) -> Grade:
    if coverage.is_recital:
        reason = "quotes at length, and does not say what of it is the answer"
        return Grade(0.0, 0.0, reason)
    share, focus = coverage.share, coverage.focus
    # Listing candidates does not say which is right: that costs more than its share.
    correctness = share * focus**2
    if share < 1:
        correctness = min(correctness, PARTLY_RIGHT)
    if coverage.instead:
        correctness *= CONTRADICTED
    completeness = focus * (share if share == 1 else PARTLY_COMPLETE * share)
    if focus < CLEAR_FOCUS:
        completeness = min(completeness, NOTHING_NEW)
    if coverage.is_stale or coverage.is_disordered or share < LEAST_SHARE:
        correctness = completeness = NOTHING_NEW * share
    findings = (
        *((Finding.STALE,) if coverage.is_stale else ()),
        *((Finding.CONTRADICTION,) if coverage.instead or coverage.is_disordered else ()),
    )
    reason = f"tells {round(share * required)} of {required} wanted"
    if coverage.is_disordered:
        reason += "; puts things in another order"
    if coverage.missing:
        reason += f"; lacks {_list_first(coverage.missing)}"
    if coverage.is_stale:
        reason += "; gives as current what was overtaken"
    if coverage.instead:
        reason += f"; has {_list_first(coverage.instead)} instead"
    if focus < 1:
        reason += "; lists other values beside the right one"
    return Grade(correctness, completeness, reason, findings)


def _list_first(things: Sequence[str]) -> str:
    shown = ", ".join(things[:3])
    return f"{shown} and {len(things) - 3} more" if len(things) > 3 else shown


def cover(case: JudgedCase, account: AnswerContents) -> Coverage:
    """Compare an answer with the required parts."""
    sentences = _list_statements(case, account)
    if _is_recital(sentences):
        return Coverage(0.0, tuple(part.text for part in case.required), is_recital=True)
    matches = [_match_part(case, part, sentences, account) for part in case.required]
    stated = [part for part, match in zip(case.required, matches, strict=True) if match.is_stated]
    rivals = {rival for match in matches if match.is_stated for rival in match.rivals}
    excess = len(rivals) - ALLOWED_RIVALS * len(stated)
    return Coverage(
        share=len(stated) / (len(case.required) or 1),
        missing=tuple(part.text for part in case.required if part not in stated),
        instead=tuple(rival for match in matches if not match.is_stated for rival in match.rivals),
        is_stale=any(match.is_stale for match in matches),
        is_disordered=_is_disordered(case, account, stated),
        focus=len(stated) / (len(stated) + excess) if stated and excess > 0 else 1.0,
    )


def _list_statements(case: JudgedCase, account: AnswerContents) -> list[Statement]:
    dates = [line.dated for line in account.lines for _ in line.sentences]
    return [
        Statement(text, contents, case.question.stems, case.stems, dated)
        for text, contents, dated in zip(account.sentences, account.passages, dates, strict=True)
        if not text.rstrip().endswith("?")  # a question states nothing
    ]


def _is_recital(sentences: Sequence[Statement]) -> bool:
    """Whether a long answer is mostly quotations, or mostly about something else."""
    if len(sentences) <= LONG_ANSWER:
        return False
    dated = sum(bool(sentence.dated) for sentence in sentences)
    about = sum(sentence.relevance >= 2 for sentence in sentences if not sentence.dated)
    return 2 * dated > len(sentences) or 4 * about < len(sentences)


class _Hit(msgspec.Struct, frozen=True, gc=False):
    """A sentence that states the part, or another value in its place."""

    sentence: Statement
    is_stated: bool
    rivals: tuple[str, ...]
    is_stale: bool


class _PartMatch(msgspec.Struct, frozen=True, gc=False):
    is_stated: bool
    rivals: tuple[str, ...]
    is_stale: bool


def _match_part(
    case: JudgedCase, part: WantedPart, sentences: Sequence[Statement], account: AnswerContents
) -> _PartMatch:
    hits = [hit for sentence in sentences if (hit := _find_hit(case, part, sentence))]
    newest = max((hit.sentence.dated for hit in hits if hit.is_stated), default="")
    if newest:
        # An older quotation of another value was overtaken by one of the right value.
        hits = [hit for hit in hits if hit.is_stated or not "" < hit.sentence.dated < newest]
    best = max((hit.sentence.relevance for hit in hits), default=0)
    direct = [hit for hit in hits if hit.sentence.is_direct]
    deciding = direct or [
        hit
        for hit in hits
        if hit.is_stated or hit.sentence.relevance >= max(1.0, AS_RELEVANT * best)
    ]
    is_stated = any(hit.is_stated for hit in deciding)
    if not is_stated and _is_cited(part, account):
        return _PartMatch(is_stated=True, rivals=(), is_stale=False)
    is_stale = any(hit.is_stale for hit in deciding)
    return _PartMatch(
        is_stated=is_stated,
        rivals=tuple(dict.fromkeys(rival for hit in deciding for rival in hit.rivals)),
        is_stale=is_stale and not is_stated,
    )


def _is_cited(part: WantedPart, account: AnswerContents) -> bool:
    """Whether a date is stated by citing it, and not among many."""
    dates = [atom for atom in account.cited if atom.kind == DATE]
    return len(dates) <= 1 + ALLOWED_RIVALS and any(map(part.is_value, dates))


def _find_hit(case: JudgedCase, part: WantedPart, sentence: Statement) -> _Hit | None:
    text = sentence.text
    is_stated = part.is_in(sentence) and _is_meant(case, part, sentence)
    others = [
        other
        for other in case.others
        if other.text != part.text and other.is_in(sentence) and not _is_past(other, text)
    ]
    if is_stated and part.value is None and part.find_place(text) is None:
        # Reworded, beside another candidate that is spelled out.
        is_stated = not any(other.find_place(text) for other in others)
    if is_stated and others and _NOW.search(case.item.text):
        is_stated = not _is_past(part, text)
    rivals = {
        other.value.value if other.value is not None else other.text: None for other in others
    }
    for rival in part.find_rivals(sentence, is_stated=is_stated):
        if not _is_given(case, rival, sentence):
            rivals[rival] = None
    if is_stated and part.value is not None and len(rivals) > len(others):
        for rival in list_past_values(text):
            rivals.pop(rival, None)
    if not (is_stated or rivals):
        return None
    is_stale = any(other in case.stale for other in others)
    return _Hit(sentence, is_stated, tuple(rivals), is_stale)


def _is_meant(case: JudgedCase, part: WantedPart, sentence: Statement) -> bool:
    """Whether a bare number may be the wanted one: its sentence is about the question."""
    if part.value is None:
        return True
    values = [value for value in sentence.contents.values if part.is_value(value)]
    if not all(map(is_plain_number, values)) or not sentence.contents.stems - case.question.stems:
        return True
    if level_text(part.text) in sentence.levelled:
        return True
    return sentence.relevance >= max(1, QUESTION_SHARE * len(case.question.stems))


def _is_past(part: WantedPart, text: str) -> bool:
    place = part.find_place(text)
    return place is not None and is_given_as_past(text, place)


def _is_given(case: JudgedCase, rival: str, sentence: Statement) -> bool:
    """Whether a value is in the question, or is another required part."""
    named = level_text(rival)
    if named in level_text(normalise(case.item.text)):
        return True
    if any(named in level_text(part.text) for part in case.required):
        return True
    return any(
        case.question.holds(value) or any(part.is_value(value) for part in case.required)
        for value in sentence.contents.values
        if value.value == rival
    )


def _is_disordered(case: JudgedCase, account: AnswerContents, stated: Sequence[WantedPart]) -> bool:
    """Whether an order is asked for, and the parts are stated in another one."""
    if len(stated) < 2 or not _ORDER.search(case.item.text):
        return False
    asked = normalise(case.item.text)
    if not all(part.find_place(asked) for part in case.required):
        return False
    places = [place for part in stated if (place := part.find_place(account.text))]
    return places != sorted(places)


def find_value_findings(case: JudgedCase, account: AnswerContents) -> tuple[Finding, ...]:
    """What is wrong about the values of a wrong answer, as far as rules can name it."""
    if not case.required:
        return ()
    coverage = cover(case, account)
    return (
        *((Finding.STALE,) if coverage.is_stale else ()),
        *((Finding.CONTRADICTION,) if coverage.instead else ()),
    )


def lists_candidates(case: JudgedCase, account: AnswerContents) -> bool:
    """Whether an answer in words of its own names candidates, and not which of them is right."""
    is_open_question = case.right in (RightResponse.ABSTAINS, RightResponse.DECLINES)
    if is_open_question or not case.item.truth.atoms or any(line.dated for line in account.lines):
        return False
    text = account.text
    entries = {entry for one in _ENTRY_BREAK.split(text) if (entry := one.strip(" .-*"))}
    right = {entry for entry in entries if any(part.find_place(entry) for part in case.required)}
    entries = {
        entry
        for entry in entries
        if entry in right or not _PLAIN_WORDS.issuperset(split_words(entry))
    }
    short = [entry for entry in entries - right if len(entry.split()) <= ENTRY_WORDS]
    rivals = {entry for entry in short if _is_rival(entry, case)}
    alike = {
        entry for entry in short if any(_is_alike(entry, part, case) for part in case.required)
    }
    if not right or right | rivals | alike != entries:
        return False  # What says something besides may say which of them is right.
    is_open = _OPEN.search(text) is not None
    return bool(rivals or (is_open and alike)) or len(alike) > len(case.required)


def _is_rival(entry: str, case: JudgedCase) -> bool:
    """Whether an entry of a list is another candidate of the truth, or another value."""
    if any(other.find_place(entry) for other in case.others):
        return True
    values = [atom for atom, _, _ in locate_values(entry)]
    return any(
        part.value is not None and part.value.is_rival_of(value)
        for part in case.required
        for value in values
    )


def _is_alike(entry: str, part: WantedPart, case: JudgedCase) -> bool:
    """Whether an entry of a list could stand in the place of words."""
    if part.value is not None or case.question.words.issuperset(split_words(entry)):
        return False
    if part.stems:
        return entry[:1].islower() or len(entry.split()) > 1
    return entry[:1].isupper() and entry.istitle() == part.text.istitle()
