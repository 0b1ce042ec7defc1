"""A gate's figures as people read them, and names that can steer nothing."""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from recall_bench.core import plain_text
from recall_bench.core.plain_text import (
    NO_DATA,
    WIDTH,
    clean_text,
    format_fact,
    format_heading,
    wrap_text,
)
from recall_bench.reporting.formats import format_delta, format_p
from recall_bench.reporting.gate.gate_checks import CheckOutcome, GateCheck, GateReport, GateRun
from recall_bench.reporting.gate.run_gate import CATEGORY_RULE, HALLUCINATION_RULE, MARGIN_RULE
from recall_bench.runs.summary import RunStatus

_MAX_LENGTH = 500

_DIFFERENCE_RULES = (MARGIN_RULE, CATEGORY_RULE, HALLUCINATION_RULE)


def clip_text(words: str) -> str:
    """Names and messages come from elsewhere: one printable line of them, and not endless."""
    line = plain_text.clean_text(words)
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1] + "…"


def format_value(check: GateCheck) -> str:
    """The value; a difference with its sign, and leaks as they are counted."""
    if check.value is None:
        return NO_DATA
    if check.rule == "max-leaks":
        return f"{check.value:.0f}"
    return format_delta(check.value, 1) if is_difference(check) else f"{check.value:.1f}"


def format_limit(check: GateCheck) -> str:
    """The limit, and on which side of it the value has to be."""
    if check.limit is None:
        return NO_DATA
    sign = "≥" if check.is_least else "≤"
    if check.rule == "max-leaks":
        return f"{sign} {check.limit:.0f}"
    shown = format_delta(check.limit, 1) if is_difference(check) else f"{check.limit:.1f}"
    return f"{sign} {shown}"


def format_check_interval(check: GateCheck) -> str:
    """Both ends of the interval."""
    if check.low is None or check.high is None:
        return NO_DATA
    ends = check.low, check.high
    low, high = (format_delta(end, 1) if is_difference(check) else f"{end:.1f}" for end in ends)
    return f"{low} to {high}"


def format_p_value(check: GateCheck) -> str:
    """How likely it is by chance."""
    return NO_DATA if check.p_value is None else format_p(check.p_value)


def format_notice(check: GateCheck) -> str:
    """The smallest loss that would be noticed."""
    return NO_DATA if check.noticed is None else f"{check.noticed:.1f}"


def format_questions(check: GateCheck) -> str:
    """How many different ones stand behind it."""
    return NO_DATA if check.questions is None else f"{check.questions:,}"


def is_difference(check: GateCheck) -> bool:
    """Whether it is about what the run has more or less than the baseline."""
    return check.rule in _DIFFERENCE_RULES


def describe_run(run: GateRun) -> Iterator[str]:
    """A run in a few words: system, score, how many questions, and what is wrong with it."""
    yield clip_text(run.system)
    if run.score is None:
        yield "no score: nothing was measured"
    else:
        ends = run.score.low, run.score.high
        within = "" if None in ends else f" ({run.score.low:.1f} to {run.score.high:.1f})"
        yield f"{run.score.value:.1f}{within} of 100"
        yield f"{run.score.questions:,} questions, {run.score.trials:,} trials"
    if run.status is not RunStatus.VALID:
        yield clip_text(f"{run.status.value.upper()} ({run.reason})")
    yield clip_text(f"judge {run.judge}")
    yield clip_text(run.folder)


def is_inconclusive(check: GateCheck) -> bool:
    """Whether the value is beyond its limit, and passes because that may be chance."""
    if check.outcome is not CheckOutcome.PASSED or not is_difference(check):
        return False
    if check.value is None or check.limit is None:
        return False
    return check.value < check.limit if check.is_least else check.value > check.limit


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
    lines += format_fact("Run", " · ".join(describe_run(gate.run)))
    if gate.baseline is not None:
        lines += format_fact("Baseline", " · ".join(describe_run(gate.baseline)))
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
        "not shown" if is_inconclusive(check) else _TEXT_MARKS[check.outcome],
        check.rule,
        clean_text(check.of)[:_NAME_WIDTH],
        format_value(check),
        format_limit(check),
        format_check_interval(check),
        format_p_value(check),
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


_MARKDOWN_MARKS = {
    CheckOutcome.PASSED: "✅ passed",
    CheckOutcome.FAILED: "❌ failed",
    CheckOutcome.UNDECIDED: "⚠️ undecided",
}
_CODE_REPLACEMENTS = str.maketrans({"`": "'", "|": "¦"})
"""What would end a name shown as code, or the cell it stands in."""


