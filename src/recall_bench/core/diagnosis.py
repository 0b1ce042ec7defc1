"""The result of `doctor` for a system, and where it is stored."""

from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import field

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.folders import find_cache_folder
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


_DECODER = msgspec.json.Decoder(Diagnosis)


def identify_system(card: SystemCard) -> str:
    """Return the digest of a card without its isolation.

    How far the code of a system is confined changes neither the code nor its settings, so that a
    diagnosis holds for runs with another isolation too.
    """
    return card.replace(isolation=None).digest


def save_diagnosis(diagnosis: Diagnosis) -> Path:
    """Store a diagnosis in place of an earlier one of the same system."""
    path = _get_diagnosis_path(diagnosis.system)
    replace_file(path, msgspec.json.format(msgspec.json.encode(diagnosis), indent=2))
    return path


def load_diagnosis(card: SystemCard) -> Diagnosis | None:
    """Load the last diagnosis of the system with this card; None if there is none.

    A system that was changed or configured differently has another card. One without a declared
    version cannot be recognised.
    """
    if card.version == UNDECLARED:
        return None
    system = identify_system(card)
    try:
        diagnosis = decode_untrusted_line(_DECODER, _get_diagnosis_path(system).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    return diagnosis if diagnosis.system == system else None


def _get_diagnosis_path(digest: str) -> Path:
    return find_cache_folder() / "diagnoses" / f"{digest[:32]}.json"
