"""Whether a correction is one: the wrong value before it, the right one from it on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recall_bench.datasets.days import spelled
from recall_bench.datasets.story import Arc
from recall_bench.lint.atoms import Atom, atoms, placed_values, without_values
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.finding import Lint, Remark, Severity
from recall_bench.lint.index import Said
from recall_bench.lint.words import plain, topics

_SUPERSEDED = re.compile(
    r"\b(?:no longer|previous(?:ly)?|former(?:ly)?|replac\w+|old|earlier|initial(?:ly)?"
    r"|original(?:ly)?|supersed\w+|stale|outdated|prior|revis\w+|correct(?:ed|ion|s)|wrong(?:ly)?"
    r"|mistak\w+|historic\w*|retired?|used to)\b",
    re.IGNORECASE,
)
"""Marks whatever a sentence names as past."""
_DISMISSED = re.compile(
    r"\b(?:from|instead of|not|rather than|until)\s(?:\S+\s){0,2}\Z", re.IGNORECASE
)
"""Marks the value that follows as past."""


@dataclass(frozen=True)
class Correction:
    """An arc that replaces one belief by another, and the values in which the two differ."""

    arc: Arc
    day: int
    wrong: tuple[Atom, ...]
    right: tuple[Atom, ...]
    about: frozenset[str]
    """The stems a sentence shares if it is about what is corrected."""

    def said(self, corpus: Corpus, several: tuple[Atom, ...]) -> Iterator[tuple[Atom, Said]]:
        """The sentences with one of the values that are about the same thing."""
        for atom in several:
            for said in corpus.index.said(atom):
                if self.about & said.topics:
                    yield atom, said


def correction_of(arc: Arc) -> Correction | None:
    """What an arc corrects; None if it states no two beliefs and the day of the second."""
    if arc.corrected_day is None or not arc.wrong_belief or not arc.corrected_belief:
        return None
    wrong = [atom for atom in atoms(arc.wrong_belief) if atom.is_exact]
    right = [atom for atom in atoms(arc.corrected_belief) if atom.is_exact]
    both = {atom.value for atom in wrong} & {atom.value for atom in right}
    return Correction(
        arc=arc,
        day=arc.corrected_day,
        wrong=tuple(atom for atom in wrong if atom.value not in both),
        right=tuple(atom for atom in right if atom.value not in both),
        about=_shared(arc),
    )


def corrections(corpus: Corpus) -> Iterator[Correction]:
    """Every correction of the story that its days have come to."""
    for arc in corpus.story.arcs if corpus.story and corpus.days else ():
        correction = correction_of(arc)
        if correction is not None and correction.day <= corpus.days[-1].number:
            yield correction


def _shared(arc: Arc) -> frozenset[str]:
    """What both beliefs speak of, or else either and the title."""
    beliefs = (arc.wrong_belief or "", arc.corrected_belief or "")
    wrong, right = (topics(without_values(belief)) for belief in beliefs)
    return wrong & right or (wrong | right) & topics(arc.title)


def _early(corpus: Corpus) -> Iterator[Remark]:
    for correction in corrections(corpus):
        for atom in correction.right:
            days = _days(correction.said(corpus, (atom,)))
            if before := [day for day in days if day < correction.day]:
                yield corpus.of_arc(
                    correction.arc,
                    f"{atom.shown} is stated on {_brief(before)}, though {correction.arc.id} "
                    f"brings it on day {correction.day}; take it out there, or move correctedDay",
                )


def _lingering(corpus: Corpus) -> Iterator[Remark]:
    for correction in corrections(corpus):
        for atom in correction.wrong:
            after = _days(
                (found, said)
                for found, said in correction.said(corpus, (atom,))
                if said.day > correction.day and not is_superseded(atom, said)
            )
            if after:
                yield corpus.of_arc(
                    correction.arc,
                    f"{atom.shown} is stated as if it held on {_brief(after)}, after "
                    f"{correction.arc.id} corrected it on day {correction.day}; "
                    "mark it as superseded there",
                )


def _unheard(corpus: Corpus) -> Iterator[Remark]:
    for correction in corrections(corpus):
        days = _days(correction.said(corpus, correction.right))
        if correction.right and not any(day >= correction.day for day in days):
            names = ", ".join(atom.shown for atom in correction.right)
            yield corpus.of_arc(
                correction.arc,
                f"{names} is stated on no day from day {correction.day} on, when "
                f"{correction.arc.id} brings it; let that day say it",
            )
        told = _days(correction.said(corpus, correction.wrong))
        if correction.wrong and not any(day < correction.day for day in told):
            names = ", ".join(atom.shown for atom in correction.wrong)
            yield corpus.of_arc(
                correction.arc,
                f"{names} is stated on no day before day {correction.day}, when "
                f"{correction.arc.id} corrects it; let an earlier day say it",
            )


def is_superseded(atom: Atom, said: Said) -> bool:
    """Whether a sentence names a value as one that no longer holds."""
    text = plain(said.text)
    if _SUPERSEDED.search(text) or _SUPERSEDED.search(said.under):
        return True
    return all(
        _DISMISSED.search(text[:start])
        for start, _, found in placed_values(text)
        if (found.kind, found.core) == (atom.kind, atom.core)
    )


def _days(found: Iterator[tuple[Atom, Said]]) -> list[int]:
    return sorted({said.day for _, said in found})


def _brief(days: list[int]) -> str:
    return spelled(days) if len(days) <= 4 else f"{len(days)} days from day {days[0]} on"


LINTS = (
    Lint(
        code="correction-early",
        severity=Severity.ERROR,
        summary="A corrected value is not in the text before its correctedDay: until then the "
        "wrong one is the right answer.",
        check=_early,
    ),
    Lint(
        code="correction-lingering",
        severity=Severity.WARNING,
        summary="After its correctedDay a wrong value is named only as superseded.",
        check=_lingering,
    ),
    Lint(
        code="correction-unheard",
        severity=Severity.ERROR,
        summary="The wrong value is stated before the correctedDay and the corrected one from "
        "then on.",
        check=_unheard,
    ),
)
