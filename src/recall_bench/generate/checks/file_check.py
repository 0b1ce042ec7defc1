"""A whole question file examined, entry by entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recall_bench.datasets.fields import shown
from recall_bench.generate.checks.checker import Examined, Kind, Problem
from recall_bench.generate.checks.examining import StoryChecker
from recall_bench.generate.checks.repairs import applied
from recall_bench.lint.corpus import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One entry of a file, and what the checks say about it."""

    place: int
    name: str
    """Its id, or what stands in for one."""
    entry: Mapping[str, object] | None
    """None if it is not a mapping."""
    examined: Examined

    @property
    def mended(self) -> Mapping[str, object] | None:
        """The entry as it would be with its repair; None if it would go, or is none."""
        repair = self.examined.repair
        if self.entry is None or (repair is not None and repair.removes):
            return None
        return self.entry if repair is None else applied(self.entry, repair.changes)

    @property
    def is_wellformed(self) -> bool:
        """Whether its fields can be read."""
        return not any(problem.kind is Kind.FORMAT for problem in self.examined.problems)


def check_file(corpus: Corpus, rows: Sequence[object]) -> tuple[Checked, ...]:
    """Every entry examined, each beside those before it as they would be once repaired."""
    entries = [_entry(row) for row in rows]
    checker = StoryChecker(corpus, [entry for entry in entries if entry is not None])
    first: dict[str, int] = {}
    found = []
    for place, (row, entry) in enumerate(zip(rows, entries, strict=True)):
        named = entry.get("id") if entry is not None else None
        name = named if isinstance(named, str) and named else f"question number {place + 1}"
        examined = _examined(checker, row, entry)
        if isinstance(named, str) and first.setdefault(named, place) != place:
            examined = _with(examined, f"question number {first[named] + 1} has this id; rename it")
        checked = Checked(place=place, name=name, entry=entry, examined=examined)
        if checked.mended is not None:
            checker.keep(checked.mended)
        found.append(checked)
    return tuple(found)


def _entry(row: object) -> dict[str, object] | None:
    return {str(key): value for key, value in row.items()} if isinstance(row, dict) else None


def _examined(checker: StoryChecker, row: object, entry: Mapping[str, object] | None) -> Examined:
    if entry is None:
        return _with(Examined(problems=()), f"it is {shown(row)}; write a mapping of its fields")
    examined = checker.examine(entry)
    return examined if "id" in entry else _with(examined, "it has no id; add one")


def _with(examined: Examined, message: str) -> Examined:
    problem = Problem(kind=Kind.FORMAT, message=message, is_grave=True)
    return replace(examined, problems=(problem, *examined.problems))
