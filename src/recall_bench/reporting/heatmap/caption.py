"""What a picture says above itself: who was measured, on what, by whom and when."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

DIGEST_DIGITS = 12
"""Hexadecimal digits of a digest that are enough to tell datasets and runs apart."""

_MAX_NAMES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapCaption:
    """The facts; None where the source does not say."""

    system: str
    personas: tuple[str, ...]
    judge: str | None
    appellate: str | None
    at: datetime
    dataset: str | None
    plan: str | None
    questions: int | None
    trials: int
    sample: int | None
    judge_memory_window: int
    groups_enabled: bool
    knows_asker: bool = True
    is_dry_run: bool = False

    @property
    def title(self) -> str:
        """The headline."""
        return f"{self.system}: recall by category and checkpoint"

    @property
    def subtitle(self) -> tuple[str, ...]:
        """Two lines of small print."""
        return _join_facts(self._describe_setup()), _join_facts(self._describe_dataset())

    def _describe_setup(self) -> Iterable[str]:
        names = ", ".join(self.personas[:_MAX_NAMES])
        rest = len(self.personas) - _MAX_NAMES
        yield (
            f"Persona {names}"
            if len(self.personas) == 1
            else (
                f"{len(self.personas)} personas"
                + (f": {names}" if names else "")
                + (f" and {rest} more" if rest > 0 else "")
            )
        )
        yield f"judge {self.judge or 'not stated'}"
        if self.judge_memory_window:
            yield f"shown ±{self.judge_memory_window} days"
        if self.appellate is not None:
            yield f"appellate {self.appellate}"
        yield f"{self.at:%Y-%m-%d}"

    def _describe_dataset(self) -> Iterable[str]:
        yield f"Dataset {self.dataset[:DIGEST_DIGITS] if self.dataset else 'digest not stated'}"
        if self.plan is not None:
            yield f"plan {self.plan[:DIGEST_DIGITS]}"
        if self.questions is not None:
            yield f"{self.questions:,} questions in the dataset"
        yield f"{self.trials:,} trials counted"
        if self.sample is not None:
            yield f"at most {self.sample} older questions a checkpoint"
        groups = f"group questions {'on' if self.groups_enabled else 'off'}"
        if self.groups_enabled and not self.knows_asker:
            groups += ", boundaries not applicable: the system cannot know who asks"
        yield groups
        if self.is_dry_run:
            yield "dry run: first checkpoint only"


def _join_facts(facts: Iterable[str]) -> str:
    return " · ".join(facts)
