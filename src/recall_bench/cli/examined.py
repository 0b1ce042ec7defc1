"""What `world check` says about a world."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from recall_bench.lint.finding import Severity
from recall_bench.portrait.rendering import format_count
from recall_bench.worlds import WorldReport

MAX_SHOWN = 5
"""Findings of one kind that are listed unless all are asked for."""

_WIDTH = 100


def format_world_line(examined: WorldReport, name: str) -> str:
    """A world in one line."""
    proof, lint = examined.proof, examined.lint
    return (
        f"{name}  {format_count(lint.days, 'day')}, "
        f"{proof.rederived:,} of {proof.questions:,} answers re-derived, "
        f"{format_count(len(proof.findings), 'finding')}, lint "
        f"{format_count(lint.count(Severity.ERROR), 'error')} "
        f"{format_count(lint.count(Severity.WARNING), 'warning')}"
    )


def list_findings(examined: WorldReport, *, everything: bool) -> Iterator[str]:
    """What the proof found, then the lints' errors; with everything, their other findings too."""
    proved = [(str(found.code), found.where, found.message) for found in examined.proof.findings]
    linted = [
        (f"lint {found.severity}, {found.code}", found.where, found.message)
        for found in examined.lint.findings
        if everything or found.severity is Severity.ERROR
    ]
    for group in (sorted(proved, key=lambda found: found[0]), linted):
        for kind, several in groupby(group, key=lambda found: found[0]):
            yield from _list_kind(kind, [found[1:] for found in several], everything=everything)


def _list_kind(kind: str, several: Sequence[tuple[str, str]], *, everything: bool) -> Iterator[str]:
    yield f"  {kind} ({len(several):,})"
    shown = several if everything else several[:MAX_SHOWN]
    for where, message in shown:
        yield from textwrap.wrap(
            f"{where}: {message}", _WIDTH, initial_indent="    ", subsequent_indent="      "
        )
    if len(shown) < len(several):
        yield f"    and {len(several) - len(shown):,} more; --all lists them"
