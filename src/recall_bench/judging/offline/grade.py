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

import msgspec
from msgspec.structs import replace

from recall_bench.core.scenario import Disclosure, Expects
from recall_bench.core.verdict import Finding
from recall_bench.judging.offline.answer_sentence import is_about_itself, weigh_sentences
from recall_bench.judging.offline.calculation import find_computed
from recall_bench.judging.offline.case import (
    GradingCase,
    RightResponse,
)
from recall_bench.judging.offline.contents import (
    AnswerContents,
    LineContents,
    TextContents,
    join_contents,
)
from recall_bench.judging.offline.coverage import (
    Coverage,
    Reference,
    RivalValues,
    cover,
    find_rivals,
)
from recall_bench.judging.offline.exact import UNDECIDED, ExactCoverage, ExactTruth
from recall_bench.judging.offline.history_index import HistoryAsOf
from recall_bench.judging.offline.phrase import level_text
from recall_bench.judging.offline.relations import find_opposite, read_time_relation
from recall_bench.judging.offline.required_part import is_misspelling
from recall_bench.judging.offline.side import (
    find_side,
    guesses_all_the_same,
    is_plain_yes,
    names_other_substitute,
    takes_both_sides,
)
from recall_bench.judging.offline.stance import (
    Polarity,
    Stance,
    StanceReading,
    is_bare_side,
    is_polar,
    is_source_silent,
    is_withholding,
    read_stance,
    remove_refusing_clauses,
)
from recall_bench.text.text import normalise, split_words
from recall_bench.text.values import IDENTIFIER, QUANTITY, ValueAtom

MAX_ANSWER_CHARACTERS = 4000
"""Only the beginning of an answer is graded: reciting the whole history is not an answer."""
ANSWERED_ALL_THE_SAME = 0.7
"""An answer that opens with a non-answer still answers if it states this share of the news."""
CONTRADICTED = 0.4
"""What remains of correctness where another value stands in place of the right one."""
VALUE_MISSED = 0.2
"""The most correctness without any of the asked values."""
NOTHING_NEW = 0.1
"""The most for an answer that only repeats the question."""
RIGHT_SIDE = 0.7
"""The correctness of the right side in a yes-or-no question; details are the rest."""
DENIAL_COMPLETE, AFFIRMATION_COMPLETE = 0.6, 0.4
"""The completeness of a bare no and of a bare yes."""
UNCLEAR_SIDE = 0.3
"""The share of coverage that counts where a yes-or-no question gets no side."""
NOT_DECLINED = 0.2
"""The grade of an answer that should decline and talks of something else."""
CLEAR_FOCUS = 0.5
"""With more wrong candidates than right ones, a list of them is not an answer at all."""
PARTLY_RIGHT = 0.34
"""The most correctness for a part of several required parts: never a pass."""
LEAST_SHARE = 0.5
"""With fewer of several required parts, an answer earns nothing: constants hit one by chance."""
NO_COMMITMENT = "quotes at length, and does not say what of it is the answer"
PARTLY = 0.55
"""The most completeness for a part of several required parts: never a pass."""


class RuleGrade(msgspec.Struct, frozen=True, gc=False):
    """Correctness and completeness from 0 to 1, and why."""

    correctness: float
    completeness: float
    reason: str
    affirms_what_never_was: bool = False
    is_contradicted: bool = False
    """Whether another value stands in place of a right one."""
    is_non_answer: bool = False
    is_exact: bool = False
    """Whether the truth lists what a right answer contains, so that rules decide alone."""
    findings: tuple[Finding, ...] = ()
    is_stated: bool | None = None
    """Whether a short reference is stated in full; None for longer ones."""
    match: "ReferenceMatch | None" = None
    """How the answer matches the reference, where that was compared."""


def read_answer(case: GradingCase, account: AnswerContents) -> StanceReading:
    """The stance of an answer; where a part may be disclosed, without the clauses that decline."""
    if case.item.truth.disclosure is Disclosure.PARTIAL:
        return read_stance(remove_refusing_clauses(account.text))
    return read_stance(account.text)


