"""Canaries: questions that reliably make a system hallucinate.

Three of three can be luck: among a thousand questions with a rate of 10 %, one does so. So the
rates of all questions are estimated together: their distribution by maximum likelihood (Kiefer and
Wolfowitz 1956), with one more question spread evenly over all rates, so that a few odd counts do
not prove a kind of question by themselves. Bayes' rule then gives the rate of each question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import clean_text
from recall_bench.core.record import Record
from recall_bench.core.scenario import Item
from recall_bench.runs.trials import TrialTable


class CanaryChange(StrEnum):
    """What happened to a canary since the last update."""

    NEW = "new"
    """It hallucinates reliably now, and is not on file."""
    STILL = "still"
    """It is on file, and hallucinated in half of the answers or more."""
    HEALED = "healed"
    """It is on file, was asked at two places, and no longer hallucinates."""
    UNCLEAR = "unclear"
    """It is on file, and was asked too seldom, at one place only, or with mixed results."""
    UNASKED = "unasked"
    """It is on file, and this run did not ask it."""
    CHANGED = "changed"
    """Its text or reference changed: it is another question now."""


class CanaryQuestion(Record, frozen=True, kw_only=True):
    """One question that hallucinates reliably."""

    persona: str
    question: str
    """Its id."""
    text: str
    category: str
    digest: str
    """Of its text and reference."""
    asked: int
    """Answers that were judged."""
    hallucinated: int
    runs: int
    """How many runs this is over."""
    sizes: int
    """How many corpus sizes."""
    repeats: int
    """How many repeats."""


class WatchedCanary(Record, frozen=True, kw_only=True):
    """A canary and what happened to it in this run."""

    canary: CanaryQuestion
    """As on file, or as in this run if it is new."""
    change: CanaryChange
    asked: int
    """In this run alone."""
    hallucinated: int


class CanaryWatch(Record, frozen=True, kw_only=True):
    """All canaries, of the file and of this run."""

    file: str | None
    """None if there is no file."""
    rule: str
    """The definition of a canary, in one sentence with its figures."""
    watched: tuple[WatchedCanary, ...]
    """Changes first, then by persona and question."""


HALF_RATE: Final = 0.5

_RATES = 41
"""Steps of 1/40: finer ones change no probability by 0.01."""
_ROUNDS = 1000
_TOLERANCE = 1e-7

Floats = NDArray[np.float64]
AnswerCount = tuple[int, int]
"""Judged answers, and hallucinated ones among them."""


def estimate_reliability(counts: Sequence[AnswerCount]) -> list[float]:
    """For each question, the probability that its rate is a half or more."""
    if not counts:
        return []
    different, place, times = np.unique(
        np.asarray(counts, np.int64), axis=0, return_inverse=True, return_counts=True
    )
    rates = np.linspace(0.0, 1.0, _RATES)
    likely = _compute_likelihoods(different, rates)
    shares = _fit_shares(likely, times.astype(np.float64))
    chances = _compute_posterior(likely, shares)[:, rates >= HALF_RATE].sum(axis=1)
    return [float(each) for each in chances[place.reshape(-1)]]


def _compute_likelihoods(counts: NDArray[np.int64], rates: Floats) -> Floats:
    """The likelihood of each count at each rate, up to a factor for each count."""
    asked, made_up = counts[:, :1].astype(np.float64), counts[:, 1:].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(made_up > 0, made_up * np.log(rates), 0.0)
        clean = np.where(asked > made_up, (asked - made_up) * np.log1p(-rates), 0.0)
    logs = found + clean
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)), np.float64)


def _fit_shares(likely: Floats, times: Floats) -> Floats:
    """The share of questions at each rate.

    EM accelerated by SQUAREM (Varadhan and Roland 2008): plain EM takes tens of thousands of steps.
    """
    shares = np.full(likely.shape[1], 1 / likely.shape[1])
    for _ in range(_ROUNDS):
        once = _update_shares(likely, times, shares)
        twice = _update_shares(likely, times, once)
        first, bend = once - shares, twice - 2 * once + shares
        bent = float(np.linalg.norm(bend))
        stride = max(1.0, float(np.linalg.norm(first)) / bent) if bent > 0 else 1.0
        ahead = shares + 2 * stride * first + stride**2 * bend
        # A negative share means that the step was too long.
        shares = twice if ahead.min() <= 0 else _update_shares(likely, times, ahead / ahead.sum())
        if np.abs(first).max() < _TOLERANCE:
            break
    return shares


def _update_shares(likely: Floats, times: Floats, shares: Floats) -> Floats:
    held = times @ _compute_posterior(likely, shares) + 1 / len(shares)
    return np.asarray(held / held.sum(), np.float64)


def _compute_posterior(likely: Floats, shares: Floats) -> Floats:
    joint = likely * shares
    return np.asarray(joint / joint.sum(axis=1, keepdims=True), np.float64)


MIN_JUDGED: Final = 3
"""Judged answers that a canary needs."""
MIN_PLACES: Final = 2
"""Corpus sizes or runs that a canary needs: repeats at one size are not independent."""
RELIABLE_SHARE: Final = 0.8
"""The share of hallucinated answers that a canary needs."""
SURE_CHANCE: Final = 0.95

CANARY_RULE: Final = (
    f"a canary was judged {MIN_JUDGED} times or more, at {MIN_PLACES} corpus sizes or in "
    f"{MIN_PLACES} runs; at least {RELIABLE_SHARE:.0%} of its answers made something up; and by "
    "how all questions went, the chance that it does so every other time or more is "
    f"{SURE_CHANCE:.0%} or better"
).replace("%", " %")

QuestionKey = tuple[str, str]
"""Persona and question."""


@dataclass(slots=True)
class QuestionHistory:
    """The judged answers to one question, over all runs."""

    item: Item
    asked: int = 0
    hallucinated: int = 0
    places: set[tuple[int, int]] = field(default_factory=set)
    """Run and corpus size."""
    repeats: set[int] = field(default_factory=set)


def find_canaries(tables: Sequence[TrialTable]) -> tuple[CanaryQuestion, ...]:
    """The canaries of all runs together, by persona and question.

    UsageError if two runs use one id for different questions.
    """
    return select_reliable(collect_histories(tables))


def collect_histories(tables: Sequence[TrialTable]) -> dict[QuestionKey, QuestionHistory]:
    """Every question with a judged answer, with its counts."""
    _check_same_questions(tables)
    found: dict[QuestionKey, QuestionHistory] = {}
    for number, table in enumerate(tables):
        for row in table.rows:
            if row.is_invention is None:
                continue
            key = row.trial.scenario, row.trial.item
            asked = found.get(key)
            if asked is None:
                asked = found[key] = QuestionHistory(row.item)
            asked.asked += 1
            asked.hallucinated += row.is_invention
            asked.places.add((number, row.cutoff))
            asked.repeats.add(row.trial.repeat)
    return found


def select_reliable(answers: Mapping[QuestionKey, QuestionHistory]) -> tuple[CanaryQuestion, ...]:
    """The questions that meet the rule, by persona and question."""
    keys = sorted(answers)
    chances = estimate_reliability(
        [(answers[key].asked, answers[key].hallucinated) for key in keys]
    )
    return tuple(
        _build_canary(key, asked)
        for key, chance in zip(keys, chances, strict=True)
        if chance >= SURE_CHANCE and _is_frequent(asked := answers[key])
    )


def digest_item(item: Item) -> str:
    """A digest of the text, the choices and the reference of a question."""
    content = msgspec.json.encode((item.text, item.choices, item.truth.reference))
    return sha256(content).hexdigest()[:16]


def digest_items(table: TrialTable) -> dict[QuestionKey, str]:
    """The digest of every question, asked or not."""
    return {
        (persona, item.id): digest_item(item)
        for persona, items in table.items.items()
        for item in items
    }


def _is_frequent(asked: QuestionHistory) -> bool:
    return (
        asked.asked >= MIN_JUDGED
        and len(asked.places) >= MIN_PLACES
        and asked.hallucinated >= RELIABLE_SHARE * asked.asked
    )


def _build_canary(key: QuestionKey, asked: QuestionHistory) -> CanaryQuestion:
    persona, question = key
    return CanaryQuestion(
        persona=persona,
        question=question,
        text=asked.item.text,
        category=asked.item.truth.category,
        digest=digest_item(asked.item),
        asked=asked.asked,
        hallucinated=asked.hallucinated,
        runs=len({run for run, _ in asked.places}),
        sizes=len({size for _, size in asked.places}),
        repeats=len(asked.repeats),
    )


def _check_same_questions(tables: Sequence[TrialTable]) -> None:
    seen: dict[QuestionKey, str] = {}
    for table in tables if len(tables) > 1 else ():
        for key, digest in digest_items(table).items():
            if seen.setdefault(key, digest) != digest:
                raise UsageError(
                    f"{clean_text('/'.join(key))}: the runs ask different things by this name; "
                    "take runs over the same questions together"
                )
