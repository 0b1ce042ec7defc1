"""The rules by which an answer is graded against its case.

Leaving an answerable question unanswered earns nothing but being grounded. Saying there is no
such thing earns everything where that is right, and nothing elsewhere. The side taken in a
yes-or-no question is most of the answer to it. Where the truth says what every right answer
contains, all of that must be told. All else is coverage of the reference, less what contradicts
or dilutes it.
"""

from dataclasses import dataclass, replace

from recall_bench.core.question import Disclosure
from recall_bench.core.verdict import Finding
from recall_bench.judging.offline.abstention import (
    Polarity,
    Reading,
    Stance,
    apart_from_refusal,
    read_stance,
    withholds,
)
from recall_bench.judging.offline.answering import speaks_for_itself
from recall_bench.judging.offline.atoms import Atom
from recall_bench.judging.offline.case import Case, Right
from recall_bench.judging.offline.contents import Account
from recall_bench.judging.offline.coverage import Coverage, Reference, cover
from recall_bench.judging.offline.exact import Exact, Told
from recall_bench.judging.offline.rivals import Rivalry, find_rivals
from recall_bench.judging.offline.siding import affirms_outright, side_of

READ_CHARACTERS = 4000
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
class Grade:
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
    match: "Match | None" = None
    """How the answer fits the reference, where that was looked at."""


def read_answer(case: Case, account: Account) -> Reading:
    """How an answer meets its question; where a part may be told, apart from what it declines."""
    if case.item.truth.disclosure is Disclosure.PARTIAL:
        return read_stance(apart_from_refusal(account.text))
    return read_stance(account.text)


def grade_answer(case: Case, account: Account, reading: Reading) -> Grade:
    """Grade what an answer tells, leaving aside whether it could know it."""
    grade = _graded(case, account, reading)
    stance = {
        Stance.REFUSES: (Finding.REFUSAL,),
        Stance.IGNORANT: (Finding.ABSTENTION,),
        Stance.ABSENT: (Finding.ABSTENTION,),
    }.get(reading.stance, ())
    return replace(grade, is_exact=case.is_exact, findings=(*stance, *grade.findings))


def _graded(case: Case, account: Account, reading: Reading) -> Grade:
    match case.right:
        case Right.TELLS:
            exact = case.exact
            return _exact(exact, account, reading) if exact else _told(case, account, reading)
        case Right.ABSTAINS:
            return _abstained(case, account, reading)
        case Right.DECLINES:
            return _declined(case, account, reading)
        case _:
            return _sided(case, account, reading)


def _exact(exact: Exact, account: Account, reading: Reading) -> Grade:
    told = exact.told(account)
    if reading.stance.is_non_answer and not told.share:
        return _unanswered(reading)
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
    return Grade(
        correctness,
        completeness,
        _told_in_words(told, len(exact.wanted)),
        is_contradicted=Finding.CONTRADICTION in findings,
        findings=findings,
    )


def _told_in_words(told: Told, wanted: int) -> str:
    parts = [f"tells {round(told.share * wanted)} of {wanted} wanted"]
    if told.is_disordered:
        parts.append("puts things in another order")
    if told.missing:
        parts.append(f"lacks {_listed(told.missing)}")
    if told.is_stale:
        parts.append("gives as current what was overtaken")
    if told.instead:
        parts.append(f"has {_listed(told.instead)} instead")
    if told.focus < 1:
        parts.append("lists other values beside the right one")
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Match:
    """An answer against the reference wording it fits best."""

    reference: Reference
    coverage: Coverage
    rivalry: Rivalry

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


def best_match(case: Case, account: Account) -> Match:
    """An answer held against the wording of the reference that it fits best."""
    matches = []
    for reference in case.references:
        coverage = cover(reference, account)
        rivalry = find_rivals(reference, case.question, account, coverage)
        matches.append(Match(reference, coverage, rivalry))
    return max(matches, key=lambda match: match.correctness)


def _told(case: Case, account: Account, reading: Reading) -> Grade:
    match = best_match(case, account)
    if reading.stance.is_non_answer and match.coverage.news < ANSWERED_ALL_THE_SAME:
        return replace(_unanswered(reading, match.coverage), match=match)
    return Grade(
        match.correctness,
        match.completeness,
        _explained(match),
        is_contradicted=bool(match.rivalry.contradicting),
        findings=(Finding.CONTRADICTION,) if match.rivalry.contradicting else (),
        match=match,
    )


def _unanswered(reading: Reading, coverage: Coverage | None = None) -> Grade:
    told = NOTHING_NEW * coverage.recall if coverage else 0.0
    return Grade(told, told, f"left unanswered: it {reading.stance}", is_non_answer=True)