def grade_answer(case: GradingCase, account: AnswerContents, reading: StanceReading) -> RuleGrade:
    """Grade what an answer states, not whether it is grounded."""
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
    found = exact.compare(account)
    if reading.stance.is_non_answer and not found.share:
        return _grade_non_answer(reading)
    findings = (
        *((Finding.STALE,) if found.is_stale else ()),
        *((Finding.CONTRADICTION,) if found.is_contradicted else ()),
    )
    # Listing candidates does not say which is right: that costs more than its share.
    correctness = found.share * found.focus**2
    if found.share < 1:
        correctness = min(correctness, PARTLY_RIGHT)
    if found.instead:
        correctness *= CONTRADICTED
    completeness = found.focus * (found.share if found.share == 1 else PARTLY * found.share)
    if found.focus < CLEAR_FOCUS:
        completeness = min(completeness, NOTHING_NEW)
    if found.is_stale or found.is_disordered or found.conflict or found.share < LEAST_SHARE:
        correctness = completeness = NOTHING_NEW * found.share
    return RuleGrade(
        correctness,
        completeness,
        _explain_exact(found, len(exact.required)),
        is_contradicted=Finding.CONTRADICTION in findings,
        findings=findings,
    )


def _explain_exact(found: ExactCoverage, required: int) -> str:
    if found.is_recital:
        return NO_COMMITMENT
    parts = [f"tells {round(found.share * required)} of {required} wanted"]
    if found.is_disordered:
        parts.append("puts things in another order")
    if found.missing:
        parts.append(f"lacks {_list_first(found.missing)}")
    if found.is_stale:
        parts.append("gives as current what was overtaken")
    if found.instead:
        parts.append(f"has {_list_first(found.instead)} instead")
    if found.focus < 1:
        parts.append("lists other values beside the right one")
    if found.conflict:
        parts.append(f"puts it together wrongly: {found.conflict}")
    return "; ".join(parts)


class ReferenceMatch(msgspec.Struct, frozen=True, gc=False):
    """An answer against the reference wording it matches best."""

    reference: Reference
    coverage: Coverage
    rivalry: RivalValues

    @property
    def correctness(self) -> float:
        """The stated share of the reference, less what contradicts or dilutes it."""
        score = self.completeness * self.rivalry.focus
        if self.rivalry.contradicting:
            score *= CONTRADICTED
        if self.reference.asks_for_values and not (self.coverage.found or self.coverage.cited):
            score = min(score, VALUE_MISSED)
        return score

    @property
    def completeness(self) -> float:
        """The stated share of the reference; next to nothing where none of it is news."""
        coverage = self.coverage
        if self.reference.new_weight and not (coverage.news or coverage.cited):
            return min(coverage.recall, NOTHING_NEW)
        return coverage.recall


def find_best_match(case: GradingCase, account: AnswerContents) -> ReferenceMatch:
    """An answer compared with the reference wording that it matches best."""
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
    is_stated = _is_gist_stated(case, account)
    if is_stated is not None:
        return RuleGrade(
            float(is_stated),
            float(is_stated),
            "tells the reference" if is_stated else "does not tell the reference",
            is_stated=is_stated,
            match=match,
        )
    return RuleGrade(
        match.correctness,
        match.completeness,
        _explain_match(match),
        is_contradicted=bool(match.rivalry.contradicting),
        findings=(Finding.CONTRADICTION,) if match.rivalry.contradicting else (),
        match=match,
    )


def _is_gist_stated(case: GradingCase, account: AnswerContents) -> bool | None:
    """Whether an answer states a short reference; None where the reference is longer."""
    question, reference = normalise(case.item.text), normalise(case.item.truth.reference)
    if case.relation is not None:
        time_relation = read_time_relation(question, account.text, case.reader)
        if time_relation is not None:
            return time_relation == case.relation
    if case.gist is None or case.gist.phrase is None:
        return None
    if find_opposite(reference, question, account.text, case.reader):
        return False
    sentences = weigh_sentences(account, case.question.stems, frozenset())
    if any(case.gist.is_in(sentence, case.reader) for sentence in sentences):
        return True
    # What is only left out may be understood; most of it missing or denied is something else.
    news = case.gist.phrase.content - case.gist.given
    target = case.reader.read_phrase(account.text)
    missing = case.gist.phrase.find_missing(target, case.gist.given)
    is_denied = len(news) <= 2 and not missing
    return False if is_denied or 2 * len(missing) >= len(news) else None


def _grade_non_answer(reading: StanceReading, coverage: Coverage | None = None) -> RuleGrade:
    score = NOTHING_NEW * coverage.recall if coverage else 0.0
    return RuleGrade(score, score, f"left unanswered: it {reading.stance}", is_non_answer=True)