def render_markdown(gate: GateReport) -> str:
    """The whole summary."""
    parts = [[f"### Recall Bench gate: {gate.verdict.value}"], [_describe_counts(gate)]]
    parts.append(list(_render_runs(gate)))
    rules = [each for each in gate.checks if each.rule != CATEGORY_RULE]
    categories = [each for each in gate.checks if each.rule == CATEGORY_RULE]
    parts.append(list(_render_rules(rules)))
    if categories:
        parts.append(["#### By category, in points of 100"])
        parts.append(list(_render_categories(categories)))
    wanting = [each for each in gate.checks if each.outcome is not CheckOutcome.PASSED]
    parts.append(
        [
            f"- {_format_code(f'{each.rule} ({each.of})')}: {_format_code(each.said)}"
            for each in wanting
        ]
    )
    if gate.strength is not None:
        parts.append([f"**Strength**: {gate.strength}."])
    parts.append([f"- **Warning**: {warning}." for warning in gate.warnings])
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _describe_counts(gate: GateReport) -> str:
    """The verdict in a sentence that names nothing."""
    found = [each.outcome for each in gate.checks]
    if gate.verdict is CheckOutcome.PASSED:
        return f"All {len(found)} checks passed."
    word = "failed" if gate.verdict is CheckOutcome.FAILED else "could not be decided"
    return f"{found.count(gate.verdict)} of {len(found)} checks {word}."


def _render_runs(gate: GateReport) -> Iterator[str]:
    yield from _render_table_head("", "system", "score of 100", "questions", "status", "folder")
    for name, run in (("run", gate.run), ("baseline", gate.baseline)):
        if run is not None:
            yield _render_markdown_row(
                name, _format_code(run.system), *_format_score(run), _format_code(run.folder)
            )


def _format_score(run: GateRun) -> tuple[str, str, str]:
    status = run.status.value if run.status is RunStatus.VALID else run.status.value.upper()
    if run.score is None:
        return NO_DATA, NO_DATA, status
    score = f"{run.score.value:.1f}"
    if run.score.low is not None and run.score.high is not None:
        score += f" ({run.score.low:.1f} to {run.score.high:.1f})"
    return score, f"{run.score.questions:,}", status


def _mark_check(check: GateCheck) -> str:
    return "➖ not shown" if is_inconclusive(check) else _MARKDOWN_MARKS[check.outcome]


def _render_rules(checks: Sequence[GateCheck]) -> Iterator[str]:
    yield from _render_table_head("", "rule", "of", "value", "limit", "95 % interval", "p")
    for check in checks:
        yield _render_markdown_row(
            _mark_check(check),
            _format_code(check.rule),
            _format_code(check.of),
            format_value(check),
            format_limit(check),
            format_check_interval(check),
            _escape_p(check),
        )


def _render_categories(checks: Sequence[GateCheck]) -> Iterator[str]:
    yield from _render_table_head(
        "", "category", "n", "change", "limit", "95 % interval", "p", "noticed"
    )
    for check in checks:
        yield _render_markdown_row(
            _mark_check(check),
            _format_code(check.of),
            format_questions(check),
            format_value(check),
            format_limit(check),
            format_check_interval(check),
            _escape_p(check),
            format_notice(check),
        )


def _render_table_head(*names: str) -> Iterator[str]:
    yield _render_markdown_row(*names)
    yield "|" + "---|" * len(names)


def _render_markdown_row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape_p(check: GateCheck) -> str:
    # `<` begins no tag where no letter follows, but a summary is read by more than one tool.
    return format_p_value(check).replace("<", "&lt;")


def _format_code(name: str) -> str:
    """As code: what stands in it is shown and never obeyed."""
    shown = clip_text(name).translate(_CODE_REPLACEMENTS).strip()
    return f"`{shown}`" if shown else NO_DATA


_JUNIT_SUITE = "recall-bench gate"
_JUNIT_CLASS = "recall_bench.gate"


def render_junit(gate: GateReport) -> bytes:
    """The whole file. The same gate is the same bytes."""
    outcomes = [check.outcome for check in gate.checks]
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        id="0",
        package=_JUNIT_CLASS,
        name=_JUNIT_SUITE,
        # When the run began, which is known; a time zone is not allowed here.
        timestamp=f"{gate.run.started:%Y-%m-%dT%H:%M:%S}",
        hostname="localhost",
        tests=str(len(outcomes)),
        failures=str(outcomes.count(CheckOutcome.FAILED)),
        errors=str(outcomes.count(CheckOutcome.UNDECIDED)),
        skipped="0",
        time="0",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, text in _list_properties(gate).items():
        ElementTree.SubElement(properties, "property", name=name, value=clip_text(text))
    for check in gate.checks:
        _add_case(suite, check)
    said = [f"{gate.verdict.value}: {gate.sentence}", *gate.warnings]
    ElementTree.SubElement(suite, "system-out").text = "\n".join(map(clip_text, said))
    ElementTree.SubElement(suite, "system-err").text = ""
    ElementTree.indent(root)
    found: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return found + b"\n"


def _list_properties(gate: GateReport) -> dict[str, str]:
    facts = {"verdict": gate.verdict.value, "system": gate.run.system, "run": gate.run.folder}
    if gate.baseline is not None:
        facts |= {"baseline-system": gate.baseline.system, "baseline": gate.baseline.folder}
    if gate.strength is not None:
        facts["strength"] = gate.strength
    return facts


def _add_case(suite: ElementTree.Element, check: GateCheck) -> None:
    name = " ".join(clip_text(f"{check.rule} {check.of}").split())
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=_JUNIT_CLASS, time="0")
    kind = {CheckOutcome.FAILED: "failure", CheckOutcome.UNDECIDED: "error"}.get(check.outcome)
    if kind is not None:
        found = ElementTree.SubElement(
            case, kind, message=clip_text(check.said), type=check.outcome.value
        )
        found.text = clip_text(check.said)
