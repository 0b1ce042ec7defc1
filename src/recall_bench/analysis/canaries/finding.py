"""Which questions hallucinate reliably, over the sizes and repeats of a run, and over runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import msgspec

from recall_bench.analysis.canaries.reliability import estimate_reliability
from recall_bench.analysis.canaries.views import CanaryQuestion
from recall_bench.analysis.trials import TrialTable
from recall_bench.core.question import Item
from recall_bench.errors import UsageError
from recall_bench.reporting.lines import clean_text

MIN_JUDGED: Final = 3
"""Judged less often, a question has not been seen to hallucinate again and again."""
MIN_PLACES: Final = 2
"""A system that repeats itself at one size says one thing several times."""
RELIABLE_SHARE: Final = 0.8
"""What reliably means: one answer in five may be a slip, of the system or of the judge."""
SURE_CHANCE: Final = 0.95

CANARY_RULE: Final = (
    f"a canary was judged {MIN_JUDGED} times or more, at {MIN_PLACES} corpus sizes or in {MIN_PLACES} runs; at "
    f"least {RELIABLE_SHARE:.0%} of its answers made something up; and by how all questions went, the "
    f"chance that it does so every other time or more is {SURE_CHANCE:.0%} or better"
).replace("%", " %")

QuestionKey = tuple[str, str]
"""Persona and question."""


@dataclass(slots=True)
class QuestionHistory:
    """What all runs together say of one question."""

    item: Item
    asked: int = 0
    hallucinated: int = 0
    places: set[tuple[int, int]] = field(default_factory=set)
    """Run and corpus size."""
    repeats: set[int] = field(default_factory=set)


def find_canaries(tables: Sequence[TrialTable]) -> tuple[CanaryQuestion, ...]:
    """The canaries of all runs taken together, by persona and question.

    UsageError where two runs ask different things by one name.
    """
    return select_reliable(collect_histories(tables))


def collect_histories(tables: Sequence[TrialTable]) -> dict[QuestionKey, QuestionHistory]:
    """Every question with a judged answer, and how its answers went."""
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
    """Those that meet the rule, by persona and question."""
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
    """Names what is asked and what is right: another text or reference has another digest."""
    content = msgspec.json.encode((item.text, item.choices, item.truth.reference))
    return sha256(content).hexdigest()[:16]


def digest_items(table: TrialTable) -> dict[QuestionKey, str]:
    """The digest of every question there is, asked or not."""
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
                    f"{clean_text('/'.join(key))}: the runs ask different things by this name; take "
                    "runs over the same questions together"
                )