def _grade_abstention(
    case: GradingCase, account: AnswerContents, reading: StanceReading
) -> RuleGrade:
    if reading.stance is Stance.REFUSES:
        return _grade_non_answer(reading)
    if reading.stance is Stance.IGNORANT and case.is_denial_due:
        # A No has to deny: not knowing is an abstention, here as anywhere.
        return _grade_non_answer(reading)
    abstains = reading.stance.is_non_answer or find_side(case, account, reading) is Polarity.NO
    if abstains and is_bare_side(account.text) and not is_polar(normalise(case.item.text)):
        return RuleGrade(0.0, 0.0, "says no, where nothing is asked that has a side")
    if abstains and names_other_substitute(case, account):
        return RuleGrade(
            0.0,
            0.0,
            "rightly says no, and puts another in the place",
            is_contradicted=True,
            findings=(Finding.CONTRADICTION,),
        )
    if abstains and not (case.is_unknown and guesses_all_the_same(case, account)):
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
    is_silent = reading.stance is Stance.ABSENT and is_source_silent(account.text)
    is_silent = is_silent and case.exact is not None
    is_correction = case.item.truth.expects is Expects.CORRECT
    if is_correction and not details.recall:
        # Where the history denies it, to find nothing on record is not to have found that.
        is_silent = reading.stance is Stance.ABSENT
    if reading.stance in (Stance.REFUSES, Stance.IGNORANT) or is_silent:
        return _grade_non_answer(reading, details.coverage)
    if details.is_undecided and reading.polarity is None:
        return RuleGrade(0.0, 0.0, f"takes no side; {details.reason}")
    denial_is_right = case.right is RightResponse.DENIES
    side = find_side(case, account, reading)
    implied = reading.polarity is None and reading.stance is Stance.ANSWERS
    implied = implied and not details.is_contradicted
    if implied and details.news >= ANSWERED_ALL_THE_SAME and not takes_both_sides(account):
        # An answer that states what the reference states is on its side, however it is phrased.
        side = Polarity.NO if denial_is_right else Polarity.YES
    if side is None:
        score = 0.0 if details.is_contradicted else UNCLEAR_SIDE * details.recall
        return RuleGrade(score, score, f"takes no side, where it is right to {case.right}")
    if (side is Polarity.NO) is not denial_is_right:
        return RuleGrade(
            0.0,
            0.0,
            f"says {side}, where it is right to {case.right}",
            affirms_what_never_was=denial_is_right and is_plain_yes(case, account, reading),
            findings=(Finding.CONTRADICTION,),
        )
    is_whole = denial_is_right and not is_correction
    bare = DENIAL_COMPLETE if is_whole else AFFIRMATION_COMPLETE
    score = _add_details(RIGHT_SIDE, details.share)
    return RuleGrade(
        score * CONTRADICTED if details.is_contradicted else score,
        _add_details(bare, details.share),
        f"rightly says {side}; {details.reason}",
        is_contradicted=details.is_contradicted,
        findings=(Finding.CONTRADICTION,) if details.is_contradicted else (),
    )


class _SideDetails(msgspec.Struct, frozen=True, gc=False):
    """What an answer states besides its side."""

    share: float
    """The share of the details; 1 if there are none."""
    recall: float
    news: float
    is_contradicted: bool
    reason: str
    coverage: Coverage | None = None
    is_undecided: bool = False
    """Whether candidates are listed and none is chosen."""


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
    required = len(case.exact.required)
    if not required:
        return _SideDetails(1.0, 0.0, 0.0, is_contradicted=False, reason="nothing else is wanted")
    found = case.exact.compare(account)
    reason = _explain_exact(found, required)
    return _SideDetails(
        *(found.share, found.share, found.share, found.is_contradicted, reason),
        is_undecided=found.conflict == UNDECIDED,
    )


def _measure_details(match: ReferenceMatch) -> float:
    """The stated share of what the reference says besides its side; 1 if that is nothing."""
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
"""Shorter words in quotation marks are not checked."""
NON_ANSWER_TRUST = 0.4
DOUBT_PER_EXTRA_VALUE = 0.1
MOST_EXTRA_VALUES = 5
DOUBT_OF_CONTRADICTION = 0.3


