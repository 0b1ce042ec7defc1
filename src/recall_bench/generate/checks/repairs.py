"""What would put a question right where that takes no judgement."""

from collections.abc import Iterator, Mapping

from recall_bench.core.question import BOUNDARY, Disclosure
from recall_bench.datasets.days import format_days
from recall_bench.generate.checks.checker import QuestionRepair
from recall_bench.generate.checks.secrecy import is_insider
from recall_bench.generate.checks.staleness import AnswerChange
from recall_bench.generate.checks.support import GUARDED, find_holding_days
from recall_bench.generate.checks.wording import replace_day_numbers
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.boundary import find_disclosures
from recall_bench.lint.corpus import LintCorpus


def suggest_repairs(
    corpus: LintCorpus, asked: LintQuestion, change: AnswerChange | None
) -> Iterator[QuestionRepair]:
    """Each by itself; whether one does any good is for the checks to say."""
    yield from _repair_boundary(corpus, asked)
    yield from _repair_dates(corpus, asked)
    yield from _repair_days(corpus, asked)
    if change is not None:
        yield QuestionRepair(
            changes={"irrelevant_after": change.day - 1, "changes_on": change.day},
            why=f"day {change.day} changes the answer",
        )


def apply_changes(entry: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """The entry with its fields changed, in their places; new ones come last."""
    merged = {**entry, **changes}
    return {key: value for key, value in merged.items() if key not in changes or value is not None}


def combine_repairs(several: list[QuestionRepair]) -> QuestionRepair | None:
    """Several repairs as one."""
    if not several:
        return None
    return QuestionRepair(
        changes=merge_changes(several), why="; ".join(each.why for each in several)
    )


def merge_changes(several: list[QuestionRepair]) -> dict[str, object]:
    """What several repairs change; the last one that changes a field decides."""
    return {key: value for each in several for key, value in each.changes.items()}


def _repair_boundary(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionRepair]:
    truth = asked.item.truth
    if truth.disclosure in GUARDED:
        if is_insider(corpus, asked) and find_disclosures(corpus, asked):
            yield QuestionRepair(
                changes={"expected_disclosure": "answer", "forbidden_sessions": None},
                why=f"everybody in {asked.session} was told, and the answer tells",
            )
        elif asked.category != BOUNDARY and truth.forbidden_sessions:
            yield QuestionRepair(
                changes={"category": BOUNDARY}, why=f"it expects {truth.disclosure}"
            )
    if truth.disclosure is Disclosure.ANSWER and is_insider(corpus, asked):
        yield QuestionRepair(
            changes={"forbidden_sessions": None}, why=f"everybody in {asked.session} was told"
        )


def _repair_dates(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionRepair]:
    texts = {"question": asked.item.text, "answer": asked.reference}
    changes = {
        key: found for key, text in texts.items() if (found := replace_day_numbers(corpus, text))
    }
    if changes:
        yield QuestionRepair(
            changes=changes, why="day numbers are the benchmark's own: their dates"
        )


def _repair_days(corpus: LintCorpus, asked: LintQuestion) -> Iterator[QuestionRepair]:
    """The listed days that state the answer, and those its evidence points into."""
    spans = {span.day for span in asked.item.truth.evidence if span.start is not None}
    holding = sorted({*find_holding_days(corpus, asked), *spans})
    if holding and len(holding) < len(asked.days):
        yield QuestionRepair(
            changes={"relevant_days": holding}, why=f"only {format_days(holding)} told it"
        )
