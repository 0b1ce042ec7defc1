"""The table of trials, column by column: all that filtering and sorting need, and no long text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recall_bench.analysis.attribution.views import FailureLeaf
from recall_bench.analysis.trials import TrialRow, TrialTable
from recall_bench.core.plan import Trial
from recall_bench.core.question import Item

NO_PLACE = -1
"""No such thing, in a column of places."""

LEAF_ORDER = tuple(FailureLeaf)


@dataclass(slots=True)
class PageQuestions:
    """Every question that was to be asked, by its place."""

    personas: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    items: list[tuple[int, Item]] = field(default_factory=list)
    """With the place of its persona."""
    places: dict[tuple[str, str], int] = field(default_factory=dict)

    def build_columns(self, blocks: Sequence[int]) -> dict[str, object]:
        """As the page reads them; `blocks` says where the details of each are."""
        named = {name: place for place, name in enumerate(self.categories)}
        return {
            "persona": [persona for persona, _ in self.items],
            "id": [item.id for _, item in self.items],
            "text": [item.text for _, item in self.items],
            "reference": [item.truth.reference for _, item in self.items],
            "category": [named[item.truth.category] for _, item in self.items],
            "difficulty": [item.truth.difficulty for _, item in self.items],
            "block": blocks,
        }


def collect_questions(table: TrialTable, categories: Sequence[str]) -> PageQuestions:
    """The questions with a trial, by persona and in the order of the dataset."""
    asked = {(row.trial.scenario, row.trial.item) for row in table.rows}
    found = PageQuestions(categories=list(categories))
    known = set(categories)
    for persona, items in table.items.items():
        found.personas.append(persona)
        for item in items:
            if (persona, item.id) not in asked:
                continue
            found.places[persona, item.id] = len(found.items)
            found.items.append((len(found.personas) - 1, item))
            if item.truth.category not in known:
                known.add(item.truth.category)
                found.categories.append(item.truth.category)
    return found


def build_trial_columns(
    table: TrialTable,
    questions: PageQuestions,
    leaves: Mapping[Trial, FailureLeaf],
    answers: Sequence[int],
) -> dict[str, object]:
    """One entry a trial in each column, in the order of the table.

    `answers` are the places of their answers among all answers.
    """
    labels = {each.label: place for place, each in enumerate(table.plan.checkpoints)}
    found = {leaf: place for place, leaf in enumerate(LEAF_ORDER)}
    rows = table.rows
    return {
        "question": [questions.places[row.trial.scenario, row.trial.item] for row in rows],
        "checkpoint": [labels[row.trial.checkpoint] for row in rows],
        "repeat": [row.trial.repeat for row in rows],
        "state": [int(row.state) for row in rows],
        "points": [_encode_points(row) for row in rows],
        "invented": [_encode_invention(row) for row in rows],
        "leaf": [
            NO_PLACE if (leaf := leaves.get(row.trial)) is None else found[leaf] for row in rows
        ],
        "score": [row.score for row in rows] if any(_is_score_known(row) for row in rows) else None,
        "answer": answers,
    }


def _encode_points(row: TrialRow) -> int:
    return NO_PLACE if (points := row.points) is None else points


def _encode_invention(row: TrialRow) -> int:
    return NO_PLACE if (invented := row.is_hallucination) is None else int(invented)


def _is_score_known(row: TrialRow) -> bool:
    return row.score is not None
