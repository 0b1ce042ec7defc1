"""Where misses come from, for people."""

from collections.abc import Iterator

from recall_bench.analysis.attribution.views import Attribution
from recall_bench.reporting.lines import format_fact, wrap_text

_LEAF_WIDTH = 28
_BAR_WIDTH = 30


def render_failures(found: Attribution) -> Iterator[str]:
    """Every leaf that holds a miss, the largest first."""
    yield from format_fact(
        "Misses", f"{found.misses:,} of {found.answered:,} trials with an outcome"
    )
    leaves = sorted((leaf for leaf in found.leaves if leaf.trials), key=lambda leaf: -leaf.trials)
    if leaves:
        yield ""
        yield f"{'put down to':<{_LEAF_WIDTH}}{'trials':>8}{'questions':>11}{'share':>9}"
    for leaf in leaves:
        part = leaf.trials / found.misses
        bar = "█" * round(part * _BAR_WIDTH)
        yield (
            f"{leaf.leaf.value:<{_LEAF_WIDTH}}{leaf.trials:>8,}{leaf.questions:>11,}"
            f"{part * 100:>7.1f} %  {bar}"
        ).rstrip()
        if leaf.examples:
            named = ", ".join(str(trial) for trial in leaf.examples[:2])
            yield from wrap_text(named, initial="  such as ", subsequent=" " * len("  such as "))
    for note in found.notes:
        yield from format_fact("Note", note)