def _abstained(case: Case, account: Account, reading: Reading) -> Grade:
    if reading.stance is Stance.REFUSES:
        return _unanswered(reading)
    if reading.stance.is_non_answer or side_of(case, account, reading) is Polarity.NO:
        recall = 1.0 if case.exact else _details(best_match(case, account))
        return Grade(
            _with_details(RIGHT_SIDE, recall),
            _with_details(DENIAL_COMPLETE, recall),
            "rightly says that there is no such thing",
        )
    return Grade(
        0.0,
        0.0,
        "answers as if there were such a thing, and there is none",
        affirms_what_never_was=affirms_outright(case, account, reading),
    )


def _declined(case: Case, account: Account, reading: Reading) -> Grade:
    says_nothing = speaks_for_itself(account, case.question.stems)
    if reading.stance.is_non_answer or withholds(account.text) or says_nothing:
        return Grade(1.0, 1.0, "rightly tells nothing")
    return Grade(NOT_DECLINED, NOT_DECLINED, "tells no secret, but does not decline")


def _sided(case: Case, account: Account, reading: Reading) -> Grade:
    details = _details_of(case, account)
    if reading.stance in (Stance.REFUSES, Stance.IGNORANT):
        return _unanswered(reading, details.coverage)
    denial_is_right = case.right is Right.DENIES
    side = side_of(case, account, reading)
    implied = reading.polarity is None and reading.stance is Stance.ANSWERS
    if implied and details.news >= ANSWERED_ALL_THE_SAME:
        # Whoever tells what the reference tells is on its side, however the sentence is built.
        side = Polarity.NO if denial_is_right else Polarity.YES
    if side is None:
        score = UNCLEAR_SIDE * details.recall
        return Grade(score, score, f"takes no side, where it is right to {case.right}")
    if (side is Polarity.NO) is not denial_is_right:
        return Grade(
            0.0,
            0.0,
            f"says {side}, where it is right to {case.right}",
            affirms_what_never_was=denial_is_right and affirms_outright(case, account, reading),
            findings=(Finding.CONTRADICTION,),
        )
    bare = DENIAL_COMPLETE if denial_is_right else AFFIRMATION_COMPLETE
    score = _with_details(RIGHT_SIDE, details.told)
    return Grade(
        score * CONTRADICTED if details.is_contradicted else score,
        _with_details(bare, details.told),
        f"rightly says {side}; {details.reason}",
        is_contradicted=details.is_contradicted,
        findings=(Finding.CONTRADICTION,) if details.is_contradicted else (),
    )


@dataclass(frozen=True, slots=True)
class _Details:
    """What an answer tells besides its side."""

    told: float
    """The share of what there is to tell; 1 if that is nothing."""
    recall: float
    news: float
    is_contradicted: bool
    reason: str
    coverage: Coverage | None = None


def _details_of(case: Case, account: Account) -> _Details:
    if case.exact is None:
        match = best_match(case, account)
        coverage = match.coverage
        contradicted = bool(match.rivalry.contradicting)
        return _Details(
            _details(match),
            coverage.recall,
            coverage.news,
            contradicted,
            _explained(match),
            coverage,
        )
    wanted = len(case.exact.wanted)
    if not wanted:
        return _Details(1.0, 0.0, 0.0, is_contradicted=False, reason="nothing else is wanted")
    told = case.exact.told(account)
    reason = _told_in_words(told, wanted)
    return _Details(told.share, told.share, told.share, bool(told.instead), reason)


def _details(match: Match) -> float:
    """How much is told of what the reference says besides its side; 1 if that is nothing."""
    return match.coverage.recall if match.reference.new_weight else 1.0


def _with_details(bare: float, recall: float) -> float:
    return bare + (1 - bare) * recall


def _explained(match: Match) -> str:
    coverage, rivalry = match.coverage, match.rivalry
    parts = [f"tells {coverage.recall:.0%} of the reference"]
    if coverage.missing:
        parts.append(f"lacks {_values(coverage.missing)}")
    if rivalry.contradicting:
        parts.append(f"has {_values(rivalry.contradicting)} instead")
    if rivalry.focus < 1:
        parts.append(f"lists {len(rivalry.diluting)} other values beside the right one")
    return "; ".join(parts)


def _values(atoms: tuple[Atom, ...]) -> str:
    return _listed(tuple(atom.value for atom in atoms))


def _listed(things: tuple[str, ...]) -> str:
    shown = ", ".join(things[:3])
    return f"{shown} and {len(things) - 3} more" if len(things) > 3 else shown
