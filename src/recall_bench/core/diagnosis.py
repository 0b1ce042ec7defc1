"""What an examination of a system before any run found out about it."""

import os
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import field

from recall_bench.core.cache_folder import find_cache_folder
from recall_bench.core.memory import UNDECLARED, Asker, Clock, SystemCard
from recall_bench.core.record import Record
from recall_bench.core.scenario import WallTime


class SystemHealth(StrEnum):
    """Whether numbers about a system can be believed."""

    VALID = "valid"
    SUSPECT = "suspect"
    """Something is odd enough to be looked at before its numbers are quoted."""
    INVALID = "invalid"
    """Its numbers would measure a fault of the connection or of the system, not its memory."""


class DoctorFinding(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong."""

    check: str
    """The name of the check that found it."""
    health: SystemHealth
    """How bad it is: `suspect` or `invalid`."""
    message: str
    """What was expected, what happened, what to do."""


class Diagnosis(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict of `doctor` on one system as its card describes it."""

    health: SystemHealth
    system: str
    """The digest of the card of the system that was examined."""
    at: WallTime
    code: str
    """Version and digest of the harness that examined it."""
    complaints: tuple[DoctorFinding, ...] = ()
    clock: Clock | None = None
    """How it was seen to know the date; None if that could not be told."""
    asker: Asker | None = None
    """What it was seen to make of who asks; None if that could not be told."""
    figures: dict[str, float] = field(default_factory=dict)
    """What was measured on the way, by name."""


_DIAGNOSIS = msgspec.json.Decoder(Diagnosis)


def save_diagnosis(diagnosis: Diagnosis) -> Path:
    """Put a diagnosis on record in place of an earlier one of the same system."""
    path = _get_diagnosis_path(diagnosis.system)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(diagnosis), indent=2))
    partial.replace(path)
    return path


def load_diagnosis(card: SystemCard) -> Diagnosis | None:
    """The last diagnosis of the very system a card describes; None if there is none to be read.

    A system that was changed or set otherwise has another card, and is not examined yet. One that
    does not say its version cannot be recognised, and counts as not examined.
    """
    if card.version == UNDECLARED:
        return None
    try:
        return _DIAGNOSIS.decode(_get_diagnosis_path(card.digest).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None


def _get_diagnosis_path(digest: str) -> Path:
    return find_cache_folder() / "diagnoses" / f"{digest[:32]}.json"
