"""Whether a correction is one: the wrong value before it, the right one from it on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recall_bench.datasets.days import format_days
from recall_bench.datasets.story import Arc
from recall_bench.lint.atoms import TextValue, find_claims, locate_values, remove_values
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.finding import Lint, Remark, Severity
from recall_bench.lint.index import SentenceMention
from recall_bench.lint.words import collect_topics, normalise_text

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
class CorrectionArc:
    """An arc that replaces one belief by another, and the values in which the two differ."""

    arc: Arc
    day: int
    wrong: tuple[TextValue, ...]
    right: tuple[TextValue, ...]
    about: frozenset[str]
    """The stems a sentence shares if it is about what is corrected."""

    def find_mentions(
        self, corpus: LintCorpus, several: tuple[TextValue, ...]
    ) -> Iterator[tuple[TextValue, SentenceMention]]:
        """The sentences with one of the values that are about the same thing."""
        for atom in several:
            for said in corpus.index.find_mentions(atom):
                if self.about & said.topics:
                    yield atom, said


def read_correction(arc: Arc) -> CorrectionArc | None:
    """What an arc corrects; None if it states no two beliefs and the day of the second."""
    if arc.corrected_day is None or not arc.wrong_belief or not arc.corrected_belief:
        return None
    wrong = [atom for atom in find_claims(arc.wrong_belief) if atom.is_exact]
    right = [atom for atom in find_claims(arc.corrected_belief) if atom.is_exact]
    both = {atom.value for atom in wrong} & {atom.value for atom in right}
    return CorrectionArc(
        arc=arc,
        day=arc.corrected_day,
        wrong=tuple(atom for atom in wrong if atom.value not in both),
        right=tuple(atom for atom in right if atom.value not in both),
        about=_find_shared_topics(arc),
    )


def list_corrections(corpus: LintCorpus) -> Iterator[CorrectionArc]:
    """Every correction of the story that its days have come to."""
    for arc in corpus.story.arcs if corpus.story and corpus.days else ():
        correction = read_correction(arc)
        if correction is not None and correction.day <= corpus.days[-1].number:
            yield correction


def _find_shared_topics(arc: Arc) -> frozenset[str]:
    """What both beliefs speak of, or else either and the title."""
    beliefs = (arc.wrong_belief or "", arc.corrected_belief or "")
    wrong, right = (collect_topics(remove_values(belief)) for belief in beliefs)
    return wrong & right or (wrong | right) & collect_topics(arc.title)


def _check_early_values(corpus: LintCorpus) -> Iterator[Remark]:
    for correction in list_corrections(corpus):
        for atom in correction.right:
            days = _list_days(correction.find_mentions(corpus, (atom,)))
            if before := [day for day in days if day < correction.day]:
                yield corpus.note_arc(
                    correction.arc,
                    f"{atom.shown} is stated on {_format_day_list(before)}, though {correction.arc.id} "
                    f"brings it on day {correction.day}; take it out there, or move correctedDay",
                )


def _check_lingering_values(corpus: LintCorpus) -> Iterator[Remark]:
    for correction in list_corrections(corpus):
        for atom in correction.wrong:
            after = _list_days(
                (found, said)
                for found, said in correction.find_mentions(corpus, (atom,))
                if said.day > correction.day and not is_superseded(atom, said)
            )
            if after:
                yield corpus.note_arc(
                    correction.arc,
                    f"{atom.shown} is stated as if it held on {_format_day_list(after)}, after "
                    f"{correction.arc.id} corrected it on day {correction.day}; "
                    "mark it as superseded there",
                )


def _check_missing_values(corpus: LintCorpus) -> Iterator[Remark]:
    for correction in list_corrections(corpus):
        days = _list_days(correction.find_mentions(corpus, correction.right))
        if correction.right and not any(day >= correction.day for day in days):
            names = ", ".join(atom.shown for atom in correction.right)
            yield corpus.note_arc(
                correction.arc,
                f"{names} is stated on no day from day {correction.day} on, when "
                f"{correction.arc.id} brings it; let that day say it",
            )
        told = _list_days(correction.find_mentions(corpus, correction.wrong))
        if correction.wrong and not any(day < correction.day for day in told):
            names = ", ".join(atom.shown for atom in correction.wrong)
            yield corpus.note_arc(
                correction.arc,
                f"{names} is stated on no day before day {correction.day}, when "
                f"{correction.arc.id} corrects it; let an earlier day say it",
            )


def is_superseded(atom: TextValue, said: SentenceMention) -> bool:
    """Whether a sentence names a value as one that no longer holds."""
    text = normalise_text(said.text)
    if _SUPERSEDED.search(text) or _SUPERSEDED.search(said.under):
        return True
    return all(
        _DISMISSED.search(text[:start])
        for start, _, found in locate_values(text)
        if (found.kind, found.core) == (atom.kind, atom.core)
    )


def _list_days(found: Iterator[tuple[TextValue, SentenceMention]]) -> list[int]:
    return sorted({said.day for _, said in found})


def _format_day_list(days: list[int]) -> str:
    return format_days(days) if len(days) <= 4 else f"{len(days)} days from day {days[0]} on"


CORRECTION_LINTS = (
    Lint(
        code="correction-early",
        severity=Severity.ERROR,
        summary="A corrected value is not in the text before its correctedDay: until then the "
        "wrong one is the right answer.",
        check=_check_early_values,
    ),
    Lint(
        code="correction-lingering",
        severity=Severity.WARNING,
        summary="After its correctedDay a wrong value is named only as superseded.",
        check=_check_lingering_values,
    ),
    Lint(
        code="correction-unheard",
        severity=Severity.ERROR,
        summary="The wrong value is stated before the correctedDay and the corrected one from "
        "then on.",
        check=_check_missing_values,
    ),
)
