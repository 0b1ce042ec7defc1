"""The questions of a run, from its evaluations: no file holds those that were never put."""

import re

from recall_bench.core.question import CATEGORIES, Evidence, Item, Truth
from recall_bench.datasets.questions import infer_expectation
from recall_bench.importing.evaluations import CheckpointVisit, Evaluation
from recall_bench.importing.faults import FaultCounts
from recall_bench.importing.formats import QuestionRecord

_NUMBER = r"[0-9]{1,18}"


class ImportedQuestions:
    """Gives every wording of one persona's questions an id of its own.

    A question that was corrected between two attempts kept its id, and two questions of a dataset
    may share one: to the views they are two questions.
    """

    def __init__(self) -> None:
        self._ids: dict[QuestionRecord, str] = {}
        self._asked: dict[str, QuestionRecord] = {}

    def add(self, qa: QuestionRecord) -> None:
        """Take a question in."""
        wording = _reduce_question(qa)
        if (known := self._ids.get(wording)) is not None:
            self._asked[known] = _merge_questions(self._asked[known], qa)
            return
        name, number = qa.id, 1
        while name in self._asked:
            number += 1
            name = f"{qa.id}~{number}"
        self._ids[wording] = name
        self._asked[name] = qa

    def find_id(self, qa: QuestionRecord) -> str:
        """The id that this wording goes by."""
        return self._ids[_reduce_question(qa)]

    @property
    def reworded_count(self) -> int:
        """How many wordings have an id that is not theirs in the files."""
        return sum(name != qa.id for name, qa in self._asked.items())

    def build_items(self) -> tuple[Item, ...]:
        """Every question, by id, so that two runs list the same ones alike."""
        return tuple(
            _build_item(name, self._asked[name]) for name in sorted(self._asked, key=_make_sort_key)
        )


def collect_questions(
    visits: list[CheckpointVisit], faults: FaultCounts
) -> dict[str, ImportedQuestions]:
    """By persona, in the order the files name them."""
    found: dict[str, ImportedQuestions] = {}
    for visit in visits:
        for each in visit.evaluations:
            found.setdefault(each.persona, ImportedQuestions()).add(each.qa)
            faults.note("unlisted", int(each.qa.category not in CATEGORIES))
            faults.note("too-early", int(max(each.qa.relevant_days, default=0) > visit.days))
    faults.note("reworded", sum(each.reworded_count for each in found.values()))
    return found


def list_asked_ids(evaluations: list[Evaluation], questions: ImportedQuestions) -> tuple[str, ...]:
    """The ids of what was put at a checkpoint, each once, in that order."""
    return tuple(dict.fromkeys(questions.find_id(each.qa) for each in evaluations))


def _reduce_question(qa: QuestionRecord) -> QuestionRecord:
    """A question without what only some of the files tell of it."""
    return QuestionRecord(
        id=qa.id,
        question=qa.question,
        answer=qa.reference,
        category=qa.category,
        difficulty=qa.difficulty,
        relevant_days=qa.relevant_days,
        expected_disclosure=qa.expected_disclosure,
        query_session=qa.query_session,
        forbidden_sessions=qa.forbidden_sessions,
    )


def _merge_questions(first: QuestionRecord, other: QuestionRecord) -> QuestionRecord:
    """All that is known of one question."""
    if first.irrelevant_after is None and other.irrelevant_after is not None:
        return other
    return other if first.requires_synthesis is None else first


def _build_item(name: str, qa: QuestionRecord) -> Item:
    days = dict.fromkeys(qa.relevant_days)
    reference = qa.reference
    return Item(
        id=name,
        text=qa.question,
        truth=Truth(
            reference=reference,
            category=qa.category,
            difficulty=qa.difficulty,
            expects=infer_expectation(reference, qa.category, qa.expected_disclosure),
            evidence=tuple(Evidence(day=day) for day in days),
            requires_synthesis=bool(qa.requires_synthesis),
            forbidden_sessions=qa.forbidden_sessions,
            disclosure=qa.expected_disclosure,
        ),
        known_from=max(days, default=0),
        known_until=qa.irrelevant_after,
        session=qa.query_session,
        choices=qa.choices,
    )


def _make_sort_key(name: str) -> list[tuple[int, str]]:
    """Sorts q9 before q10."""
    return [
        (int(part), "") if re.fullmatch(_NUMBER, part) else (-1, part)
        for part in re.split(rf"({_NUMBER})", name)
    ]
