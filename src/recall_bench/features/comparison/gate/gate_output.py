"""A gate as text for a terminal, as Markdown for a pull request, and as JUnit XML for CI."""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from recall_bench.core import tables
from recall_bench.core.plain_text import (
    NO_DATA,
    WIDTH,
    clean_text,
    format_fact,
    format_heading,
    format_quantity,
    wrap_text,
)
from recall_bench.core.tables import Column, Table, make_table, render_text
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.features.comparison.gate.gate_checks import (
    CATEGORY_RULE,
    NOT_SIGNIFICANT,
    CheckOutcome,
    GateCheck,
    GateReport,
    GateRun,
    count_outcomes,
    is_difference,
    is_insignificant,
)
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.formats import (
    format_bounds,
    format_delta,
    format_interval,
    format_number,
    format_p,
)
from recall_bench.reporting.headlines import list_bounds

_MAX_LENGTH = 500


def clip_text(words: str) -> str:
    """One printable line of limited length: names and messages are untrusted."""
    line = clean_text(words)
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1] + "…"


def format_value(check: GateCheck) -> str:
    """The value; a difference with its sign, leaks as a count."""
    if check.value is None:
        return NO_DATA
    if check.rule == "max-leaks":
        return format_number(check.value, 0)
    return format_delta(check.value, 1) if is_difference(check) else format_number(check.value, 1)


def format_limit(check: GateCheck) -> str:
    """The limit with `≥` or `≤`."""
    if check.limit is None:
        return NO_DATA
    sign = "≥" if check.is_least else "≤"
    if check.rule == "max-leaks":
        return f"{sign} {format_number(check.limit, 0)}"
    shown = format_delta(check.limit, 1) if is_difference(check) else format_number(check.limit, 1)
    return f"{sign} {shown}"


def format_check_interval(check: GateCheck) -> str:
    """Both ends of the interval."""
    if is_difference(check):
        return format_interval(check, 1) or NO_DATA
    return format_bounds(check, digits=1).strip(" ()") or NO_DATA


def describe_run(run: GateRun) -> Iterator[str]:
    """A run in a few words: system, score, questions, and what is wrong with it."""
    yield clip_text(run.system)
    if run.score is None:
        yield "no score: nothing was measured"
    else:
        named = "" if run.scale is None else f"{run.scale.label} "
        value = format_number(run.score.value, 1)
        yield f"{named}{value} of 100{format_bounds(run.score, digits=1)}"
        yield from list_bounds(run.bounds)
        yield (
            f"{format_quantity(run.score.questions, 'question')}, "
            f"{format_quantity(run.score.trials, 'trial')}"
        )
    if run.status is not RunStatus.VALID:
        yield clip_text(f"{run.status.value.upper()} ({run.reason})")
    yield clip_text(f"judge {run.judge}")
    yield clip_text(run.folder)


_NAME_WIDTH = 26
_TEXT_MARKS = {
    CheckOutcome.PASSED: "passed",
    CheckOutcome.FAILED: "FAILED",
    CheckOutcome.UNDECIDED: "UNDECIDED",
}


def render_gate(gate: GateReport) -> str:
    """The gate as text: the verdict first, then one line a check."""
    lines = [*format_heading("Recall Bench · gate", rule="═"), ""]
    lines += format_fact("Verdict", f"{gate.verdict.value.upper()}: {gate.sentence}")
    lines += format_fact("Checks", count_outcomes(gate.checks))
    lines += format_fact("Run", " · ".join(describe_run(gate.run)))
    if gate.baseline is not None:
        lines += format_fact("Baseline", " · ".join(describe_run(gate.baseline)))
    if gate.judges:
        said = ", ".join(f"{name} {each.value}" for name, each in gate.judges.items())
        lines += format_fact("By judge", said)
    if gate.strength is not None:
        lines += format_fact("Strength", gate.strength)
    for warning in gate.warnings:
        lines += format_fact("Warning", warning)
    lines += ["", *_render_checks(gate)]
    lines += _explain_failures(gate)
    if gate.strength is not None:
        lines += ["", *wrap_text(_NOTE.format(unit=gate.unit))]
    return "\n".join(lines)


_CHECK_COLUMNS = (
    Column("outcome", 16, is_text=True),
    Column("rule", 21, is_text=True),
    Column("of", _NAME_WIDTH, is_text=True),
    Column("value", 6),
    Column("limit", 7),
    Column("95 % interval", 16),
    Column("p", 8),
)


def _render_checks(gate: GateReport) -> list[str]:
    rows = [
        (
            NOT_SIGNIFICANT if is_insignificant(check) else _TEXT_MARKS[check.outcome],
            check.rule,
            clean_text(check.subject)[: _NAME_WIDTH - 1],
            *_list_figures(check),
        )
        for check in gate.checks
    ]
    return render_text(Table(_CHECK_COLUMNS, rows, gap=""), rule="─" * WIDTH)


def _list_figures(check: GateCheck) -> tuple[str, ...]:
    return (
        format_value(check),
        format_limit(check),
        format_check_interval(check),
        NO_DATA if check.p_value is None else format_p(check.p_value),
    )


def _explain_failures(gate: GateReport) -> Iterator[str]:
    """Every check that did not pass, in a sentence."""
    not_passed = [check for check in gate.checks if check.outcome is not CheckOutcome.PASSED]
    if not_passed:
        yield ""
    for check in not_passed:
        yield from wrap_text(
            f"{_TEXT_MARKS[check.outcome]} {check.rule} ({check.subject}): {check.said}.",
            subsequent="    ",
        )


