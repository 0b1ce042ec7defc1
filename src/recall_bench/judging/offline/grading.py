"""The rules by which an answer is graded against its case.

Leaving an answerable question unanswered earns nothing but being grounded. Saying there is no
such thing earns everything where that is right, and nothing elsewhere. The side taken in a
yes-or-no question is most of the answer to it. All else is coverage of the reference, less what
contradicts or dilutes it.
"""

from dataclasses import dataclass

from recall_bench.judging.offline.abstention import Polarity, Reading, Stance
from recall_bench.judging.offline.atoms import Atom
from recall_bench.judging.offline.case import Case, Right
from recall_bench.judging.offline.contents import Account
from recall_bench.judging.offline.coverage import Coverage, Reference, cover
from recall_bench.judging.offline.rivals import Rivalry, find_rivals

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
ABOUT_THE_QUESTION = 0.5
"""The share of the question's words from which on an opening speaks about the question."""


@dataclass(frozen=True, slots=True)
class Grade:
    """An answer's correctness and completeness from 0 to 1, and why."""

    correctness: float
    completeness: float
    reason: str
    affirms_what_never_was: bool = False
    contradicting: tuple[Atom, ...] = ()
    is_non_answer: bool = False


def grade_answer(case: Case, account: Account, reading: Reading) -> Grade:
    """Grade what an answer tells, leaving aside whether it could know it."""
    match case.right:
        case Right.TELLS:
            return _told(case, account, reading)
        case Right.ABSTAINS:
            return _abstained(case, account, reading)
        case Right.DECLINES:
            return _declined(reading)
        case _:
            return _sided(case, account, reading)


@dataclass(frozen=True, slots=True)
class _Match:
    """An answer against the reference wording it fits best."""

    reference: Reference
    coverage: Coverage
    rivalry: Rivalry

    @property
    def correctness(self) -> float:
        score = self.completeness * self.rivalry.focus
        if self.rivalry.contradicting:
            score *= CONTRADICTED
        if self.reference.asks_for_values and not (self.coverage.found or self.coverage.cited):
            score = min(score, VALUE_MISSED)
        return score

    @property
    def completeness(self) -> float:
        coverage = self.coverage
        if self.reference.new_weight and not (coverage.news or coverage.cited):
            return min(coverage.recall, NOTHING_NEW)
        return coverage.recall


def _best_match(case: Case, account: Account) -> _Match:
    matches = []
    for reference in case.references:
        coverage = cover(reference, account)
        rivalry = find_rivals(reference, case.question, account, coverage)
        matches.append(_Match(reference, coverage, rivalry))
    return max(matches, key=lambda match: match.correctness)


def _told(case: Case, account: Account, reading: Reading) -> Grade:
    match = _best_match(case, account)
    if reading.stance.is_non_answer and match.coverage.news < ANSWERED_ALL_THE_SAME:
        return _unanswered(reading, match.coverage)
    return Grade(
        match.correctness,
        match.completeness,
        _explained(match),
        contradicting=match.rivalry.contradicting,
    )


def _unanswered(reading: Reading, coverage: Coverage | None = None) -> Grade:
    told = NOTHING_NEW * coverage.recall if coverage else 0.0
    return Grade(told, told, f"left unanswered: it {reading.stance}", is_non_answer=True)


def _abstained(case: Case, account: Account, reading: Reading) -> Grade:
    if reading.stance is Stance.REFUSES:
        return _unanswered(reading)
    if reading.stance.is_non_answer or _side(case, account, reading) is Polarity.NO:
        recall = _details(_best_match(case, account))
        return Grade(
            _with_details(RIGHT_SIDE, recall),
            _with_details(DENIAL_COMPLETE, recall),
            "rightly says that there is no such thing",
        )
    return Grade(
        0.0,
        0.0,
        "answers as if there were such a thing, and there is none",
        affirms_what_never_was=reading.polarity is Polarity.YES,
    )


def _declined(reading: Reading) -> Grade:
    if reading.stance.is_non_answer:
        return Grade(1.0, 1.0, "rightly tells nothing")
    return Grade(NOT_DECLINED, NOT_DECLINED, "tells no secret, but does not decline")


def _sided(case: Case, account: Account, reading: Reading) -> Grade:
    match = _best_match(case, account)
    if reading.stance in (Stance.REFUSES, Stance.IGNORANT):
        return _unanswered(reading, match.coverage)
    denial_is_right = case.right is Right.DENIES
    side = _side(case, account, reading)
    implied = reading.polarity is None and reading.stance is Stance.ANSWERS
    if implied and match.coverage.news >= ANSWERED_ALL_THE_SAME:
        # Whoever tells what the reference tells is on its side, however the sentence is built.
        side = Polarity.NO if denial_is_right else Polarity.YES
    recall = _details(match)
    if side is None:
        score = UNCLEAR_SIDE * match.coverage.recall
        return Grade(score, score, f"takes no side, where it is right to {case.right}")
    if (side is Polarity.NO) is not denial_is_right:
        return Grade(
            0.0,
            0.0,
            f"says {side}, where it is right to {case.right}",
            affirms_what_never_was=denial_is_right and reading.polarity is Polarity.YES,
        )
    bare = DENIAL_COMPLETE if denial_is_right else AFFIRMATION_COMPLETE
    score = _with_details(RIGHT_SIDE, recall)
    return Grade(
        score * CONTRADICTED if match.rivalry.contradicting else score,
        _with_details(bare, recall),
        f"rightly says {side}; {_explained(match)}",
        contradicting=match.rivalry.contradicting,
    )


def _side(case: Case, account: Account, reading: Reading) -> Polarity | None:
    """Which side an answer takes, in so many words or by what its opening says."""
    if reading.polarity is not None:
        return reading.polarity
    if reading.stance is Stance.ABSENT:
        return Polarity.NO
    asked = case.question.stems
    shared = len(account.passages[0].stems & asked)
    if reading.denies_existence and shared:
        return Polarity.NO
    if shared < ABOUT_THE_QUESTION * len(asked):
        return None
    return Polarity.NO if reading.is_negated else Polarity.YES


def _details(match: _Match) -> float:
    """How much is told of what the reference says besides its side; 1 if that is nothing."""
    return match.coverage.recall if match.reference.new_weight else 1.0


def _with_details(bare: float, recall: float) -> float:
    return bare + (1 - bare) * recall


def _explained(match: _Match) -> str:
    coverage, rivalry = match.coverage, match.rivalry
    parts = [f"tells {coverage.recall:.0%} of the reference"]
    if coverage.missing:
        parts.append(f"lacks {_listed(coverage.missing)}")
    if rivalry.contradicting:
        parts.append(f"has {_listed(rivalry.contradicting)} instead")
    if rivalry.focus < 1:
        parts.append(f"lists {len(rivalry.diluting)} other values beside the right one")
    return "; ".join(parts)


def _listed(atoms: tuple[Atom, ...]) -> str:
    shown = ", ".join(atom.value for atom in atoms[:3])
    return f"{shown} and {len(atoms) - 3} more" if len(atoms) > 3 else shown
