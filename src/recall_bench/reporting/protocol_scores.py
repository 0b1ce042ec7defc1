"""What a dataset's protocol makes of one answer: by its passages, its words and its verdict."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from recall_bench.core.event import Judged, NotAnswered, Outcome
from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Item
from recall_bench.core.usage import estimate_tokens
from recall_bench.core.verdict import PASS, Verdict
from recall_bench.judging.methodologies import AnswerCheck, Level, Methodology, Ranking, name_unit
from recall_bench.judging.protocols import registry
from recall_bench.judging.protocols.protocol import ComputedProtocol
from recall_bench.judging.protocols.registry import make_submission
from recall_bench.metrics.retrieval import (
    RankedPassage,
    RetrievalMeasure,
    drop_repeats,
    list_measures,
    score_all,
)

Figures = dict[str, float]
"""By name, such as `turn recall@10`."""

JUDGED = "judged right"
"""1 if the judge found the answer right, else 0."""


def select_measures(ranking: Ranking, depth: int) -> tuple[RetrievalMeasure, ...]:
    """The measures of a ranking, for replies of which this many passages are looked at."""
    return tuple(measure for measure in list_measures(depth) if measure.family in ranking.families)


def score_ranking(
    ranking: Ranking,
    counted: Sequence[RetrievalMeasure],
    scenario: str,
    gold: frozenset[str],
    passages: Sequence[Passage],
) -> Figures:
    """The figures of what was returned at one level; none where the question does not count."""
    if gold:
        level = ranking.level
        delivered = [
            part for passage in passages for part in _split_passage(level, scenario, passage)
        ]
        placed = drop_repeats(delivered) if ranking.is_distinct else delivered
        return label_figures(level, score_all(counted, placed, gold))
    if ranking.empty is not None:
        return dict.fromkeys(list_figure_names(ranking.level, counted), ranking.empty)
    return {}


def _split_passage(level: Level, scenario: str, passage: Passage) -> Iterator[RankedPassage]:
    """The places a passage takes: one; by turns, as many as it holds, in the order they stand."""
    size = estimate_tokens(passage.text)
    if passage.day is None:
        yield RankedPassage(None, size)
        return
    turns = (passage.turn,) if level is Level.SESSION or not passage.turns else passage.turns
    for number, turn in enumerate(turns):
        # All of a passage is read for its first turn.
        yield RankedPassage(name_unit(level, scenario, passage.day, turn), 0 if number else size)


def list_figure_names(level: Level, counted: Iterable[RetrievalMeasure]) -> list[str]:
    """The names of these measures at a level."""
    return [f"{level} {measure.name}" for measure in counted]


def label_figures(level: Level, figures: Mapping[str, float]) -> Figures:
    """The figures by their names at a level."""
    return {f"{level} {name}": value for name, value in figures.items()}


def list_judged_figures(methodology: Methodology) -> tuple[str, ...]:
    """The figures that follow from what a judge found, apart from the findings that it counts."""
    if methodology.judging is AnswerCheck.COMPUTED:
        return ()
    if methodology.reads_store:
        return tuple(dict.fromkeys(methodology.stored_figures.values()))
    return (JUDGED,)


def score_outcome(
    methodology: Methodology, item: Item, outcome: Outcome | None, text: str | None
) -> Figures:
    """The figures of what a judge found. A system that failed gets nothing; findings are not known.

    Of what is stored, points that must not be there count the other way round. `text` is what was
    answered: where an answer is needed, abstaining from one is not right.
    """
    if methodology.judging is AnswerCheck.COMPUTED:
        return {}
    category = item.truth.category
    name = methodology.stored_figures.get(category, category) if methodology.reads_store else JUDGED
    if isinstance(outcome, NotAnswered):
        return {name: 0.0}
    if not isinstance(outcome, Judged):
        return {}
    value = score_verdict(outcome.verdict)
    has_answer = item.truth.is_answerable
    if methodology.needs_answer and has_answer and is_abstention(text or ""):
        value = 0.0
    findings = [str(finding) for finding in outcome.verdict.findings]
    counted = {name: float(name in findings) for name in methodology.counts}
    return {name: 1.0 - value if category in methodology.unwanted else value, **counted}


def is_abstention(text: str) -> bool:
    """Whether an answer says that it does not know, or that there is nothing."""
    # Its patterns take longer to compile than most reports to load, which have no use for them.
    from recall_bench.judging.offline.stance import Stance, read_stance

    return read_stance(text).stance in (Stance.IGNORANT, Stance.ABSENT)


def score_protocols(names: Iterable[str], item: Item, text: str) -> Figures:
    """The scores of an answer by those of these protocols that compute, and apply to it."""
    figures: Figures = {}
    for name in names:
        protocol = registry.find_protocol(name)
        if isinstance(protocol, ComputedProtocol) and protocol.applies(item):
            figures[name] = protocol.grade(make_submission(item, text)).value
    return figures


def score_verdict(verdict: Verdict) -> float:
    """A protocol's score; of marks, 1 from two points of correctness on."""
    if verdict.score is not None:
        return verdict.score
    return float(verdict.marks["correctness"] >= PASS["correctness"])
