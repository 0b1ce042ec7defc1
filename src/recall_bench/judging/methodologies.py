"""The evaluation protocols of each family of datasets: what is asked, the gold and the measures.

`datasets.toml` lists them.
"""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.feature import list_offers
from recall_bench.core.record import Record, digest_content
from recall_bench.core.scenario import Evidence, Item
from recall_bench.stories.catalogue import PublicDataset, read_tables

STRICT = "strict"

QUESTION = "question"
"""Stands for items without a kind."""


class Level(StrEnum):
    """The unit that a passage is mapped to before it is compared with the gold."""

    SESSION = "session"
    TURN = "turn"


def name_unit(level: Level, scenario: str, day: int, turn: int | None) -> str | None:
    """The globally scoped name of a session or a turn; None where there is no such turn."""
    if level is Level.SESSION:
        return f"{scenario}/{day}"
    return None if turn is None else f"{scenario}/{day}:{turn}"


def _name_cited(
    level: Level, scenario: str, item: Item, counts: Callable[[Evidence], bool] = lambda _: True
) -> frozenset[str]:
    """The units of all evidence that counts."""
    units = (
        name_unit(level, scenario, each.day, each.turn)
        for each in item.truth.evidence
        if counts(each)
    )
    return frozenset(unit for unit in units if unit is not None)


def _match_answerable(level: Level, scenario: str, item: Item) -> frozenset[str]:
    """Everything cited by questions that have an answer; the others count elsewhere."""
    return _name_cited(level, scenario, item) if item.truth.is_answerable else frozenset()


def _match_user_turns(level: Level, scenario: str, item: Item) -> frozenset[str]:
    """What LongMemEval's user said that holds the answer."""
    if not item.truth.is_answerable:
        return frozenset()
    return _name_cited(
        level, scenario, item, lambda each: each.turn is not None and each.speaker == "user"
    )


_PLACE = re.compile(r"D(\d+):(\d+)")
_BARE_PLACE = re.compile(r"D([1-9]\d*):([1-9]\d*)")


def _match_strings(level: Level, scenario: str, item: Item) -> frozenset[str]:
    """Match LoCoMo's evidence string by string; one that names no turn is never found."""
    if level is Level.SESSION:
        # What the script does: all before the first colon, but for its first letter.
        return frozenset(f"{scenario}/{each.split(':')[0][1:]}" for each in item.truth.cited)
    return frozenset(
        f"{scenario}/{place[1]}:{int(place[2]) - 1}" if place else f"{scenario}/{each}"
        for each in item.truth.cited
        for place in [_BARE_PLACE.fullmatch(each)]
    )


def _match_well_formed(_: Level, scenario: str, item: Item) -> frozenset[str]:
    """The sessions of LoCoMo's evidence that is one well-formed place."""
    places = (_PLACE.fullmatch(each) for each in item.truth.cited)
    return frozenset(f"{scenario}/{int(place[1])}" for place in places if place)


_GOLDS: dict[str, Callable[[Level, str, Item], frozenset[str]]] = {
    "cited": _name_cited,
    "cited-if-answerable": _match_answerable,
    "user-turns": _match_user_turns,
    "evidence-strings": _match_strings,
    "well-formed-evidence": _match_well_formed,
}


class Ranking(Record, frozen=True, kw_only=True, rename={"gold_name": "gold"}):
    """How what was found is measured at one level."""

    level: Level
    gold_name: str
    """Which units a question should find: a key of `_GOLDS`."""
    families: tuple[str, ...] = ("hit", "recall", "recall_all", "precision", "mrr", "map", "ndcg")
    """The measures that are quoted, by family."""
    is_distinct: bool = False
    """Whether a unit takes one place only, however many of its passages were returned."""
    empty: float | None = None
    """What a question without gold counts; None leaves it out."""
    states: str = ""
    """What counts, in a few words, for the report."""

    def find_gold(self, scenario: str, item: Item) -> frozenset[str]:
        """The units that a question of a scenario should find; none if it does not count."""
        return _GOLDS[self.gold_name](self.level, scenario, item)


