"""What every protocol takes and returns."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

import msgspec

from recall_bench.core.errors import Malformed
from recall_bench.core.record import Record
from recall_bench.core.scenario import Item
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Finding, ignore_usage
from recall_bench.systems.models.model import Model


class ProtocolCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Which protocol graded: any change to its rules changes its digest."""

    name: str
    version: str
    digest: str
    asks_model: bool = False

    @classmethod
    def declare(
        cls, name: str, version: str, *rules: str, asks_model: bool = False
    ) -> "ProtocolCard":
        """The card of a protocol with these rules."""
        digest = sha256("\0".join(rules).encode()).hexdigest()
        return cls(name=name, version=version, digest=digest, asks_model=asks_model)


class ProtocolScore(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The score of one answer, from 0 to 1."""

    protocol: ProtocolCard
    value: float
    reason: str
    details: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    """What the value was computed from; the protocol's module explains the names."""
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:
            raise ValueError(f"a score goes from 0 to 1; got {self.value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One answer, and what its dataset says about the question."""

    answer: str
    question: str = ""
    golds: tuple[str, ...] = ()
    """The right answers; a letter for multiple choice."""
    category: str = ""
    """The dataset's own question type, where the protocol distinguishes types."""
    is_unanswerable: bool = False
    """Whether the right answer is that the question has no answer."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The options of multiple choice: letter to text."""
    nuggets: tuple[str, ...] = ()
    """What a complete answer states or does, a sentence each, where the dataset grades by that."""
    grading: str = ""
    """The dataset's own rule for this question, where it names one."""

    def get_only_gold(self, protocol: ProtocolCard) -> str:
        """The one gold answer, for a protocol without aliases."""
        if len(self.golds) != 1:
            raise Malformed(
                f"{protocol.name}: {self.question!r}",
                f"needs exactly one gold answer and has {len(self.golds)}; mend the loader",
            )
        return self.golds[0]

    def list_material(self, protocol: ProtocolCard) -> dict[str, str]:
        """What a model is shown to compare the answer with the one gold answer."""
        return {
            "question": self.question,
            "reference": self.get_only_gold(protocol),
            "reply": self.answer,
        }


RecordUsage = Callable[[Usage], None]
"""Called with the usage of every paid call."""


def _is_answerable(item: Item) -> bool:
    return item.truth.is_answerable


@dataclass(frozen=True, slots=True)
class ComputedProtocol:
    """A protocol that needs only the submission."""

    card: ProtocolCard
    grade: Callable[[Submission], ProtocolScore]
    applies: Callable[[Item], bool] = _is_answerable
    """Whether answers to a question have this score."""


class GradeCall(Protocol):
    """How a protocol that asks a model is called."""

    def __call__(
        self, submission: Submission, model: Model, bill: RecordUsage = ignore_usage
    ) -> Awaitable[ProtocolScore]:
        """Grade, or raise JudgeFault; never guess from an unreadable reply."""
        ...


@dataclass(frozen=True, slots=True)
class ModelProtocol:
    """A protocol that asks a language model."""

    card: ProtocolCard
    grade: GradeCall
