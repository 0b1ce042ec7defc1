"""A question's evidence against the sentences that state its answer."""

from collections.abc import Iterator

from recall_bench.proof.derived import DerivedAnswer
from recall_bench.proof.finding import VerificationCode, VerificationProblem
from recall_bench.proof.inquiry import EvidenceClaim, QuestionClaims
from recall_bench.proof.passages import DaySentence


def check_evidence(
    inquiry: QuestionClaims, derived: DerivedAnswer
) -> Iterator[VerificationProblem]:
    """Everything in which the evidence departs from the sentences that state the answer."""
    places = {place: s for s in derived.allowed for place in _list_places(s)}
    cited: set[DaySentence] = set()
    for claim in inquiry.evidence:
        sentence = places.get((claim.day, claim.session, claim.start, claim.end))
        if sentence is None:
            yield VerificationProblem(
                VerificationCode.EVIDENCE, _explain_misplacement(claim, derived)
            )
        else:
            cited.add(sentence)
    yield from _find_missing_citations(derived, cited)
    yield from _compare_days(inquiry, derived)


def _list_places(sentence: DaySentence) -> Iterator[tuple[int, str, int, int]]:
    """The spans by which a sentence may be cited: itself, or the entry or quoted line it is in."""
    yield sentence.day, sentence.session, sentence.start, sentence.end
    if sentence.line:
        mark, words, end = sentence.line
        yield sentence.day, sentence.session, mark, end
        yield sentence.day, sentence.session, words, end
        yield sentence.day, sentence.session, mark, sentence.end


def _explain_misplacement(claim: EvidenceClaim, derived: DerivedAnswer) -> str:
    near = [s for s in derived.allowed if s.day == claim.day]
    problem = f"the evidence {claim} is no sentence that states the answer"
    if not near:
        return f"{problem}, and no sentence of that day does"
    nearest = min(near, key=lambda s: abs(s.start - claim.start) + abs(s.end - claim.end))
    return f"{problem}; the nearest is {nearest.place}"


def _find_missing_citations(
    derived: DerivedAnswer, cited: set[DaySentence]
) -> Iterator[VerificationProblem]:
    first = min((s.day for s in cited), default=None)
    for group in derived.needed:
        if group & cited:
            continue
        sentence = min(group, key=lambda s: s.start)
        if derived.earlier and first is not None and sentence.day < first:
            yield VerificationProblem(
                VerificationCode.TOO_EARLY,
                f"the answer is stated before the first evidence on day {first}; {sentence.place}",
            )
        else:
            yield VerificationProblem(
                VerificationCode.EVIDENCE,
                f"the evidence lacks a sentence that states it; {sentence.place}",
            )


def _compare_days(inquiry: QuestionClaims, derived: DerivedAnswer) -> Iterator[VerificationProblem]:
    days = {claim.day for claim in inquiry.evidence}
    if not days and not derived.needed:
        # What never happened is stated nowhere: any day that speaks of the thread will do.
        spoken = {s.day for s in derived.allowed}
        strange = sorted(set(inquiry.relevant_days) - spoken)
        if strange:
            yield VerificationProblem(
                VerificationCode.RELEVANT_DAYS,
                f"day {strange[0]} is relevant but never names the thread",
            )
    elif days != set(inquiry.relevant_days):
        yield VerificationProblem(
            VerificationCode.RELEVANT_DAYS,
            f"the relevant days are {sorted(set(inquiry.relevant_days))} and the days of the "
            f"evidence {sorted(days)}",
        )
