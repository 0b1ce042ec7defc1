"""The rules that grade an answer against its case, and check that it is grounded.

A non-answer to an answerable question earns only the grounded mark. Saying that there is no such
thing earns everything where that is right, and nothing elsewhere. In a yes-or-no question the side
taken is most of the answer. Where the truth lists required parts, all must be stated. Otherwise the
grade is the coverage of the reference, less what contradicts or dilutes it.

Grounding checks values and the words of names: they are invented if neither the question, nor the
reference, nor the history up to that day holds them. Whole numbers up to twelve without a unit are
not checked, because they count an answer's own points. A stale value is wrong, but not invented.
"""

import re
from dataclasses import dataclass, replace

from recall_bench.core.scenario import Disclosure
from recall_bench.core.text import split_words
from recall_bench.core.values import QUANTITY, ValueAtom
from recall_bench.core.verdict import Finding
from recall_bench.judging.offline.case import GradingCase, RightResponse, find_side, is_plain_yes
from recall_bench.judging.offline.contents import AnswerContents
from recall_bench.judging.offline.coverage import (
    Coverage,
    Reference,
    RivalValues,
    cover,
    find_rivals,
)
from recall_bench.judging.offline.exact import ExactCoverage, ExactTruth
from recall_bench.judging.offline.history_index import HistoryIndex
from recall_bench.judging.offline.phrase import level_text
from recall_bench.judging.offline.required_part import is_about_itself
from recall_bench.judging.offline.stance import (
    Polarity,
    Stance,
    StanceReading,
    is_withholding,
    read_stance,
    remove_refusing_clauses,
)

MAX_ANSWER_CHARACTERS = 4000
"""An answer is graded on its beginning: whoever recites the whole history has found nothing."""
ANSWERED_ALL_THE_SAME = 0.7
"""An answer that opens by saying it cannot answer has answered if it tells this much news."""
CONTRADICTED = 0.4
"""What remains of correctness where another value stands in the place of the right one."""
VALUE_MISSED = 0.2
"""The most that an answer without any of the asked values can have."""
NOTHING_NEW = 0.1
"""The most that an answer can have which tells only what the question says already."""
RIGHT_SIDE = 0.7
"""The correctness of taking the right side of a yes-or-no question; the details are the rest."""
DENIAL_COMPLETE, AFFIRMATION_COMPLETE = 0.6, 0.4
"""The completeness of a bare no and of a bare yes: there is little to add to what never was."""
UNCLEAR_SIDE = 0.3
"""What coverage is worth where a yes-or-no question gets neither."""
NOT_DECLINED = 0.2
"""What is due to an answer that should have declined and talks of something else."""
PARTLY = 0.55
"""The most completeness there is for a part of several wanted things: never a pass."""


@dataclass(frozen=True, slots=True)
class RuleGrade:
    """An answer's correctness and completeness from 0 to 1, and why."""

    correctness: float
    completeness: float
    reason: str
    affirms_what_never_was: bool = False
    is_contradicted: bool = False
    """Whether another value stands in the place of a right one."""
    is_non_answer: bool = False
    is_exact: bool = False
    """Whether the truth says what a right answer contains, so that the rules' word is final."""
    findings: tuple[Finding, ...] = ()
    match: "ReferenceMatch | None" = None
    """How the answer fits the reference, where that was looked at."""


def read_answer(case: GradingCase, account: AnswerContents) -> StanceReading:
    """How an answer meets its question; where a part may be told, apart from what it declines."""
    if case.item.truth.disclosure is Disclosure.PARTIAL:
        return read_stance(remove_refusing_clauses(account.text))
    return read_stance(account.text)


def grade_answer(case: GradingCase, account: AnswerContents, reading: StanceReading) -> RuleGrade:
    """Grade what an answer tells, leaving aside whether it could know it."""
    grade = _grade_response(case, account, reading)
    stance = {
        Stance.REFUSES: (Finding.REFUSAL,),
        Stance.IGNORANT: (Finding.ABSTENTION,),
        Stance.ABSENT: (Finding.ABSTENTION,),
    }.get(reading.stance, ())
    return replace(grade, is_exact=case.is_exact, findings=(*stance, *grade.findings))


