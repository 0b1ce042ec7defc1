"""How a dataset's questions are counted: which ones, against what gold, by which measures."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from recall_bench.core.question import Expects, Item


class Level(StrEnum):
    """What a passage is traced to before it is held against the gold."""

    SESSION = "session"
    TURN = "turn"


def name_unit(level: Level, scenario: str, day: int, turn: int | None) -> str | None:
    """The globally scoped name of a session or a turn; None where there is no such turn."""
    if level is Level.SESSION:
        return f"{scenario}/{day}"
    return None if turn is None else f"{scenario}/{day}:{turn}"


Gold = Callable[[str, Item], frozenset[str]]
"""The units that a question of a scenario should find; none if it does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How what was found is measured at one level."""

    level: Level
    gold: Gold
    families: tuple[str, ...] = ("hit", "recall", "recall_all", "precision", "mrr", "map", "ndcg")
    """The measures that are quoted, by family."""
    is_distinct: bool = False
    """Whether a unit takes one place only, however many of its passages were returned."""
    empty: float | None = None
    """What a question without gold counts; None leaves it out."""
    states: str = ""
    """What counts, in a few words, for the report."""


class AnswerCheck(StrEnum):
    """Who says whether an answer is right."""

    JUDGE = "judge"
    """Whoever `--judge` names, by marks; from two points of correctness on it is right."""
    MODEL = "model"
    """The model that `--judge` names, by the dataset's own rules."""
    NOBODY = "nobody"
    """Computation alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Methodology:
    """One way to measure one family of datasets, named and versioned for good."""

    family: str
    name: str
    version: str
    about: str
    """What it measures and how it differs from others: a short paragraph."""
    rankings: tuple[Ranking, ...] = ()
    answers: tuple[str, ...] = ()
    """Answer protocols that compute, by name; each is printed beside the others."""
    judging: AnswerCheck = AnswerCheck.JUDGE
    asks: str | None = None
    """The answer protocol that a model follows, where `judging` says so."""
    has_layers: bool = False
    """Whether wordings of the answer are looked for in what was returned, and in its sources."""
    has_evidence_text: bool = False
    """Whether the texts cited are looked for in what was returned, letter by letter."""
    asked: Callable[[Item], bool] = lambda item: True  # noqa: ARG005
    """Which questions it asks at all."""
    headline: tuple[str, ...] = ()
    """The figures that come first: `session recall@10`, `locomo/official`."""

    @property
    def label(self) -> str:
        """As people name it: `locomo/strict`."""
        return f"{self.family}/{self.name}"

    @property
    def eval_version(self) -> str:
        """Names the methodology in paths and reports; the same as long as it is."""
        return f"{self.name}-{self.version}"

    @property
    def digest(self) -> str:
        """Changes with what is stated about it."""
        stated = [self.about, *self.answers, str(self.judging), self.asks or "", *self.headline]
        stated += [f"layers {self.has_layers}", f"evidence text {self.has_evidence_text}"]
        stated += [
            f"{each.level} {each.states} {each.is_distinct} {each.empty} {' '.join(each.families)}"
            for each in self.rankings
        ]
        return sha256("\0".join(stated).encode()).hexdigest()


def match_cited(level: Level) -> Gold:
    """Everything the dataset cites, at this level."""

    def find_gold(scenario: str, item: Item) -> frozenset[str]:
        units = (name_unit(level, scenario, each.day, each.turn) for each in item.truth.evidence)
        return frozenset(each for each in units if each is not None)

    return find_gold


def restrict_to_answerable(gold: Gold) -> Gold:
    """The same, for questions that have an answer; the others count elsewhere."""

    def find_gold(scenario: str, item: Item) -> frozenset[str]:
        if item.truth.expects is not Expects.ANSWER:
            return frozenset()
        return gold(scenario, item)

    return find_gold
