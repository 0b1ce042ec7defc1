"""Canaries and what became of them, for people: every change is named, the rest is counted."""

from collections import Counter
from collections.abc import Iterator

from recall_bench.analysis.canaries.views import CanaryChange, CanaryWatch, WatchedCanary
from recall_bench.reporting.lines import LABEL, format_fact, wrap_text

_UNCHANGED = (CanaryChange.STILL, CanaryChange.UNASKED)
_CHANGE_MEANINGS = {
    CanaryChange.NEW: "hallucinates reliably, and is not on file",
    CanaryChange.HEALED: "made up far less often than a canary does",
    CanaryChange.CHANGED: "is another question now",
    CanaryChange.UNCLEAR: "asked too seldom or at one size alone, or too mixed a result, to tell",
    CanaryChange.STILL: "still hallucinates",
    CanaryChange.UNASKED: "not asked here",
}
_MAX_TEXT = 160


def render_canaries(watch: CanaryWatch, *, most: int | None = None) -> str:
    """The rule, how many canaries there are of each kind, and each that changed.

    `most` is how many of these are shown, where there is no room for all.
    """
    return "\n".join(_render_lines(watch, most))


def _render_lines(watch: CanaryWatch, most: int | None) -> Iterator[str]:
    yield from format_fact(
        "File", watch.file or ("none is kept, so all are new" if watch.watched else "none is kept")
    )
    yield from format_fact("Rule", watch.rule)
    counts = Counter(each.change for each in watch.watched)
    if not counts:
        yield from format_fact("Canaries", "none")
    for change in CanaryChange:
        if counts[change]:
            yield from format_fact(change.value, f"{counts[change]:,} · {_CHANGE_MEANINGS[change]}")
    changed = [each for each in watch.watched if each.change not in _UNCHANGED]
    for each in changed[:most]:
        yield ""
        yield from _render_canary(each)
    if most is not None and len(changed) > most:
        yield ""
        yield f"({most} of {len(changed)} shown; --json has all)"


def _render_canary(each: WatchedCanary) -> Iterator[str]:
    canary = each.canary
    words = f"{canary.persona}/{canary.question} · {canary.category}"
    words += f" · {each.hallucinated} of {each.asked} made up here"
    if each.change is not CanaryChange.NEW:
        words += f", {canary.hallucinated} of {canary.asked} on file"
    yield from format_fact(each.change.value, words)
    text, indent = canary.text, " " * LABEL
    cut = text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
    yield from wrap_text(cut, initial=indent, subsequent=indent)
