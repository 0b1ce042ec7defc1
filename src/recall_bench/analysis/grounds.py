"""What there is to go by in a run: whether it has marks, and whose answers they are for."""

from datetime import datetime

from recall_bench.analysis.trials import TrialTable
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.folder import RunFolder


def explain_missing_marks(table: TrialTable) -> str | None:
    """Why the run has no marks to go by; None if it has some.

    A question that was not answered has no points, which is a mark only beside others: where a
    dataset's own protocol scores the answers, failures would be all that counts.
    """
    card = table.plan.dataset
    if card is None:
        return None if table.points else "none of its answers has marks yet"
    if table.hallucinations:
        return None
    return f"it was measured by {card.protocol}, which gives no marks of {FULL_MARKS}"


def identify_answers(folder: RunFolder) -> tuple[str, datetime]:
    """Names the answers of a run: the same for a copy of it, and where they are judged again."""
    return folder.plan.answers_from or folder.plan.digest, folder.started
