"""Every question measured: what was found against the gold, what was said against the truth."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec

from recall_bench.core.event import Judged, NotAnswered, NotJudged, Outcome, TrialResult
from recall_bench.core.matching import split_words
from recall_bench.core.memory import Passage
from recall_bench.core.question import Expects, Item, Scenario
from recall_bench.core.record import Record
from recall_bench.core.tokens import estimate_tokens
from recall_bench.core.verdict import PASS, Verdict
from recall_bench.evaluation.found import Figures, RetrievalScorer
from recall_bench.evaluation.methodology import AnswerCheck, Level, Methodology, name_unit
from recall_bench.judging.offline.abstention import Stance, read_stance
from recall_bench.judging.protocols import registry
from recall_bench.judging.protocols.choice import parse_options
from recall_bench.judging.protocols.score import ComputedProtocol
from recall_bench.judging.protocols.submission import make_submission
from recall_bench.metrics.layers import contains_trap

JUDGED = "judged right"
"""1 where whoever judged found the answer right, 0 where not."""
_ABSTAINING = (Stance.IGNORANT, Stance.ABSENT)
"""Saying that it is not known. Who says nothing at all, or refuses, has not said that."""
ANSWERED, OPEN = "answered", "open"


class EvalHit(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One passage a system returned, as far as it takes to score it again."""

    rank: int
    session: str | None = None
    """Globally scoped; None if nobody could trace it."""
    turn: str | None = None
    turns: tuple[str, ...] = ()
    """All turns that it holds, where these are several."""
    score: float | None = None
    tokens: int
    sha256: str
    """Of its text."""