def _grade_response(
    case: GradingCase, account: AnswerContents, reading: StanceReading
) -> RuleGrade:
    match case.right:
        case RightResponse.TELLS:
            exact = case.exact
            return (
                _grade_exact(exact, account, reading)
                if exact
                else _grade_reference(case, account, reading)
            )
        case RightResponse.ABSTAINS:
            return _grade_abstention(case, account, reading)
        case RightResponse.DECLINES:
            return _grade_refusal(case, account, reading)
        case _:
            return _grade_side(case, account, reading)


def _grade_exact(exact: ExactTruth, account: AnswerContents, reading: StanceReading) -> RuleGrade:
    told = exact.compare(account)
    if reading.stance.is_non_answer and not told.share:
        return _grade_non_answer(reading)
    findings = (
        *((Finding.STALE,) if told.is_stale else ()),
        *((Finding.CONTRADICTION,) if told.is_disordered or told.instead else ()),
    )
    # Whoever lists candidates has not said which is right: that costs more than its share.
    correctness = told.share * told.focus**2
    if told.instead:
        correctness *= CONTRADICTED
    completeness = told.focus * (told.share if told.share == 1 else PARTLY * told.share)
    if told.is_stale or told.is_disordered or not told.share:
        correctness = completeness = NOTHING_NEW * told.share
    return RuleGrade(
        correctness,
        completeness,
        _explain_exact(told, len(exact.wanted)),
        is_contradicted=Finding.CONTRADICTION in findings,
        findings=findings,
    )


def _explain_exact(told: ExactCoverage, wanted: int) -> str:
    parts = [f"tells {round(told.share * wanted)} of {wanted} wanted"]
    if told.is_disordered:
        parts.append("puts things in another order")
    if told.missing:
        parts.append(f"lacks {_list_first(told.missing)}")
    if told.is_stale:
        parts.append("gives as current what was overtaken")
    if told.instead:
        parts.append(f"has {_list_first(told.instead)} instead")
    if told.focus < 1:
        parts.append("lists other values beside the right one")
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class ReferenceMatch:
    """An answer against the reference wording it fits best."""

    reference: Reference
    coverage: Coverage
    rivalry: RivalValues

    @property
    def correctness(self) -> float:
        """The share of the reference told, less what contradicts or dilutes it."""
        score = self.completeness * self.rivalry.focus
        if self.rivalry.contradicting:
            score *= CONTRADICTED
        if self.reference.asks_for_values and not (self.coverage.found or self.coverage.cited):
            score = min(score, VALUE_MISSED)
        return score

    @property
    def completeness(self) -> float:
        """The share of the reference told; next to nothing where none of it is news."""
        coverage = self.coverage
        if self.reference.new_weight and not (coverage.news or coverage.cited):
            return min(coverage.recall, NOTHING_NEW)
        return coverage.recall


def find_best_match(case: GradingCase, account: AnswerContents) -> ReferenceMatch:
    """An answer held against the wording of the reference that it fits best."""
    matches = []
    for reference in case.references:
        coverage = cover(reference, account)
        rivalry = find_rivals(reference, case.question, account, coverage)
        matches.append(ReferenceMatch(reference, coverage, rivalry))
    return max(matches, key=lambda match: match.correctness)


def _grade_reference(
    case: GradingCase, account: AnswerContents, reading: StanceReading
) -> RuleGrade:
    match = find_best_match(case, account)
    if reading.stance.is_non_answer and match.coverage.news < ANSWERED_ALL_THE_SAME:
        return replace(_grade_non_answer(reading, match.coverage), match=match)
    return RuleGrade(
        match.correctness,
        match.completeness,
        _explain_match(match),
        is_contradicted=bool(match.rivalry.contradicting),
        findings=(Finding.CONTRADICTION,) if match.rivalry.contradicting else (),
        match=match,
    )


def _grade_non_answer(reading: StanceReading, coverage: Coverage | None = None) -> RuleGrade:
    told = NOTHING_NEW * coverage.recall if coverage else 0.0
    return RuleGrade(told, told, f"left unanswered: it {reading.stance}", is_non_answer=True)


