"""Canaries and what became of them, for people: every change is named, the rest is counted."""

from collections import Counter
from collections.abc import Iterator

from recall_bench.analysis.canaries.views import CanaryWatch, Change, Watched
from recall_bench.reporting.lines import LABEL, fact, wrapped

_SILENT = (Change.STILL, Change.UNASKED)
_MEANS = {
    Change.NEW: "hallucinates reliably, and is not on file",
    Change.HEALED: "made up far less often than a canary does",
    Change.CHANGED: "is another question now",
    Change.UNCLEAR: "asked too seldom or at one size alone, or too mixed a result, to tell",
    Change.STILL: "still hallucinates",
    Change.UNASKED: "not asked here",
}
_TEXT = 160


def text_of(watch: CanaryWatch, *, most: int | None = None) -> str:
    """The rule, how many canaries there are of each kind, and each that changed.

    `most` is how many of these are shown, where there is no room for all.
    """
    return "\n".join(_lines(watch, most))


def _lines(watch: CanaryWatch, most: int | None) -> Iterator[str]:
    yield from fact(
        "File", watch.file or ("none is kept, so all are new" if watch.watched else "none is kept")
    )
    yield from fact("Rule", watch.rule)
    counts = Counter(each.change for each in watch.watched)
    if not counts:
        yield from fact("Canaries", "none")
    for change in Change:
        if counts[change]:
            yield from fact(change.value, f"{counts[change]:,} · {_MEANS[change]}")
    changed = [each for each in watch.watched if each.change not in _SILENT]
    for each in changed[:most]:
        yield ""
        yield from _watched(each)
    if most is not None and len(changed) > most:
        yield ""
        yield f"({most} of {len(changed)} shown; --json has all)"


def _watched(each: Watched) -> Iterator[str]:
    canary = each.canary
    words = f"{canary.persona}/{canary.question} · {canary.category}"
    words += f" · {each.hallucinated} of {each.asked} made up here"
    if each.change is not Change.NEW:
        words += f", {canary.hallucinated} of {canary.asked} on file"
    yield from fact(each.change.value, words)
    text, indent = canary.text, " " * LABEL
    cut = text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
    yield from wrapped(cut, initial=indent, subsequent=indent)
