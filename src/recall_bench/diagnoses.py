"""What `doctor` said of systems, kept so that later runs can say it too."""

import os
from pathlib import Path

import msgspec

from recall_bench.core.diagnosis import Diagnosis
from recall_bench.core.memory import UNDECLARED, SystemCard
from recall_bench.shipped import find_cache_folder

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