def _grade_abstention(
    case: GradingCase, account: AnswerContents, reading: StanceReading
) -> RuleGrade:
    if reading.stance is Stance.REFUSES:
        return _grade_non_answer(reading)
    if reading.stance.is_non_answer or find_side(case, account, reading) is Polarity.NO:
        recall = 1.0 if case.exact else _measure_details(find_best_match(case, account))
        return RuleGrade(
            _add_details(RIGHT_SIDE, recall),
            _add_details(DENIAL_COMPLETE, recall),
            "rightly says that there is no such thing",
        )
    return RuleGrade(
        0.0,
        0.0,
        "answers as if there were such a thing, and there is none",
        affirms_what_never_was=is_plain_yes(case, account, reading),
    )


def _grade_refusal(case: GradingCase, account: AnswerContents, reading: StanceReading) -> RuleGrade:
    says_nothing = is_about_itself(account, case.question.stems)
    if reading.stance.is_non_answer or is_withholding(account.text) or says_nothing:
        return RuleGrade(1.0, 1.0, "rightly tells nothing")
    return RuleGrade(NOT_DECLINED, NOT_DECLINED, "tells no secret, but does not decline")


def _grade_side(case: GradingCase, account: AnswerContents, reading: StanceReading) -> RuleGrade:
    details = _collect_details(case, account)
    if reading.stance in (Stance.REFUSES, Stance.IGNORANT):
        return _grade_non_answer(reading, details.coverage)
    denial_is_right = case.right is RightResponse.DENIES
    side = find_side(case, account, reading)
    implied = reading.polarity is None and reading.stance is Stance.ANSWERS
    if implied and details.news >= ANSWERED_ALL_THE_SAME:
        # Whoever tells what the reference tells is on its side, however the sentence is built.
        side = Polarity.NO if denial_is_right else Polarity.YES
    if side is None:
        score = UNCLEAR_SIDE * details.recall
        return RuleGrade(score, score, f"takes no side, where it is right to {case.right}")
    if (side is Polarity.NO) is not denial_is_right:
        return RuleGrade(
            0.0,
            0.0,
            f"says {side}, where it is right to {case.right}",
            affirms_what_never_was=denial_is_right and is_plain_yes(case, account, reading),
            findings=(Finding.CONTRADICTION,),
        )
    bare = DENIAL_COMPLETE if denial_is_right else AFFIRMATION_COMPLETE
    score = _add_details(RIGHT_SIDE, details.told)
    return RuleGrade(
        score * CONTRADICTED if details.is_contradicted else score,
        _add_details(bare, details.told),
        f"rightly says {side}; {details.reason}",
        is_contradicted=details.is_contradicted,
        findings=(Finding.CONTRADICTION,) if details.is_contradicted else (),
    )


@dataclass(frozen=True, slots=True)
class _SideDetails:
    """What an answer tells besides its side."""

    told: float
    """The share of what there is to tell; 1 if that is nothing."""
    recall: float
    news: float
    is_contradicted: bool
    reason: str
    coverage: Coverage | None = None


def _collect_details(case: GradingCase, account: AnswerContents) -> _SideDetails:
    if case.exact is None:
        match = find_best_match(case, account)
        coverage = match.coverage
        contradicted = bool(match.rivalry.contradicting)
        return _SideDetails(
            _measure_details(match),
            coverage.recall,
            coverage.news,
            contradicted,
            _explain_match(match),
            coverage,
        )
    wanted = len(case.exact.wanted)
    if not wanted:
        return _SideDetails(1.0, 0.0, 0.0, is_contradicted=False, reason="nothing else is wanted")
    told = case.exact.compare(account)
    reason = _explain_exact(told, wanted)
    return _SideDetails(told.share, told.share, told.share, bool(told.instead), reason)


def _measure_details(match: ReferenceMatch) -> float:
    """How much is told of what the reference says besides its side; 1 if that is nothing."""
    return match.coverage.recall if match.reference.new_weight else 1.0


def _add_details(bare: float, recall: float) -> float:
    return bare + (1 - bare) * recall


