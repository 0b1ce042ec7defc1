"""What would put a question right where that takes no judgement."""

from collections.abc import Iterator, Mapping

from recall_bench.core.question import BOUNDARY, Disclosure
from recall_bench.datasets.days import spelled
from recall_bench.generate.checks.checker import Repair
from recall_bench.generate.checks.secrecy import is_insider
from recall_bench.generate.checks.staleness import Change
from recall_bench.generate.checks.support import GUARDED, holding_days
from recall_bench.generate.checks.wording import dated
from recall_bench.lint.asked import Asked
from recall_bench.lint.boundary import discloses
from recall_bench.lint.corpus import Corpus


def repairs(corpus: Corpus, asked: Asked, change: Change | None) -> Iterator[Repair]:
    """Each by itself; whether one does any good is for the checks to say."""
    yield from _boundary(corpus, asked)
    yield from _dates(corpus, asked)
    yield from _days(corpus, asked)
    if change is not None:
        yield Repair(
            changes={"irrelevant_after": change.day - 1, "changes_on": change.day},
            why=f"day {change.day} changes the answer",
        )


def applied(entry: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """The entry with its fields changed, in their places; new ones come last."""
    merged = {**entry, **changes}
    return {key: value for key, value in merged.items() if key not in changes or value is not None}


def combined(several: list[Repair]) -> Repair | None:
    """Several repairs as one."""
    if not several:
        return None
    return Repair(changes=changes_of(several), why="; ".join(each.why for each in several))


def changes_of(several: list[Repair]) -> dict[str, object]:
    """What several repairs change; the last one that changes a field decides."""
    return {key: value for each in several for key, value in each.changes.items()}


def _boundary(corpus: Corpus, asked: Asked) -> Iterator[Repair]:
    truth = asked.item.truth
    if truth.disclosure in GUARDED:
        if is_insider(corpus, asked) and discloses(corpus, asked):
            yield Repair(
                changes={"expected_disclosure": "answer", "forbidden_sessions": None},
                why=f"everybody in {asked.session} was told, and the answer tells",
            )
        elif asked.category != BOUNDARY and truth.forbidden_sessions:
            yield Repair(changes={"category": BOUNDARY}, why=f"it expects {truth.disclosure}")
    if truth.disclosure is Disclosure.ANSWER and is_insider(corpus, asked):
        yield Repair(
            changes={"forbidden_sessions": None}, why=f"everybody in {asked.session} was told"
        )


def _dates(corpus: Corpus, asked: Asked) -> Iterator[Repair]:
    texts = {"question": asked.item.text, "answer": asked.reference}
    changes = {key: found for key, text in texts.items() if (found := dated(corpus, text))}
    if changes:
        yield Repair(changes=changes, why="day numbers are the benchmark's own: their dates")


def _days(corpus: Corpus, asked: Asked) -> Iterator[Repair]:
    """The listed days that state the answer, and those its evidence points into."""
    spans = {span.day for span in asked.item.truth.evidence if span.start is not None}
    holding = sorted({*holding_days(corpus, asked), *spans})
    if holding and len(holding) < len(asked.days):
        yield Repair(changes={"relevant_days": holding}, why=f"only {spelled(holding)} told it")
