"""Every lint there is, and the choice among them."""

from collections.abc import Collection

from recall_bench.datasets.fields import find_nearest
from recall_bench.errors import UsageError
from recall_bench.lint import (
    answers,
    balance,
    boundary,
    corrections,
    dates,
    duplicates,
    evidence,
    files,
    history,
    negatives,
    wording,
)
from recall_bench.lint.finding import Lint

LINTS: tuple[Lint, ...] = (
    *files.FILE_LINTS,
    *answers.ANSWER_LINTS,
    *evidence.EVIDENCE_LINTS,
    *corrections.CORRECTION_LINTS,
    *wording.WORDING_LINTS,
    *dates.DATE_LINTS,
    *duplicates.DUPLICATE_LINTS,
    *boundary.BOUNDARY_LINTS,
    *negatives.NEGATIVE_LINTS,
    *history.HISTORY_LINTS,
    *balance.BALANCE_LINTS,
)
"""In the order they are reported."""


def choose_lints(only: Collection[str] = (), skip: Collection[str] = ()) -> tuple[Lint, ...]:
    """The lints of these codes, or all, without those to be skipped."""
    known = {lint.code for lint in LINTS}
    for flag, codes in (("--only", only), ("--skip", skip)):
        for code in codes:
            if code not in known:
                near = find_nearest(code, sorted(known))
                hint = f"did you mean {near}?" if near else f"there are {', '.join(sorted(known))}"
                raise UsageError(f"{flag}: there is no lint {code!r}; {hint}")
    return tuple(
        lint for lint in LINTS if (not only or lint.code in only) and lint.code not in skip
    )
