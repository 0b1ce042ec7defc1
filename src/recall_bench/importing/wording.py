"""What an import prints: what was read, what was repaired, what is marked, and the means."""

from collections.abc import Iterator

from recall_bench.importing.carrying_out import Imported
from recall_bench.reporting.lines import NO_DATA, fact


def as_text(found: Imported) -> str:
    """All of it, in lines for a terminal."""
    return "\n".join(line for label, words in _facts(found) for line in fact(label, words))


def _facts(found: Imported) -> Iterator[tuple[str, str]]:
    card = found.card
    end = "complete" if card.complete else "incomplete"
    yield "Run", f"{found.system}, carried out by {card.written_by}, {end}"
    yield "Read", ", ".join(f"{file.name} ({file.bytes:,} bytes)" for file in card.files)
    size = f"{found.evaluations:,} evaluations of {found.questions:,} questions"
    place = f"personas {', '.join(found.personas)} · {found.checkpoints} checkpoints"
    yield "Holds", f"{size} · {place}"
    yield "Mean of 6", _means(found)
    for each in card.repairs:
        yield ("Repaired" if each.is_repaired else "Marked"), each.said
    for words in found.disagreeing:
        yield "", words
    yield "Folder", found.folder


def _means(found: Imported) -> str:
    stored, rows = found.stored_mean, found.graded_mean
    words = f"{_mean(stored)} as stored · {_mean(rows)} from the rows"
    if stored is not None:
        words += ", which agree" if not found.disagreeing else ", which do not agree everywhere"
    return f"{words} · {_mean(found.mean)} in every view"


def _mean(value: float | None) -> str:
    return NO_DATA if value is None else f"{value:.4f}"
