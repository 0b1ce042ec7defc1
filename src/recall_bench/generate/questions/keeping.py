"""Which candidates are kept: those the checks find sound, if need be after a repair."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recall_bench.core.record import Record
from recall_bench.errors import Malformed
from recall_bench.generate.checks.checker import Checker, Problem
from recall_bench.generate.questions.candidates import Candidate, malformed
from recall_bench.generate.questions.writer import Entry
from recall_bench.world.plain_yaml import dumped
from recall_bench.yaml12 import Document

_REPAIRS = 3
"""A question that needs more repairs is another question."""


class Fault(Record, frozen=True, kw_only=True):
    """Why a question was rejected."""

    kind: str
    message: str


class Refused(Record, frozen=True, kw_only=True):
    """A question that was not kept."""

    entry: dict[str, object]
    problems: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Sorted:
    """The candidates of a window: kept or refused, each in the order they were written."""

    kept: tuple[dict[str, object], ...]
    refused: tuple[Refused, ...]


def sort_out(candidates: Sequence[Entry], checker: Checker, ids: Iterator[str]) -> Sorted:
    """Examine every candidate; those of a pair are kept together or not at all.

    What is kept gets the next of the ids, by which the checks name it to those that repeat it.
    """
    kept: list[dict[str, object]] = []
    refused: list[Refused] = []
    for group in _groups(candidates):
        examined = [_examined(entry, checker) for entry in group]
        if any(problems for _, problems in examined):
            refused += _refusals(examined)
            continue
        for entry, _ in examined:
            kept.append({"id": next(ids), **entry})
            checker.keep(kept[-1])
    return Sorted(tuple(kept), tuple(refused))


def _groups(candidates: Sequence[Entry]) -> Iterator[list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for place, entry in enumerate(candidates):
        pair = entry.pair if isinstance(entry, Candidate) else None
        groups.setdefault(pair or f"\0{place}", []).append(entry)
    yield from groups.values()


def _refusals(
    examined: Sequence[tuple[dict[str, object], tuple[Problem, ...]]],
) -> Iterator[Refused]:
    for entry, problems in examined:
        faults = tuple(Fault(kind=problem.kind, message=problem.message) for problem in problems)
        if not faults:
            first = next(problem for _, others in examined for problem in others)
            faults = (Fault(kind=first.kind, message=f"its twin was rejected: {first.message}"),)
        yield Refused(entry=entry, problems=faults)


def _examined(candidate: Entry, checker: Checker) -> tuple[dict[str, object], tuple[Problem, ...]]:
    entry = _plain(candidate)
    flaws = candidate.flaws if isinstance(candidate, Candidate) else ()
    if flaws:
        return entry, flaws
    if not _survives(entry):
        return entry, (malformed("it holds characters that YAML cannot hold"),)
    found = checker.examine(entry)
    for _ in range(_REPAIRS):
        if found.is_sound or found.repair is None or found.repair.removes:
            break
        mended = repaired(entry, found.repair.changes)
        if mended == entry:
            break
        entry = mended
        found = checker.examine(entry)
    return entry, found.problems


def repaired(entry: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
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
    return _plain(fields)


def _plain(entry: Mapping[str, object]) -> dict[str, object]:
    """The entry as a file gives it back: without what has no value, lists for tuples."""
    plain: dict[str, object] = json.loads(json.dumps(dict(entry), ensure_ascii=True))
    return {key: value for key, value in plain.items() if value not in (None, [])}


def _survives(entry: Mapping[str, object]) -> bool:
    """Whether writing it and reading it again gives the same."""
    try:
        text = dumped([entry])
        text.encode()
        return Document("entry", text).content == [entry]
    except (Malformed, UnicodeEncodeError):
        return False
