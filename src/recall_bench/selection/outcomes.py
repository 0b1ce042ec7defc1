"""Every test of a run, classed and measured, from its journal."""

from collections.abc import Iterator

from recall_bench.core.event import Answered, NotAnswered, TrialResult
from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.reporting.folder import RunFolder
from recall_bench.selection.scoring import SelectionComparison, SelectionOutcome, compare_selection
from recall_bench.selection.suite import NO_RECALL, RECALL, Suite


class ScoredTest(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One test put once; or not put at all."""

    test: str
    repeat: int = 0
    category: str
    prompt: str
    outcome: SelectionOutcome
    expected: tuple[str, ...] = ()
    recalled: tuple[str, ...] | None = None
    """In the selector's order; None if it failed or was not asked."""
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Recalled names that are not on disk. They are extra too."""
    presearched: tuple[str, ...] | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    jaccard: float | None = None
    seconds: float | None = None
    usage: Usage | None = None
    notes: tuple[str, ...] = ()
    """What the selector says went otherwise than planned."""
    fault: str | None = None
    message: str | None = None


def score_tests(folder: RunFolder, suite: Suite) -> tuple[ScoredTest, ...]:
    """All tests by name and repeat, those with an empty prompt among them.

    A test that was not put yet is not here.
    """
    rows = [row for name in folder.scenarios for row in _score_scenario(folder, name, suite)]
    rows += [
        ScoredTest(
            test=name,
            category=RECALL if test.expected else NO_RECALL,
            prompt=test.prompt,
            outcome=SelectionOutcome.SKIP,
            expected=test.expected,
        )
        for name, test in suite.skipped.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.test, row.repeat)))


def _score_scenario(folder: RunFolder, scenario: str, suite: Suite) -> Iterator[ScoredTest]:
    for result in folder.results(scenario):
        if isinstance(result.outcome, NotAnswered):
            yield _score_failure(result, result.outcome)
        elif result.answered is not None:
            yield _score_answer(result, result.answered, suite)


def _score_failure(result: TrialResult, failure: NotAnswered) -> ScoredTest:
    return ScoredTest(
        test=result.item.id,
        repeat=result.trial.repeat,
        category=result.item.truth.category,
        prompt=result.item.text,
        outcome=SelectionOutcome.ERROR,
        expected=result.item.truth.cited,
        seconds=failure.seconds,
        fault=failure.fault,
        message=failure.message,
    )


def _score_answer(result: TrialResult, answered: Answered, suite: Suite) -> ScoredTest:
    answer, expected = answered.answer, result.item.truth.cited
    names = (passage.id for passage in answer.passages)
    recalled = tuple(dict.fromkeys(name for name in names if name is not None))
    found: SelectionComparison = compare_selection(expected, recalled)
    told = {key: value for call in answer.tool_calls for key, value in call.items()}
    return ScoredTest(
        test=result.item.id,
        repeat=result.trial.repeat,
        category=result.item.truth.category,
        prompt=result.item.text,
        outcome=found.outcome,
        expected=expected,
        recalled=recalled,
        missing=found.missing,
        extra=found.extra,
        unknown=tuple(name for name in recalled if name not in suite.names),
        presearched=_parse_names(told.get("presearched")),
        precision=found.precision,
        recall=found.recall,
        f1=found.f1,
        jaccard=found.jaccard,
        seconds=answered.seconds,
        usage=answer.usage,
        notes=_parse_names(told.get("notes")) or (),
    )


def _parse_names(said: object) -> tuple[str, ...] | None:
    return tuple(map(str, said)) if isinstance(said, list | tuple) else None