_NOTE = (
    "With a baseline, the value is run minus baseline, in points of 100. p is one-sided and "
    "Holm-adjusted over the categories. A loss is significant if p ≤ 0.025; this holds for these "
    "{unit}s only. With five or more {unit}s, the interval also covers other {unit}s."
)


_MARKDOWN_MARKS = {
    CheckOutcome.PASSED: "✅ passed",
    CheckOutcome.FAILED: "❌ failed",
    CheckOutcome.UNDECIDED: "⚠️ undecided",
}
_CODE_REPLACEMENTS = str.maketrans({"`": "'", "|": "¦"})
"""Replaces what would end a code span or a table cell."""


def render_markdown(gate: GateReport) -> str:
    """The gate for a pull request: the verdict, every rule, every category.

    Names are shown as code, where Markdown, HTML, links and mentions mean nothing.
    """
    rules = [check for check in gate.checks if check.rule != CATEGORY_RULE]
    categories = [check for check in gate.checks if check.rule == CATEGORY_RULE]
    parts = [
        f"### Recall Bench gate: {gate.verdict.value}",
        f"{count_outcomes(gate.checks)}.",
        _render_runs(gate),
        _render_rules(rules),
    ]
    if categories:
        parts += ["#### By category, in points of 100", _render_categories(categories)]
    parts.append(
        "\n".join(
            f"- {_format_code(f'{check.rule} ({check.of})')}: {_format_code(check.said)}"
            for check in gate.checks
            if check.outcome is not CheckOutcome.PASSED
        )
    )
    if gate.strength is not None:
        parts.append(f"**Strength**: {gate.strength}.")
    parts.append("\n".join(f"- **Warning**: {warning}." for warning in gate.warnings))
    return "\n\n".join(part for part in parts if part) + "\n"


def _render_runs(gate: GateReport) -> str:
    rows = []
    for name, run in (("run", gate.run), ("baseline", gate.baseline)):
        if run is not None:
            valid = run.status is RunStatus.VALID
            rows.append(
                (
                    name,
                    _format_code(run.system),
                    NO_DATA if run.score is None else _format_score(run.score),
                    NO_DATA if run.score is None else f"{run.score.questions:,}",
                    run.status.value if valid else run.status.value.upper(),
                    _format_code(run.folder),
                )
            )
    heads = ("", "system", "score of 100", "questions", "status", "folder")
    return tables.render_markdown(make_table(heads, rows, text=(1, 4, 5)), has_markup=True)


def _format_score(score: Estimate) -> str:
    return f"{format_number(score.value, 1)}{format_bounds(score, digits=1)}"


def _mark_check(check: GateCheck) -> str:
    return f"➖ {NOT_SIGNIFICANT}" if is_insignificant(check) else _MARKDOWN_MARKS[check.outcome]


def _render_rules(checks: Sequence[GateCheck]) -> str:
    heads = ("", "rule", "of", "value", "limit", "95 % interval", "p")
    rows = [
        (
            _mark_check(check),
            _format_code(check.rule),
            _format_code(check.subject),
            *_escape_figures(check),
        )
        for check in checks
    ]
    return tables.render_markdown(make_table(heads, rows, text=(1, 2)), has_markup=True)


def _render_categories(checks: Sequence[GateCheck]) -> str:
    heads = ("", "category", "n", "change", "limit", "95 % interval", "p", "noticed")
    rows = [
        (
            _mark_check(check),
            _format_code(check.subject),
            NO_DATA if check.questions is None else f"{check.questions:,}",
            *_escape_figures(check),
            NO_DATA if check.noticed is None else format_number(check.noticed, 1),
        )
        for check in checks
    ]
    return tables.render_markdown(make_table(heads, rows, text=(1,)), has_markup=True)


def _escape_figures(check: GateCheck) -> Iterator[str]:
    # Some Markdown renderers treat any `<` as a tag.
    return (figure.replace("<", "&lt;") for figure in _list_figures(check))


def _format_code(name: str) -> str:
    """A name as code, in which nothing is interpreted."""
    shown = clip_text(name).translate(_CODE_REPLACEMENTS).strip()
    return f"`{shown}`" if shown else NO_DATA


_JUNIT_SUITE = "recall-bench gate"
_JUNIT_CLASS = "recall_bench.gate"


def render_junit(gate: GateReport) -> bytes:
    """JUnit XML in the strict schema of Ant: one test case a check.

    A failed check is a failure, an undecided one an error. The same gate gives the same bytes.
    """
    outcomes = [check.outcome for check in gate.checks]
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        id="0",
        package=_JUNIT_CLASS,
        name=_JUNIT_SUITE,
        # The start of the run; the schema allows no time zone.
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
    messages = [
        f"{gate.verdict.value}: {gate.sentence}",
        count_outcomes(gate.checks),
        *gate.warnings,
    ]
    ElementTree.SubElement(suite, "system-out").text = "\n".join(map(clip_text, messages))
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
    name = " ".join(clip_text(f"{check.rule} {check.subject}").split())
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=_JUNIT_CLASS, time="0")
    kind = {CheckOutcome.FAILED: "failure", CheckOutcome.UNDECIDED: "error"}.get(check.outcome)
    if kind is not None:
        problem = ElementTree.SubElement(
            case, kind, message=clip_text(check.said), type=check.outcome.value
        )
        problem.text = clip_text(check.said)
