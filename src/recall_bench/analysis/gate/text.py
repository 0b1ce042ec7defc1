"""A gate for people: the verdict first, then one line for every rule, in a hundred columns."""

import re
import textwrap
from collections.abc import Iterator

from recall_bench.analysis.gate import words
from recall_bench.analysis.gate.checks import Check, Gate, Outcome
from recall_bench.analysis.gate.words import plain

_WIDTH = 100
_LABEL = 13
_NAME = 26
_HARD_SPACE = "\xa0"
_UNITS = re.compile(r" (?=%)|(?<=\bp) (?=[<=])|(?<=[<=]) ")
"""Spaces at which no line is broken."""
_MARKS = {Outcome.PASSED: "passed", Outcome.FAILED: "FAILED", Outcome.UNDECIDED: "UNDECIDED"}


def text_of(gate: Gate) -> str:
    """The whole verdict."""
    title = "Recall Bench · gate"
    lines = [title, "═" * len(title), ""]
    lines += _fact("Verdict", f"{gate.verdict.value.upper()}: {gate.sentence}")
    lines += _fact("Run", " · ".join(words.subject(gate.run)))
    if gate.baseline is not None:
        lines += _fact("Baseline", " · ".join(words.subject(gate.baseline)))
    if gate.strength is not None:
        lines += _fact("Strength", gate.strength)
    for warning in gate.warnings:
        lines += _fact("Warning", warning)
    lines += ["", _head(), "─" * _WIDTH, *map(_row, gate.checks)]
    lines += _why(gate)
    if gate.strength is not None:
        lines += ["", *_notes()]
    return "\n".join(lines)


def _head() -> str:
    cells = "outcome", "rule", "of", "value", "limit", "95 % interval", "p"
    return _cells(*cells)


def _row(check: Check) -> str:
    return _cells(
        _MARKS[check.outcome],
        check.rule,
        plain(check.of)[:_NAME],
        words.value(check),
        words.limit(check),
        words.interval(check),
        words.p_value(check),
    )


def _cells(*cells: str) -> str:
    widths = (-11, -21, -_NAME - 1, 7, 9, 17, 8)
    shown = [f"{c:<{-w}}" if w < 0 else f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)]
    return "".join(shown).rstrip()


def _why(gate: Gate) -> Iterator[str]:
    """Every check that did not pass, in a sentence."""
    wanting = [each for each in gate.checks if each.outcome is not Outcome.PASSED]
    if wanting:
        yield ""
    for check in wanting:
        yield from _wrapped(
            f"{_MARKS[check.outcome]} {check.rule} ({check.of}): {check.said}.",
            initial="",
            subsequent="    ",
        )


def _notes() -> Iterator[str]:
    yield from _wrapped(
        "Against a baseline the value is what the run has more, in points of 100; p is one-sided, "
        "and by Holm's steps over the categories. A loss is shown where p is at most 0.025: it "
        "speaks of these personas. Over five personas or more the interval speaks of others too."
    )


def _fact(label: str, said: str) -> list[str]:
    return _wrapped(said, initial=f"{label:{_LABEL}}", subsequent=" " * _LABEL)


def _wrapped(said: str, *, initial: str = "", subsequent: str = "") -> list[str]:
    """In lines that part no number from its unit."""
    shown = "".join(mark if mark.isprintable() else " " for mark in said)
    lines = textwrap.wrap(
        _UNITS.sub(_HARD_SPACE, shown),
        width=_WIDTH,
        initial_indent=initial,
        subsequent_indent=subsequent,
        break_on_hyphens=False,
    )
    return [line.replace(_HARD_SPACE, " ") for line in lines]
