"""The evaluation protocols of each family of datasets: what is asked, the gold and the measures."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import Expects, Item
from recall_bench.datasets.public_dataset import PublicDataset


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
    """What decides whether an answer is right."""

    JUDGE = "judge"
    """The judge that `--judge` names, by marks; from two points of correctness on it is right."""
    MODEL = "model"
    """The model that `--judge` names, by the dataset's own rules."""
    COMPUTED = "nobody"
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


STRICT = "strict"

_PLACE = re.compile(r"D(\d+):(\d+)")
_BARE_PLACE = re.compile(r"D([1-9]\d*):([1-9]\d*)")


def _is_answerable(item: Item) -> bool:
    return item.truth.expects is Expects.ANSWER


def _match_spelling(level: Level) -> Gold:
    """Match LoCoMo's evidence string by string; one that names no turn is never found."""

    def find_gold(scenario: str, item: Item) -> frozenset[str]:
        if level is Level.SESSION:
            # What the script does: all before the first colon, but for its first letter.
            return frozenset(f"{scenario}/{each.split(':')[0][1:]}" for each in item.truth.cited)
        return frozenset(
            f"{scenario}/{place[1]}:{int(place[2]) - 1}" if place else f"{scenario}/{each}"
            for each in item.truth.cited
            for place in [_BARE_PLACE.fullmatch(each)]
        )

    return find_gold


def _find_wellformed(scenario: str, item: Item) -> frozenset[str]:
    """The sessions of LoCoMo's evidence that is one well-formed place."""
    places = (_PLACE.fullmatch(each) for each in item.truth.cited)
    return frozenset(f"{scenario}/{int(place[1])}" for place in places if place)


def _match_user_turns(level: Level) -> Gold:
    """What LongMemEval's user said that holds the answer."""

    def find_gold(scenario: str, item: Item) -> frozenset[str]:
        units = (
            name_unit(level, scenario, each.day, each.turn)
            for each in item.truth.evidence
            if each.turn is not None and each.speaker == "user"
        )
        return frozenset(each for each in units if each is not None)

    return restrict_to_answerable(find_gold)


_SESSIONS = Ranking(
    level=Level.SESSION,
    gold=restrict_to_answerable(match_cited(Level.SESSION)),
    states="sessions cited",
)
_TURNS = Ranking(
    level=Level.TURN, gold=restrict_to_answerable(match_cited(Level.TURN)), states="turns cited"
)

LOCOMO = (
    Methodology(
        family="locomo",
        name=STRICT,
        version="1",
        about=(
            "Ours. Turns and sessions are those of the conversation that is asked about. A "
            "question counts if its evidence, misspelt references mended, names a turn: 1,982 of "
            "1,986. Every passage takes a place. What adversarial questions cite is the bait, so "
            "they are listed apart, and answers to them count by abstaining and by the trap."
        ),
        rankings=(
            Ranking(level=Level.SESSION, gold=match_cited(Level.SESSION), states="sessions cited"),
            Ranking(level=Level.TURN, gold=match_cited(Level.TURN), states="turns cited"),
        ),
        answers=("locomo/official",),
        headline=("turn recall@10", "session recall@10", "turn recall@1", "judged right"),
    ),
    Methodology(
        family="locomo",
        name="official",
        version="1",
        about=(
            "As the authors' script has it. Answers: token F1 by the rule of each category, and "
            "two phrases for adversarial questions. Retrieval: the share of evidence strings, as "
            "the file spells them, that are among what was returned; a string that names no turn "
            "is never found, and the four questions without evidence count as found. (A string "
            "that one question gives twice counts once.)"
        ),
        rankings=(
            Ranking(
                level=Level.TURN,
                gold=_match_spelling(Level.TURN),
                families=("recall",),
                empty=1.0,
                states="evidence strings",
            ),
            Ranking(
                level=Level.SESSION,
                gold=_match_spelling(Level.SESSION),
                families=("recall",),
                empty=1.0,
                states="sessions of evidence strings",
            ),
        ),
        answers=("locomo/official",),
        judging=AnswerCheck.COMPUTED,
        headline=("locomo/official", "turn recall@10", "session recall@10"),
    ),
    Methodology(
        family="locomo",
        name="cats-1-4",
        version="1",
        about=(
            "What most product pages count: the 1,540 questions of categories 1 to 4, answers "
            "judged, adversarial questions left out. The judge is ours, not theirs."
        ),
        rankings=(_SESSIONS, _TURNS),
        answers=("locomo/official",),
        asked=_is_answerable,
        headline=("judged right", "locomo/official", "turn recall@10"),
    ),
    Methodology(
        family="locomo",
        name="hebb-v4",
        version="1",
        about=(
            "Hebb Mind's session figure: whether any cited session is among what was returned, "
            "over the 1,978 questions with a well-formed reference, adversarial ones among them. "
            "Theirs pools ten conversations and lets session 5 of one stand for session 5 of "
            "another; ours does not, so it is lower where theirs was luck."
        ),
        rankings=(
            Ranking(
                level=Level.SESSION,
                gold=_find_wellformed,
                families=("hit", "recall"),
                states="sessions of well-formed references",
            ),
        ),
        judging=AnswerCheck.COMPUTED,
        headline=("session hit@10", "session recall@10"),
    ),
)

