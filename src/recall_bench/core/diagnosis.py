"""The result of `doctor` for a system, and where it is stored."""

from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.cache_folder import find_cache_folder
from recall_bench.core.memory import UNDECLARED, Asker, Clock, SystemCard
from recall_bench.core.record import Record
from recall_bench.core.scenario import WallTime
from recall_bench.core.untrusted_json import decode_untrusted_line


class SystemHealth(StrEnum):
    """Whether a system's numbers can be trusted."""

    VALID = "valid"
    SUSPECT = "suspect"
    """Something should be examined before its numbers are quoted."""
    INVALID = "invalid"
    """Its numbers would measure a fault of the system or the connection, not its memory."""


class DoctorFinding(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong with a system."""

    check: str
    """The name of the check that found it."""
    health: SystemHealth
    """How bad it is: `suspect` or `invalid`."""
    message: str
    """What was expected, what happened, what to do."""


class Diagnosis(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The result of `doctor` for one system."""

    health: SystemHealth
    system: str
    """What `identify_system` says of its card."""
    at: WallTime
    code: str
    """The version of the harness."""
    complaints: tuple[DoctorFinding, ...] = ()
    clock: Clock | None = None
    """How it was observed to know the date; None if unknown."""
    asker: Asker | None = None
    """How it was observed to use the session of a question; None if unknown."""
    figures: dict[str, float] = field(default_factory=dict)
    """Measurements, by name."""
    story: str = ""
    """The story it was examined on: persona, days and seed."""


class _SavedDiagnosis(Diagnosis, frozen=True, kw_only=True, omit_defaults=True):
    """A diagnosis as its file holds it."""

    checksum: str = ""
    """The digest of all other fields."""


_DECODER = msgspec.json.Decoder(_SavedDiagnosis)
_SEVERITY = tuple(SystemHealth)

CHANGED = "changed-diagnosis"
"""The check of a saved diagnosis that was changed after `doctor` wrote it."""


def identify_system(card: SystemCard) -> str:
    """Return the digest of a card without its isolation.

    How far the code of a system is confined changes neither the code nor its settings, so that a
    diagnosis holds for runs with another isolation too.
    """
    return card.replace(isolation=None).digest


def save_diagnosis(diagnosis: Diagnosis) -> Path:
    """Store a diagnosis in place of an earlier one of the same system."""
    path = _get_diagnosis_path(diagnosis.system)
    saved = _SavedDiagnosis(**_list_fields(diagnosis), checksum=diagnosis.digest)
    replace_file(path, msgspec.json.format(msgspec.json.encode(saved), indent=2))
    return path


def load_diagnosis(card: SystemCard) -> Diagnosis | None:
    """Load the last diagnosis of the system with this card; None if there is none.

    A system that was changed or configured differently has another card. One without a declared
    version cannot be recognised. A file that was changed makes the system suspect at least.
    """
    if card.version == UNDECLARED:
        return None
    system = identify_system(card)
    path = _get_diagnosis_path(system)
    try:
        saved = decode_untrusted_line(_DECODER, path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    found = Diagnosis(**_list_fields(saved))
    worst = _find_worst([found.health, *(complaint.health for complaint in found.complaints)])
    is_intact = saved.checksum == found.digest and found.system == system
    if is_intact and worst is found.health:
        return found
    changed = DoctorFinding(
        check=CHANGED,
        health=SystemHealth.SUSPECT,
        message=f"{path} is not as doctor wrote it, or an earlier version did; run doctor again",
    )
    return found.replace(
        health=_find_worst([worst, changed.health]), complaints=(*found.complaints, changed)
    )


def _list_fields(diagnosis: Diagnosis) -> dict[str, Any]:
    return {name: getattr(diagnosis, name) for name in Diagnosis.__struct_fields__}


def _find_worst(found: list[SystemHealth]) -> SystemHealth:
    return max(found, key=_SEVERITY.index)


def _get_diagnosis_path(digest: str) -> Path:
    return find_cache_folder() / "diagnoses" / f"{digest[:32]}.json"
