"""A gate for people: the verdict first, then one line for every rule, in a hundred columns."""

from collections.abc import Iterator

from recall_bench.analysis.gate import words
from recall_bench.analysis.gate.checks import Check, Gate, Outcome
from recall_bench.reporting.lines import WIDTH, fact, heading, plain, wrapped

_NAME = 26
_MARKS = {Outcome.PASSED: "passed", Outcome.FAILED: "FAILED", Outcome.UNDECIDED: "UNDECIDED"}


def text_of(gate: Gate) -> str:
    """The whole verdict."""
    lines = [*heading("Recall Bench · gate", rule="═"), ""]
    lines += fact("Verdict", f"{gate.verdict.value.upper()}: {gate.sentence}")
    lines += fact("Run", " · ".join(words.subject(gate.run)))
    if gate.baseline is not None:
        lines += fact("Baseline", " · ".join(words.subject(gate.baseline)))
    if gate.strength is not None:
        lines += fact("Strength", gate.strength)
    for warning in gate.warnings:
        lines += fact("Warning", warning)
    lines += ["", _head(), "─" * WIDTH, *map(_row, gate.checks)]
    lines += _why(gate)
    if gate.strength is not None:
        lines += ["", *_notes()]
    return "\n".join(lines)


def _head() -> str:
    cells = "outcome", "rule", "of", "value", "limit", "95 % interval", "p"
    return _cells(*cells)


def _row(check: Check) -> str:
    return _cells(
        "not shown" if words.is_unshown(check) else _MARKS[check.outcome],
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
        yield from wrapped(
            f"{_MARKS[check.outcome]} {check.rule} ({check.of}): {check.said}.",
            subsequent="    ",
        )


def _notes() -> Iterator[str]:
    yield from wrapped(
        "Against a baseline the value is what the run has more, in points of 100; p is one-sided, "
        "and by Holm's steps over the categories. A loss is shown where p is at most 0.025: it "
        "speaks of these personas. Over five personas or more the interval speaks of others too."
    )
