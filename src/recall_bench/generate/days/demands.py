"""What an entry has to hold, and what it must not."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from recall_bench.datasets.story import Arc
from recall_bench.generate.days.asking import Length, length_of
from recall_bench.generate.days.plan import PlannedDay, Telling
from recall_bench.generate.days.rooms import is_secret
from recall_bench.generate.days.secrecy import Unsaid
from recall_bench.lint.atoms import NAME, Atom, atoms
from recall_bench.lint.corrections import Correction, correction_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Values that have to be stated, in sentences about something."""

    atoms: tuple[Atom, ...]
    about: frozenset[str]
    """Stems of which such a sentence has one; any sentence will do if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """All that is asked of the entry of one session on one day."""

    session: str
    day: int
    at: date
    length: Length
    due: tuple[Atom, ...]
    """The exact values of today's events."""
    stated: tuple[Statement, ...]
    """The beliefs that are taken up today."""
    unsaid: Unsaid
    early: tuple[Statement, ...]
    """Values that only a later correction brings."""
    stale: tuple[Statement, ...]
    """Values that a correction has done away with."""
    shown: tuple[str, ...]
    """Earlier entries the author sees."""
    material: str
    """All that the author is given: its words may be used."""


def demands_on(
    planned: PlannedDay,
    telling: Telling,
    arcs: tuple[Arc, ...],
    isolated: frozenset[str],
    *,
    unsaid: Unsaid,
    blocks: dict[str, str],
    shown: tuple[str, ...],
) -> Demands:
    """What is asked of this entry."""
    day = planned.day
    heard = [arc for arc in arcs if not is_secret(arc, telling.session, isolated)]
    found = [each for arc in heard if (each := correction_of(arc)) is not None]
    return Demands(
        session=telling.session.id,
        day=day,
        at=planned.at,
        length=length_of(telling),
        due=tuple(_due(telling.arcs, day)),
        stated=tuple(_stated(telling.arcs, day)),
        unsaid=unsaid,
        early=tuple(_early(found, day, unsaid)),
        stale=tuple(_stale(found, day)),
        shown=shown,
        material="\n".join(blocks.values()).lower(),
    )


def _due(arcs: tuple[Arc, ...], day: int) -> Iterator[Atom]:
    for arc in arcs:
        for each in arc.directives:
            if each.day == day:
                yield from (atom for atom in atoms(each.event) if atom.is_exact)


def _stated(arcs: tuple[Arc, ...], day: int) -> Iterator[Statement]:
    for arc in arcs:
        correction = correction_of(arc)
        if correction is None:
            continue
        if arc.wrong_day == day and day < correction.day:
            yield Statement(atoms=correction.wrong, about=correction.about)
        if correction.day == day:
            yield Statement(atoms=correction.right, about=correction.about)


def _early(found: list[Correction], day: int, unsaid: Unsaid) -> Iterator[Statement]:
    secret = {(atom.kind, atom.value) for atom in unsaid.atoms}
    for correction in found:
        if day < correction.day:
            belief = correction.arc.corrected_belief or ""
            names = (atom for atom in atoms(belief) if atom.kind == NAME)
            held = [a for a in (*correction.right, *names) if (a.kind, a.value) in secret]
            yield Statement(atoms=tuple(held), about=correction.about)


def _stale(found: list[Correction], day: int) -> Iterator[Statement]:
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
        yield Statement(atoms=left, about=correction.about)
