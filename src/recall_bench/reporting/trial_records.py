"""The trials of a run as plain records, for data frames."""

from collections.abc import Iterator

from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialRow, TrialTable, read_trials

COLUMNS = {
    "persona": str,
    "checkpoint": str,
    "days": int,
    "question_id": str,
    "repeat": int,
    "category": str,
    "difficulty": str,
    "question": str,
    "reference": str,
    "answer": str,
    "state": str,
    "points": int,
    "correctness": int,
    "completeness": int,
    "grounded": int,
    "invented": bool,
    "leaked": bool,
    "silence": int,
    "ceiling": int,
    "seconds": float,
    "fault": str,
}
"""The columns of a record with their types; each value may be None."""


def list_trial_records(
    folder: RunFolder, table: TrialTable | None = None
) -> Iterator[dict[str, object]]:
    """One record for each owed trial, by persona, checkpoint, repeat and asked order.

    `table` is the table of the run, if it was read before.
    """
    rows = (table or read_trials(folder)).rows
    results = (result for name in folder.scenarios for result in folder.results(name))
    for row, result in zip(rows, results, strict=True):
        answered = result.answered
        yield _make_record(row, None if answered is None else answered.answer.text)


def _make_record(row: TrialRow, answer: str | None) -> dict[str, object]:
    trial, truth, status = row.trial, row.item.truth, row.status
    is_marked = row.is_hallucination is not None
    values = (
        *(trial.scenario, trial.checkpoint, row.days, trial.item, trial.repeat),
        *(row.category, row.difficulty, row.item.text, truth.reference, answer),
        *(row.state.name.lower().replace("_", " "), row.points),
        *(
            (status.correctness, status.completeness, status.grounded)
            if is_marked
            else (None, None, None)
        ),
        *(row.is_invention, row.leaked, row.floor, row.ceiling, row.seconds, row.fault),
    )
    return dict(zip(COLUMNS, values, strict=True))
