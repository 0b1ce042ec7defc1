"""Where misses come from, for people."""

from collections.abc import Iterator

from recall_bench.analysis.attribution.views import Attribution
from recall_bench.reporting.lines import fact, wrapped

_NAME = 28
_BAR = 30


def attribution_lines(found: Attribution) -> Iterator[str]:
    """Every leaf that holds a miss, the largest first."""
    yield from fact("Misses", f"{found.misses:,} of {found.answered:,} trials with an outcome")
    leaves = sorted((leaf for leaf in found.leaves if leaf.trials), key=lambda leaf: -leaf.trials)
    if leaves:
        yield ""
        yield f"{'put down to':<{_NAME}}{'trials':>8}{'questions':>11}{'share':>9}"
    for leaf in leaves:
        part = leaf.trials / found.misses
        bar = "█" * round(part * _BAR)
        yield (
            f"{leaf.leaf.value:<{_NAME}}{leaf.trials:>8,}{leaf.questions:>11,}"
            f"{part * 100:>7.1f} %  {bar}"
        ).rstrip()
        if leaf.examples:
            named = ", ".join(str(trial) for trial in leaf.examples[:2])
            yield from wrapped(named, initial="  such as ", subsequent=" " * len("  such as "))
    for note in found.notes:
        yield from fact("Note", note)