class AnswerCheck(StrEnum):
    """What decides whether an answer is right."""

    JUDGE = "judge"
    """The judge that `--judge` names, by marks; from two points of correctness on it is right."""
    MODEL = "model"
    """The model that `--judge` names, by the dataset's own rules."""
    COMPUTED = "nobody"
    """Computation alone."""


class Methodology(Record, frozen=True, kw_only=True):
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
    asks_answerable_only: bool = False
    needs_answer: bool = False
    """Whether saying that there is no record is wrong about a question that has an answer, also
    where that answer is a no and a judge takes the one for the other."""
    asks_kind: str | None = None
    """The only kind of items that are asked; `question` is those without a kind. None for all."""
    reads_store: bool = False
    """Whether answers are read from what the memory lists as stored, and it is asked nothing."""
    stored_figures: dict[str, str] = msgspec.field(default_factory=dict)
    """Where the store is read: the figure of each category of memory points."""
    unwanted: tuple[str, ...] = ()
    """The categories of memory points that must not be stored."""
    counts: tuple[str, ...] = ()
    """Findings of the judge that are figures: the share of answers with each."""
    headline: tuple[str, ...] = ()
    """The figures that come first: `session recall@10`, `locomo/official`."""

    def includes(self, item: Item) -> bool:
        """Whether this question is one of its questions."""
        if self.asks_kind is not None and self.asks_kind != (item.kind or QUESTION):
            return False
        return not self.asks_answerable_only or item.truth.is_answerable

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
        """Changes with everything that is stated about it, apart from its names and version."""
        held = msgspec.to_builtins(self)
        empty = msgspec.to_builtins(Methodology(family="", name="", version="", about=""))
        named = ("family", "name", "version")
        # Without defaults, so that a field of one protocol leaves the digests of the others alone.
        stated = {
            key: value for key, value in held.items() if key not in named and value != empty[key]
        }
        return digest_content(stated)


@cache
def _load_all() -> tuple[Methodology, ...]:
    protocols = [
        {"family": family, **protocol}
        for family, protocols in read_tables()["protocols"].items()
        for protocol in protocols
    ]
    return msgspec.convert(protocols, tuple[Methodology, ...])


def list_methodologies(family: str) -> tuple[Methodology, ...]:
    """Those that measure a family of datasets, ours first."""
    ours = tuple(each for each in _load_all() if each.family == family)
    return ours or ((_PLAIN.replace(family=family),) if family in list_offers("loaders") else ())


_PLAIN = Methodology(
    family="",
    name="strict",
    version="1",
    about="Answers by the judge; what was found by the sessions that hold the evidence.",
    rankings=(Ranking(level=Level.SESSION, gold_name="cited-if-answerable"),),
    headline=("session recall@10",),
)
"""What measures a dataset of somebody else's feature."""


def find_methodology(family: str, name: str) -> Methodology:
    """The family's methodology of this name, with or without the family before it."""
    known = {methodology.name: methodology for methodology in list_methodologies(family)}
    wanted = name.removeprefix(f"{family}/")
    if wanted not in known:
        raise UsageError(
            f"--protocol: {family} is not measured by {name!r}; there are {', '.join(known)}"
        )
    return known[wanted]


def list_denominators(dataset: PublicDataset, item: Item) -> Iterator[str]:
    """The counts a question belongs to: `official: asked`, `strict: counted by turns`."""
    for methodology in list_methodologies(dataset.family):
        if not methodology.includes(item):
            continue
        yield f"{methodology.name}: asked"
        for ranking in methodology.rankings:
            if ranking.empty is not None or ranking.find_gold("", item):
                yield f"{methodology.name}: counted by {ranking.level}s"
