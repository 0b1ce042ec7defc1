"""Entries of a result file, for tests."""

from recall_bench.features.selection.result_file import PresearchResult, ResultEntry
from recall_bench.features.selection.selection_scores import compare_selection


def make_entry(
    name: str,
    *,
    expected: tuple[str, ...],
    recalled: tuple[str, ...],
    prompt: str | None = None,
    presearch: PresearchResult | None = None,
) -> ResultEntry:
    """The entry of a test with a selection, which may be empty."""
    compared = compare_selection(expected, recalled)
    return ResultEntry(
        name=name,
        expected=expected,
        outcome=compared.outcome,
        recalled=recalled,
        missing=compared.missing,
        extra=compared.extra,
        prompt=prompt,
        presearch=presearch,
    )
