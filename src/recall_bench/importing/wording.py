"""What an import prints: what was read, what was repaired, what is marked, and the means."""

from collections.abc import Iterator

from recall_bench.importing.carrying_out import ImportResult
from recall_bench.reporting.lines import NO_DATA, format_fact


def render_import(found: ImportResult) -> str:
    """All of it, in lines for a terminal."""
    return "\n".join(
        line for label, words in _list_facts(found) for line in format_fact(label, words)
    )


def _list_facts(found: ImportResult) -> Iterator[tuple[str, str]]:
    card = found.card
    end = "complete" if card.complete else "incomplete"
    yield "Run", f"{found.system}, carried out by {card.written_by}, {end}"
    yield "Read", ", ".join(f"{file.name} ({file.bytes:,} bytes)" for file in card.files)
    size = f"{found.evaluations:,} evaluations of {found.questions:,} questions"
    place = f"personas {', '.join(found.personas)} · {found.checkpoints} checkpoints"
    yield "Holds", f"{size} · {place}"
    yield "Mean of 6", _format_means(found)
    for each in card.repairs:
        yield ("Repaired" if each.is_repaired else "Marked"), each.said
    for words in found.disagreeing:
        yield "", words
    yield "Folder", found.folder


def _format_means(found: ImportResult) -> str:
    stored, rows = found.stored_mean, found.graded_mean
    words = f"{_format_mean(stored)} as stored · {_format_mean(rows)} from the rows"
    if stored is not None:
        words += ", which agree" if not found.disagreeing else ", which do not agree everywhere"
    return f"{words} · {_format_mean(found.mean)} in every view"


def _format_mean(value: float | None) -> str:
    return NO_DATA if value is None else f"{value:.4f}"
