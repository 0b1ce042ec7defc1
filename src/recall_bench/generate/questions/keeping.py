"""Which candidates are kept: those the checks find sound, if need be after a repair."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.core.record import Record
from recall_bench.errors import Malformed
from recall_bench.generate.checks.checker import QuestionChecker, QuestionProblem
from recall_bench.generate.questions.candidates import QuestionCandidate, make_format_problem
from recall_bench.generate.questions.writer import QuestionEntry
from recall_bench.world.plain_yaml import dump_yaml
from recall_bench.yaml12 import Document

_MAX_REPAIRS = 3
"""A question that needs more repairs is another question."""


class RejectionReason(Record, frozen=True, kw_only=True):
    """Why a question was rejected."""

    kind: str
    message: str


class RejectedQuestion(Record, frozen=True, kw_only=True):
    """A question that was not kept."""

    entry: dict[str, object]
    problems: tuple[RejectionReason, ...]


@dataclass(frozen=True, slots=True)
class SortedCandidates:
    """The candidates of a window: kept or refused, each in the order they were written."""

    kept: tuple[dict[str, object], ...]
    refused: tuple[RejectedQuestion, ...]


def sort_candidates(
    candidates: Sequence[QuestionEntry], checker: QuestionChecker, ids: Iterator[str]
) -> SortedCandidates:
    """Examine every candidate; those of a pair are kept together or not at all.

    What is kept gets the next of the ids, by which the checks name it to those that repeat it.
    """
    kept: list[dict[str, object]] = []
    refused: list[RejectedQuestion] = []
    for group in _group_pairs(candidates):
        examined = [_examine_candidate(entry, checker) for entry in group]
        if any(problems for _, problems in examined):
            refused += _make_rejections(examined)
            continue
        for entry, _ in examined:
            kept.append({"id": next(ids), **entry})
            checker.keep(kept[-1])
    return SortedCandidates(tuple(kept), tuple(refused))


def _group_pairs(candidates: Sequence[QuestionEntry]) -> Iterator[list[QuestionEntry]]:
    groups: dict[str, list[QuestionEntry]] = {}
    for place, entry in enumerate(candidates):
        pair = entry.pair if isinstance(entry, QuestionCandidate) else None
        groups.setdefault(pair or f"\0{place}", []).append(entry)
    yield from groups.values()


def _make_rejections(
    examined: Sequence[tuple[dict[str, object], tuple[QuestionProblem, ...]]],
) -> Iterator[RejectedQuestion]:
    for entry, problems in examined:
        faults = tuple(
            RejectionReason(kind=problem.kind, message=problem.message) for problem in problems
        )
        if not faults:
            first = next(problem for _, others in examined for problem in others)
            faults = (
                RejectionReason(kind=first.kind, message=f"its twin was rejected: {first.message}"),
            )
        yield RejectedQuestion(entry=entry, problems=faults)


def _examine_candidate(
    candidate: QuestionEntry, checker: QuestionChecker
) -> tuple[dict[str, object], tuple[QuestionProblem, ...]]:
    entry = _normalise_entry(candidate)
    flaws = candidate.flaws if isinstance(candidate, QuestionCandidate) else ()
    if flaws:
        return entry, flaws
    if not _is_storable(entry):
        return entry, (make_format_problem("it holds characters that YAML cannot hold"),)
    found = checker.examine(entry)
    for _ in range(_MAX_REPAIRS):
        if found.is_sound or found.repair is None or found.repair.removes:
            break
        mended = repair_entry(entry, found.repair.changes)
        if mended == entry:
            break
        entry = mended
        found = checker.examine(entry)
    return entry, found.problems


def repair_entry(entry: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """The entry with a repair's changes, and with what follows from them.

    Evidence on days that are no longer relevant goes with them; a day after which the answer no
    longer holds is followed by the day that changes it.
    """
    fields = {**entry, **changes}
    days = fields.get("relevant_days")
    if "relevant_days" in changes and isinstance(days, list | tuple) and days:
        fields["relevant_days"] = list(days)
        evidence = fields.get("evidence")
        if isinstance(evidence, list):
            fields["evidence"] = [span for span in evidence if span["day"] in days]
        if "answerable_from" in entry and "answerable_from" not in changes:
            latest = max(days)
            before = entry["answerable_from"]
            was = entry.get("relevant_days")
            # What may be asked only later than its days allow stays so.
            if isinstance(was, list) and before == max(was, default=None):
                fields["answerable_from"] = latest
    until = changes.get("irrelevant_after")
    if isinstance(until, int) and "changes_on" not in changes:
        fields["changes_on"] = until + 1
    return _normalise_entry(fields)


def _normalise_entry(entry: Mapping[str, object]) -> dict[str, object]:
    """The entry as a file gives it back: without what has no value, lists for tuples."""
    plain: dict[str, object] = json.loads(json.dumps(dict(entry), ensure_ascii=True))
    return {key: value for key, value in plain.items() if value not in (None, [])}


def _is_storable(entry: Mapping[str, object]) -> bool:
    """Whether writing it and reading it again gives the same."""
    try:
        text = dump_yaml([entry])
        text.encode()
        return Document("entry", text).content == [entry]
    except (Malformed, UnicodeEncodeError):
        return False