class ExtraClaims(msgspec.Struct, frozen=True, gc=False):
    """What an answer claims beyond the question and the reference."""

    invented: tuple[str, ...]
    """The values and names that the history had not mentioned by then."""
    extra: int
    """The number of values beyond the question and the reference, invented or not."""


_NO_CLAIMS = ExtraClaims((), 0)


def find_extra_claims(
    case: GradingCase, account: AnswerContents, history: HistoryAsOf
) -> ExtraClaims:
    """What an answer claims beyond its case, checked against the history up to a day.

    Without a history, nothing counts as invented.
    """
    if history.is_empty:
        return _NO_CLAIMS
    known = case.known
    own = [
        line
        for line in account.lines
        if not line.dated or history.find_quoted_sessions(line.dated, line.sentences) is None
    ]
    answer = account.contents if len(own) == len(account.lines) else _join_lines(own)
    required = case.exact.required if case.exact else ()
    extra = [
        value
        for value in answer.values
        if not _is_harmless(value, case)
        and not any(text.holds(value) for text in known)
        and not any(part.is_value(value) for part in required)
    ]
    invented = [value for value in extra if not history.is_value_known(value)]
    computed = find_computed(account.text) if invented else frozenset[float]()
    invented_values = [
        value.value
        for value in invented
        if value.kind != QUANTITY or abs(float(value.core)) not in computed
    ]
    known_words = case.known_words
    names = {
        name
        for name in answer.names - known_words
        if not history.is_word_known(name)
        and not any(name[:1] == word[:1] and is_misspelling(name, word) for word in known_words)
    }
    quoted = {word for word in _list_quoted_words(account.text) if not history.is_stem_known(word)}
    unknown = sorted(names | (quoted - known_words))
    literals = _find_literals(case, account) if invented_values or unknown else ""
    news = [thing for thing in (*invented_values, *unknown) if level_text(thing) not in literals]
    return ExtraClaims(tuple(news), len(extra))


def _join_lines(lines: list[LineContents]) -> TextContents:
    whole = join_contents([passage for line in lines for passage in line.passages])
    return replace(whole, names=frozenset[str]().union(*(line.names for line in lines)))


def _find_literals(case: GradingCase, account: AnswerContents) -> str:
    """Literals of the truth that the answer spells in its own way: PX 40817 for PX-40817."""
    things = case.exact.required if case.exact else ()
    text = level_text(account.text)
    return " ".join(one for thing in things for one in thing.literals if one in text)


def _list_quoted_words(text: str) -> list[str]:
    """The words inside quotation marks: the history must hold them."""
    if '"' not in text:
        return []
    found = (word for quoted in _QUOTATION.findall(text) for word in split_words(quoted))
    return [word for word in found if len(word) >= QUOTED_LETTERS and word.isalpha()]


def score_groundedness(grade: RuleGrade, grounds: ExtraClaims) -> float:
    """From 0 to 1; at least a half exactly where nothing is invented.

    The upper half ranks answers without inventions by how much else they claim.
    """
    if grounds.invented or grade.affirms_what_never_was:
        return 0.25 * grade.correctness
    trust = NON_ANSWER_TRUST if grade.is_non_answer else grade.correctness
    trust -= DOUBT_PER_EXTRA_VALUE * min(grounds.extra, MOST_EXTRA_VALUES)
    if grade.is_contradicted:
        trust -= DOUBT_OF_CONTRADICTION
    return 0.5 + 0.5 * max(trust, 0.0)


_PERIOD = re.compile(r"(?:q[1-4]|h[12]|fy\d\d)")


def _is_harmless(value: ValueAtom, case: GradingCase) -> bool:
    """Whether a value need not be in the history: a small count, quarter, ordinal or interval.

    An interval counts if it is that between two days of the evidence.
    """
    if value.kind == IDENTIFIER:
        return _PERIOD.fullmatch(value.value) is not None
    if _is_small_count(value) or value.value.endswith(" th"):
        return True
    if not value.measure.endswith(" s"):
        return False
    dates = {cited.day for cited in case.item.truth.evidence}
    seconds = float(value.measure.partition(" ")[0])
    return any(abs(one - other) * SECONDS_A_DAY == seconds for one in dates for other in dates)


SECONDS_A_DAY = 86_400


def _is_small_count(value: ValueAtom) -> bool:
    if value.kind != QUANTITY or not value.is_bare:
        return False
    number = float(value.core)
    return number <= SMALL_COUNT and number.is_integer()
