"""A gate for people: the verdict first, then one line for every rule, in a hundred columns."""

from collections.abc import Iterator

from recall_bench.analysis.gate import words
from recall_bench.analysis.gate.checks import CheckOutcome, GateCheck, GateReport
from recall_bench.reporting.lines import WIDTH, clean_text, format_fact, format_heading, wrap_text

_NAME_WIDTH = 26
_TEXT_MARKS = {
    CheckOutcome.PASSED: "passed",
    CheckOutcome.FAILED: "FAILED",
    CheckOutcome.UNDECIDED: "UNDECIDED",
}


def render_gate(gate: GateReport) -> str:
    """The whole verdict."""
    lines = [*format_heading("Recall Bench · gate", rule="═"), ""]
    lines += format_fact("Verdict", f"{gate.verdict.value.upper()}: {gate.sentence}")
    lines += format_fact("Run", " · ".join(words.describe_run(gate.run)))
    if gate.baseline is not None:
        lines += format_fact("Baseline", " · ".join(words.describe_run(gate.baseline)))
    if gate.strength is not None:
        lines += format_fact("Strength", gate.strength)
    for warning in gate.warnings:
        lines += format_fact("Warning", warning)
    lines += ["", _format_head(), "─" * WIDTH, *map(_format_check, gate.checks)]
    lines += _explain_failures(gate)
    if gate.strength is not None:
        lines += ["", *_render_notes()]
    return "\n".join(lines)


def _format_head() -> str:
    cells = "outcome", "rule", "of", "value", "limit", "95 % interval", "p"
    return _format_cells(*cells)


def _format_check(check: GateCheck) -> str:
    return _format_cells(
        "not shown" if words.is_inconclusive(check) else _TEXT_MARKS[check.outcome],
        check.rule,
        clean_text(check.of)[:_NAME_WIDTH],
        words.format_value(check),
        words.format_limit(check),
        words.format_check_interval(check),
        words.format_p_value(check),
    )


def _format_cells(*cells: str) -> str:
    widths = (-11, -21, -_NAME_WIDTH - 1, 7, 9, 17, 8)
    shown = [f"{c:<{-w}}" if w < 0 else f"{c:>{w}}" for c, w in zip(cells, widths, strict=True)]
    return "".join(shown).rstrip()


def _explain_failures(gate: GateReport) -> Iterator[str]:
    """Every check that did not pass, in a sentence."""
    wanting = [each for each in gate.checks if each.outcome is not CheckOutcome.PASSED]
    if wanting:
        yield ""
    for check in wanting:
        yield from wrap_text(
            f"{_TEXT_MARKS[check.outcome]} {check.rule} ({check.of}): {check.said}.",
            subsequent="    ",
        )


def _render_notes() -> Iterator[str]:
    yield from wrap_text(
        "Against a baseline the value is what the run has more, in points of 100; p is one-sided, "
        "and by Holm's steps over the categories. A loss is shown where p is at most 0.025: it "
        "speaks of these personas. Over five personas or more the interval speaks of others too."
    )
