"""What an entry has to hold, and what it must not."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from recall_bench.datasets.story import Arc
from recall_bench.generate.days.asking import EntryLength, choose_length
from recall_bench.generate.days.plan import PlannedDay, SessionPlan
from recall_bench.generate.days.rooms import is_secret
from recall_bench.generate.days.secrecy import HiddenValues
from recall_bench.lint.atoms import NAME, TextValue, find_claims
from recall_bench.lint.corrections import CorrectionArc, read_correction


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredStatement:
    """Values that have to be stated, in sentences about something."""

    atoms: tuple[TextValue, ...]
    about: frozenset[str]
    """Stems of which such a sentence has one; any sentence will do if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRequirements:
    """All that is asked of the entry of one session on one day."""

    session: str
    day: int
    at: date
    length: EntryLength
    due: tuple[TextValue, ...]
    """The exact values of today's events."""
    stated: tuple[RequiredStatement, ...]
    """The beliefs that are taken up today."""
    unsaid: HiddenValues
    early: tuple[RequiredStatement, ...]
    """Values that only a later correction brings."""
    stale: tuple[RequiredStatement, ...]
    """Values that a correction has done away with."""
    shown: tuple[str, ...]
    """Earlier entries the author sees."""
    material: str
    """All that the author is given: its words may be used."""


def collect_requirements(
    planned: PlannedDay,
    telling: SessionPlan,
    arcs: tuple[Arc, ...],
    isolated: frozenset[str],
    *,
    unsaid: HiddenValues,
    blocks: dict[str, str],
    shown: tuple[str, ...],
) -> EntryRequirements:
    """What is asked of this entry."""
    day = planned.day
    heard = [arc for arc in arcs if not is_secret(arc, telling.session, isolated)]
    found = [each for arc in heard if (each := read_correction(arc)) is not None]
    return EntryRequirements(
        session=telling.session.id,
        day=day,
        at=planned.at,
        length=choose_length(telling),
        due=tuple(_find_due_values(telling.arcs, day)),
        stated=tuple(_find_due_beliefs(telling.arcs, day)),
        unsaid=unsaid,
        early=tuple(_find_early_values(found, day, unsaid)),
        stale=tuple(_find_stale_values(found, day)),
        shown=shown,
        material="\n".join(blocks.values()).lower(),
    )


def _find_due_values(arcs: tuple[Arc, ...], day: int) -> Iterator[TextValue]:
    for arc in arcs:
        for each in arc.directives:
            if each.day == day:
                yield from (atom for atom in find_claims(each.event) if atom.is_exact)


def _find_due_beliefs(arcs: tuple[Arc, ...], day: int) -> Iterator[RequiredStatement]:
    for arc in arcs:
        correction = read_correction(arc)
        if correction is None:
            continue
        if arc.wrong_day == day and day < correction.day:
            yield RequiredStatement(atoms=correction.wrong, about=correction.about)
        if correction.day == day:
            yield RequiredStatement(atoms=correction.right, about=correction.about)


def _find_early_values(
    found: list[CorrectionArc], day: int, unsaid: HiddenValues
) -> Iterator[RequiredStatement]:
    secret = {(atom.kind, atom.value) for atom in unsaid.atoms}
    for correction in found:
        if day < correction.day:
            belief = correction.arc.corrected_belief or ""
            names = (atom for atom in find_claims(belief) if atom.kind == NAME)
            held = [a for a in (*correction.right, *names) if (a.kind, a.value) in secret]
            yield RequiredStatement(atoms=tuple(held), about=correction.about)


def _find_stale_values(found: list[CorrectionArc], day: int) -> Iterator[RequiredStatement]:
    for correction in found:
        if correction.day >= day:
            continue
        again = {
            (atom.kind, atom.value)
            for other in found
            if correction.day < other.day <= day
            for atom in other.right
        }
        left = tuple(atom for atom in correction.wrong if (atom.kind, atom.value) not in again)
        yield RequiredStatement(atoms=left, about=correction.about)
