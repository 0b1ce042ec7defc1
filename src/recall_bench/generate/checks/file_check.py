"""A whole question file examined, entry by entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recall_bench.datasets.fields import describe_value
from recall_bench.generate.checks.checker import ProblemKind, QuestionCheck, QuestionProblem
from recall_bench.generate.checks.examining import StoryChecker
from recall_bench.generate.checks.repairs import apply_changes
from recall_bench.lint.corpus import LintCorpus


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuestion:
    """One entry of a file, and what the checks say about it."""

    place: int
    name: str
    """Its id, or what stands in for one."""
    entry: Mapping[str, object] | None
    """None if it is not a mapping."""
    examined: QuestionCheck

    @property
    def repaired(self) -> Mapping[str, object] | None:
        """The entry as it would be with its repair; None if it would go, or is none."""
        repair = self.examined.repair
        if self.entry is None or (repair is not None and repair.removes):
            return None
        return self.entry if repair is None else apply_changes(self.entry, repair.changes)

    @property
    def is_wellformed(self) -> bool:
        """Whether its fields can be read."""
        return not any(problem.kind is ProblemKind.FORMAT for problem in self.examined.problems)


def check_file(corpus: LintCorpus, rows: Sequence[object]) -> tuple[CheckedQuestion, ...]:
    """Every entry examined, each beside those before it as they would be once repaired."""
    entries = [_convert_row(row) for row in rows]
    checker = StoryChecker(corpus, [entry for entry in entries if entry is not None])
    first: dict[str, int] = {}
    found = []
    for place, (row, entry) in enumerate(zip(rows, entries, strict=True)):
        named = entry.get("id") if entry is not None else None
        name = named if isinstance(named, str) and named else f"question number {place + 1}"
        examined = _examine_row(checker, row, entry)
        if isinstance(named, str) and first.setdefault(named, place) != place:
            examined = _add_problem(
                examined, f"question number {first[named] + 1} has this id; rename it"
            )
        checked = CheckedQuestion(place=place, name=name, entry=entry, examined=examined)
        if checked.repaired is not None:
            checker.keep(checked.repaired)
        found.append(checked)
    return tuple(found)


def _convert_row(row: object) -> dict[str, object] | None:
    return {str(key): value for key, value in row.items()} if isinstance(row, dict) else None


def _examine_row(
    checker: StoryChecker, row: object, entry: Mapping[str, object] | None
) -> QuestionCheck:
    if entry is None:
        return _add_problem(
            QuestionCheck(problems=()),
            f"it is {describe_value(row)}; write a mapping of its fields",
        )
    examined = checker.examine(entry)
    return examined if "id" in entry else _add_problem(examined, "it has no id; add one")


def _add_problem(examined: QuestionCheck, message: str) -> QuestionCheck:
    problem = QuestionProblem(kind=ProblemKind.FORMAT, message=message, is_grave=True)
    return replace(examined, problems=(problem, *examined.problems))