LONGMEMEVAL = (
    Methodology(
        family="longmemeval",
        name=STRICT,
        version="1",
        about=(
            "Ours. Every question with an answer counts (470 of 500): for sessions by "
            "`answer_session_ids`, for turns by the turns marked as holding the answer, whoever "
            "speaks. Every passage takes a place. Unanswerable questions count by abstaining."
        ),
        rankings=(_SESSIONS, _TURNS),
        headline=("session recall@10", "turn recall@10", "session recall_all@10", "judged right"),
    ),
    Methodology(
        family="longmemeval",
        name="official",
        version="1",
        about=(
            "As the authors' scripts have it. Retrieval over 419 questions: without the "
            "unanswerable ones and those whose answer no user turn holds; a gold session is one "
            "with such a turn; a session takes one place however often it was returned; "
            "recall_all is all or nothing and nDCG has their discount. Their index holds user "
            "turns only; ours holds what the system was told. Answers: one yes-or-no question to "
            "a model by the rule of each type, averaged over questions, over types, and over the "
            "30 unanswerable ones."
        ),
        rankings=(
            Ranking(
                level=Level.SESSION,
                gold=_match_user_turns(Level.SESSION),
                families=("hit", "recall_all", "ndcg_lme"),
                is_distinct=True,
                states="sessions in which the user says it",
            ),
            Ranking(
                level=Level.TURN,
                gold=_match_user_turns(Level.TURN),
                families=("hit", "recall_all", "ndcg_lme"),
                is_distinct=True,
                states="turns in which the user says it",
            ),
        ),
        judging=AnswerCheck.MODEL,
        asks="longmemeval/official-rules",
        headline=("judged right", "session recall_all@10", "session ndcg_lme@10"),
    ),
    Methodology(
        family="longmemeval",
        name="hebb-v3",
        version="1",
        about=(
            "Hebb Mind's figures over all 500 questions, unanswerable ones included. What they "
            "print as recall_all is the fraction that recall is here, and their nDCG is the "
            "standard one."
        ),
        rankings=(
            Ranking(
                level=Level.SESSION,
                gold=match_cited(Level.SESSION),
                families=("hit", "recall", "ndcg"),
                is_distinct=True,
                states="sessions cited, abstentions included",
            ),
        ),
        judging=AnswerCheck.COMPUTED,
        headline=("session hit@10", "session recall@10", "session ndcg@10"),
    ),
)