class ScoredQuestion(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One question put once, with every figure it has."""

    scenario: str
    item: str
    repeat: int = 0
    category: str
    source: str | None = None
    """The dataset's own id."""
    is_answerable: bool = True
    outcome: str
    """`answered`, the fault that kept the system from answering, or `open`."""
    figures: Figures = msgspec.field(default_factory=dict)
    """By name, such as `turn recall@10`. A figure that does not apply is not there."""
    chance: Mapping[str, float] = msgspec.field(default_factory=dict)
    """What a blind draw would get, where that can be told."""
    ceiling: Mapping[str, float] = msgspec.field(default_factory=dict)
    """What the best order of all there is would get."""
    gold: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """What should be found, by level."""
    hits: tuple[EvalHit, ...] = ()
    answer: str | None = None
    abstained: bool | None = None
    """None where there is no answer in free text to tell by."""
    fell_for_trap: bool | None = None
    """None where there is no trap, or no answer."""
    longest_option: float | None = None
    """What naming the longest option gets, which needs no reading; None without options."""
    unjudged: str | None = None
    """Why an answer that was to be judged has no verdict."""
    seconds: float | None = None


class QuestionScorer:
    """Scores what one scenario was asked.

    `depth` is how many passages of a reply were looked at, at most; without answers only what was
    found is scored.
    """

    def __init__(
        self, methodology: Methodology, scenario: Scenario, *, depth: int, with_answers: bool
    ) -> None:
        self._methodology = methodology
        self._scenario = scenario
        self._finder = RetrievalScorer(methodology, scenario, depth)
        self._with_answers = with_answers

    def score(self, result: TrialResult) -> ScoredQuestion:
        """Everything that is known of one trial.

        A system that failed at a question found nothing and said nothing, and gets what that
        gets. A trial that is open lacks all figures, one that nobody judged those of a judge.
        """
        item, answered = result.item, result.answered
        passages = () if answered is None else answered.answer.passages
        found = self._finder.score(item, passages)
        outcome = _name_outcome(result)
        scored = ScoredQuestion(
            scenario=result.trial.scenario,
            item=item.id,
            repeat=result.trial.repeat,
            category=item.truth.category,
            source=item.truth.source,
            is_answerable=item.truth.expects is Expects.ANSWER,
            outcome=outcome,
            figures=_keep_figures(outcome, found.figures),
            chance=found.chance,
            ceiling=found.ceiling,
            gold=found.gold,
            hits=tuple(_list_hits(self._scenario.id, passages)),
            seconds=None if answered is None else answered.seconds,
        )
        return self._add_answer(scored, result) if self._with_answers else scored

    def _add_answer(self, scored: ScoredQuestion, result: TrialResult) -> ScoredQuestion:
        if scored.outcome == OPEN:
            return scored
        item = result.item
        text = None if result.answered is None else result.answered.answer.text
        figures = {
            **scored.figures,
            **self._score_protocols(item, text or ""),
            **self._score_outcome(result.outcome),
        }
        # A trap of signs alone, such as "?", is nothing that an answer could hold.
        traps = [trap for trap in item.truth.distractors if split_words(trap)]
        said = None if item.choices else text
        guessed = self._score_guess(item)
        return scored.replace(
            figures=figures,
            chance={**scored.chance, **guessed} if guessed else scored.chance,
            answer=text,
            abstained=None if said is None else read_stance(said).stance in _ABSTAINING,
            fell_for_trap=None if said is None or not traps else contains_trap(said, traps),
            longest_option=score_longest_option(item) if item.choices else None,
            unjudged=result.outcome.fault if isinstance(result.outcome, NotJudged) else None,
        )

    def _score_guess(self, item: Item) -> Figures:
        """What naming any of the options gets."""
        names = self._methodology.answers if item.choices else ()
        return {name: 1 / len(item.choices) for name in names}

    def _score_protocols(self, item: Item, text: str) -> Figures:
        figures: Figures = {}
        for name in self._methodology.answers:
            protocol = registry.find_protocol(name)
            if isinstance(protocol, ComputedProtocol) and _is_applicable(name, item):
                figures[name] = protocol.grade(make_submission(item, text)).value
        return figures

    def _score_outcome(self, outcome: Outcome | None) -> Figures:
        if self._methodology.judging is AnswerCheck.NOBODY:
            return {}
        if isinstance(outcome, NotAnswered):
            return {JUDGED: 0.0}
        return {JUDGED: score_verdict(outcome.verdict)} if isinstance(outcome, Judged) else {}


def _keep_figures(outcome: str, found: Figures) -> Figures:
    """What was found; of a question that a system failed at, nothing, even where that is right."""
    if outcome == ANSWERED:
        return found
    return {} if outcome == OPEN else dict.fromkeys(found, 0.0)


def score_longest_option(item: Item) -> float:
    """What naming the option with most characters gets; of equals, one at random."""
    options = parse_options(list(item.choices))
    most = max(map(len, options.values()))
    longest = [letter for letter, text in options.items() if len(text) == most]
    return (item.truth.choice in longest) / len(longest)


def score_verdict(verdict: Verdict) -> float:
    """A protocol's score; of marks, 1 from two points of correctness on."""
    if verdict.score is not None:
        return verdict.score
    return float(verdict.marks["correctness"] >= PASS["correctness"])


def _is_applicable(protocol: str, item: Item) -> bool:
    """Whether the protocol has something to say about answers to this question."""
    if protocol in ("choice/letter", "personamem/official"):
        return bool(item.choices)
    return protocol == "locomo/official" or item.truth.expects is Expects.ANSWER


def _name_outcome(result: TrialResult) -> str:
    match result.outcome:
        case NotAnswered(fault=fault):
            return fault
        case _:
            return OPEN if result.answered is None else ANSWERED


def _name_turns(scenario: str, day: int, turns: Sequence[int]) -> Iterator[str]:
    return (f"{scenario}/{day}:{turn}" for turn in turns)


def _list_hits(scenario: str, passages: Sequence[Passage]) -> Iterator[EvalHit]:
    for rank, each in enumerate(passages, start=1):
        yield EvalHit(
            rank=rank,
            session=None
            if each.day is None
            else name_unit(Level.SESSION, scenario, each.day, None),
            turn=None if each.day is None else name_unit(Level.TURN, scenario, each.day, each.turn),
            turns=() if each.day is None else tuple(_name_turns(scenario, each.day, each.turns)),
            score=each.score,
            tokens=estimate_tokens(each.text),
            sha256=sha256(each.text.encode()).hexdigest(),
        )