def _explain_match(match: ReferenceMatch) -> str:
    coverage, rivalry = match.coverage, match.rivalry
    parts = [f"tells {coverage.recall:.0%} of the reference"]
    if coverage.missing:
        parts.append(f"lacks {_list_values(coverage.missing)}")
    if rivalry.contradicting:
        parts.append(f"has {_list_values(rivalry.contradicting)} instead")
    if rivalry.focus < 1:
        parts.append(f"lists {len(rivalry.diluting)} other values beside the right one")
    return "; ".join(parts)


def _list_values(atoms: tuple[ValueAtom, ...]) -> str:
    return _list_first(tuple(atom.value for atom in atoms))


def _list_first(things: tuple[str, ...]) -> str:
    shown = ", ".join(things[:3])
    return f"{shown} and {len(things) - 3} more" if len(things) > 3 else shown


_QUOTATION = re.compile(r'"([^"\n]{3,400}?)(?:\S*\.\.\.)?"')

SMALL_COUNT = 12
QUOTED_LETTERS = 4
"""Shorter words in quotation marks are not worth checking."""
NON_ANSWER_TRUST = 0.4
DOUBT_PER_EXTRA_VALUE = 0.1
MOST_EXTRA_VALUES = 5
DOUBT_OF_CONTRADICTION = 0.3


@dataclass(frozen=True, slots=True)
class ExtraClaims:
    """What an answer tells beyond the question and the reference."""

    invented: tuple[str, ...]
    """The values and names that had not been told by then."""
    extra: int
    """How many values are not the question's or the reference's, told or not."""


_NO_CLAIMS = ExtraClaims((), 0)


def find_extra_claims(
    case: GradingCase, account: AnswerContents, history: HistoryIndex, days: int
) -> ExtraClaims:
    """What an answer tells beyond its case, checked against the history up to a day.

    Where no history is known, nothing can be said to be invented.
    """
    if history.is_empty:
        return _NO_CLAIMS
    known, answer = case.known, account.contents
    extra = [
        value
        for value in answer.values
        if not _is_small_count(value) and not any(text.holds(value) for text in known)
    ]
    invented = [value.value for value in extra if not history.is_value_known(value, days)]
    said = frozenset[str]().union(*(text.words for text in known))
    names = {name for name in answer.names - said if not history.is_word_known(name, days)}
    quoted = {
        word for word in _list_quoted_words(account.text) if not history.is_stem_known(word, days)
    }
    unsaid = sorted(names | (quoted - said))
    told = _find_literals(case, account) if invented or unsaid else ""
    news = [thing for thing in (*invented, *unsaid) if level_text(thing) not in told]
    return ExtraClaims(tuple(news), len(extra))


def _find_literals(case: GradingCase, account: AnswerContents) -> str:
    """What the truth writes and the answer spells in its own way, as in PX 40817 for PX-40817."""
    things = case.exact.wanted if case.exact else ()
    said = level_text(account.text)
    return " ".join(one for thing in things for one in thing.literals if one in said)


def _list_quoted_words(text: str) -> list[str]:
    """The words of what a plain text puts in quotation marks: somebody must have said them."""
    if '"' not in text:
        return []
    found = (word for quoted in _QUOTATION.findall(text) for word in split_words(quoted))
    return [word for word in found if len(word) >= QUOTED_LETTERS and word.isalpha()]


def score_groundedness(grade: RuleGrade, grounds: ExtraClaims) -> float:
    """From 0 to 1; at least a half exactly where nothing is invented.

    The upper half ranks answers that invent nothing by how much else there is to believe.
    """
    if grounds.invented or grade.affirms_what_never_was:
        return 0.25 * grade.correctness
    trust = NON_ANSWER_TRUST if grade.is_non_answer else grade.correctness
    trust -= DOUBT_PER_EXTRA_VALUE * min(grounds.extra, MOST_EXTRA_VALUES)
    if grade.is_contradicted:
        trust -= DOUBT_OF_CONTRADICTION
    return 0.5 + 0.5 * max(trust, 0.0)


def _is_small_count(value: ValueAtom) -> bool:
    if value.kind != QUANTITY or not value.is_bare:
        return False
    number = float(value.core)
    return number <= SMALL_COUNT and number.is_integer()