CONVOMEM = (
    Methodology(
        family="convomem",
        name=STRICT,
        version="1",
        about=(
            "Ours. Evidence is given as text and matched to the messages that say it; turns and "
            "sessions count for every question that has an answer, the others by abstaining."
        ),
        rankings=(_SESSIONS, _TURNS),
        headline=("turn recall@10", "turn recall_all@10", "judged right"),
    ),
    Methodology(
        family="convomem",
        name="substring",
        version="1",
        about=(
            "The share of evidence texts that stand in a returned passage, or in which a returned "
            "passage stands, letter case aside; as other harnesses publish it, short passages "
            "that stand in anything included. A question without evidence counts as found."
        ),
        judging=AnswerCheck.COMPUTED,
        has_evidence_text=True,
        headline=("evidence text",),
    ),
)

MEMBENCH = (
    Methodology(
        family="membench",
        name=STRICT,
        version="1",
        about=(
            "Ours. Turns by the steps the dataset names, never by two kinds of id at once, and "
            "multiple choice by a letter that is plainly named; guessing gets a quarter."
        ),
        rankings=(_TURNS,),
        answers=("choice/letter",),
        judging=AnswerCheck.COMPUTED,
        headline=("choice/letter", "turn hit@5", "turn recall@10"),
    ),
)

PERSONAMEM = (
    Methodology(
        family="personamem",
        name=STRICT,
        version="1",
        about=(
            "Ours. Multiple choice by a letter that is plainly named; an answer that names none "
            "or two is wrong. The dataset says what is right and not where it stands, so nothing "
            "is said about retrieval. Guessing gets a quarter."
        ),
        answers=("choice/letter",),
        judging=AnswerCheck.COMPUTED,
        headline=("choice/letter",),
    ),
    Methodology(
        family="personamem",
        name="official",
        version="1",
        about="Multiple choice as the authors' script reads letters, articles included.",
        answers=("personamem/official",),
        judging=AnswerCheck.COMPUTED,
        headline=("personamem/official",),
    ),
)

MEMORYARENA = (
    Methodology(
        family="memoryarena",
        name=STRICT,
        version="1",
        about=(
            "Ours, and not MemoryArena's task completion, which needs an agent at work: the "
            "earlier subtasks of a chain with their gold solutions are the history, and the "
            "answer to the next is judged."
        ),
        headline=("judged right",),
    ),
)

PERSONA_JSON = (
    Methodology(
        family="persona-json",
        name=STRICT,
        version="1",
        about=(
            "Ours. Snippet: a wording of each fact stands, as whole words, in what was returned; "
            "document: or anywhere in the sessions it came from. Questions of several facts count "
            "by the share found. Adversarial questions count by abstaining and by the trap, never "
            "by finding the bait."
        ),
        rankings=(_SESSIONS,),
        answers=("match/substring",),
        judging=AnswerCheck.COMPUTED,
        has_layers=True,
        headline=("snippet_r@1", "snippet_r@5", "document_r@1", "document_r@5"),
    ),
)

_ALL = (
    *LOCOMO,
    *LONGMEMEVAL,
    *CONVOMEM,
    *MEMBENCH,
    *PERSONAMEM,
    *MEMORYARENA,
    *PERSONA_JSON,
)


def list_methodologies(family: str) -> tuple[Methodology, ...]:
    """Those that measure a family of datasets, ours first."""
    return tuple(each for each in _ALL if each.family == family)


def find_methodology(family: str, name: str) -> Methodology:
    """The family's methodology of this name, with or without the family before it."""
    known = {each.name: each for each in list_methodologies(family)}
    wanted = name.removeprefix(f"{family}/")
    if wanted not in known:
        raise UsageError(
            f"--protocol: {family} is not measured by {name!r}; there are {', '.join(known)}"
        )
    return known[wanted]


def list_denominators(dataset: PublicDataset, item: Item) -> Iterator[str]:
    """The counts a question belongs to: `official: asked`, `strict: counted by turns`."""
    for methodology in list_methodologies(dataset.family):
        if not methodology.asked(item):
            continue
        yield f"{methodology.name}: asked"
        for ranking in methodology.rankings:
            if ranking.empty is not None or ranking.gold("", item):
                yield f"{methodology.name}: counted by {ranking.level}s"
