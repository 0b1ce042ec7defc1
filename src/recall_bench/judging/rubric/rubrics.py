"""The three written rubrics, as they are sent to a model."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256
from pathlib import Path

from recall_bench.core.verdict import RubricCard

_FOLDER = Path(__file__).parent


class RubricKind(StrEnum):
    """What a rubric goes by."""

    REFERENCE = "reference"
    """Nothing but the reference."""
    GROUNDED = "grounded"
    """The reference, and what the history says."""
    BOUNDARY = "boundary"
    """What may be told to whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """One rubric, whole."""

    kind: RubricKind
    version: str
    text: str
    """The common rules and its own."""

    @property
    def card(self) -> RubricCard:
        """Its digest changes with any letter of the text."""
        digest = sha256(self.text.encode()).hexdigest()
        return RubricCard(name=self.kind, version=self.version, digest=digest)


@cache
def load_rubrics() -> Mapping[RubricKind, Rubric]:
    """All of them, read once from the package."""
    common = (_FOLDER / "common.md").read_text(encoding="utf-8").strip()
    return {kind: _read_rubric(kind, common) for kind in RubricKind}


def _read_rubric(kind: RubricKind, common: str) -> Rubric:
    _, head, own = (_FOLDER / f"{kind}.md").read_text(encoding="utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    return Rubric(kind=kind, version=fields["version"], text=f"{common}\n\n{own.strip()}\n")
