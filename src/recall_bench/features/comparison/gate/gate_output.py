"""A gate as text for a terminal, as Markdown for a pull request, and as JUnit XML for CI."""

from collections.abc import Callable, Iterator, Mapping
from xml.etree import ElementTree

from recall_bench.core.plain_text import (
    NO_DATA,
    WIDTH,
    Column,
    Table,
    clean_text,
    format_fact,
    format_heading,
    format_quantity,
    make_table,
    render_markdown,
    render_text,
    wrap_text,
)
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.features.comparison.gate.gate_checks import (
    NOT_SIGNIFICANT,
    CheckOutcome,
    GateCheck,
    GateReport,
    GateRun,
    count_outcomes,
    is_difference,
    is_insignificant,
)
from recall_bench.reporting.formats import (
    format_bounds,
    format_delta,
    format_interval,
    format_number,
    format_p,
)
from recall_bench.reporting.headlines import list_bounds

_MAX_LENGTH = 500
_NAME_WIDTH = 26
_TEXT_MARKS = {
    CheckOutcome.PASSED: "passed",
    CheckOutcome.FAILED: "FAILED",
    CheckOutcome.UNDECIDED: "UNDECIDED",
    None: NOT_SIGNIFICANT,
}
_MARKDOWN_MARKS = {
    CheckOutcome.PASSED: "✅ passed",
    CheckOutcome.FAILED: "❌ failed",
    CheckOutcome.UNDECIDED: "⚠️ undecided",
    None: f"➖ {NOT_SIGNIFICANT}",
}
_CODE_REPLACEMENTS = str.maketrans({"`": "'", "|": "¦"})
"""Replaces what would end a code span or a table cell."""
_NOTE = (
    "With a baseline, the value is run minus baseline, in points of 100. p is one-sided and "
    "Holm-adjusted over the categories. A loss is significant if p ≤ 0.025; this holds for these "
    "{unit}s only. With five or more {unit}s, the interval also covers other {unit}s."
)


def _clip_text(words: str) -> str:
    """One printable line of limited length: names and messages are untrusted."""
    line = clean_text(words)
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1] + "…"


def _format_code(name: str) -> str:
    """A name as code, in which nothing is interpreted."""
    code = _clip_text(name).translate(_CODE_REPLACEMENTS).strip()
    return f"`{code}`" if code else NO_DATA


def _list_cells(
    check: GateCheck, marks: Mapping[CheckOutcome | None, str], show: Callable[[str], str]
) -> list[str]:
    """Outcome, rule, subject, value, limit, interval and p-value of a check."""
    is_change, is_count = is_difference(check), check.rule == "max-leaks"

    def format_figure(figure: float) -> str:
        return format_delta(figure, 1) if is_change else format_number(figure, 0 if is_count else 1)

    bounds = format_bounds(check, digits=1).strip(" ()")
    return [
        marks[None if is_insignificant(check) else check.outcome],
        show(check.rule),
        show(check.subject),
        NO_DATA if check.value is None else format_figure(check.value),
        NO_DATA
        if check.limit is None
        else f"{'≥' if check.is_least else '≤'} {format_figure(check.limit)}",
        (format_interval(check, 1) if is_change else bounds) or NO_DATA,
        NO_DATA if check.p_value is None else format_p(check.p_value),
    ]


_HEADS = ("rule", "of", "value", "limit", "95 % interval", "p")


def render_gate(gate: GateReport) -> str:
    """The gate as text: the verdict first, then one line a check."""
    facts = [
        ("Verdict", f"{gate.verdict.value.upper()}: {gate.sentence}"),
        ("Checks", count_outcomes(gate.checks)),
        ("Run", " · ".join(_describe_run(gate.run))),
    ]
    if gate.baseline is not None:
        facts.append(("Baseline", " · ".join(_describe_run(gate.baseline))))
    if gate.judges:
        verdicts = (f"{name} {verdict.value}" for name, verdict in gate.judges.items())
        facts.append(("By judge", ", ".join(verdicts)))
    if gate.strength is not None:
        facts.append(("Strength", gate.strength))
    facts += [("Warning", warning) for warning in gate.warnings]
    lines = [*format_heading("Recall Bench · gate", rule="═"), ""]
    lines += [line for label, words in facts for line in format_fact(label, words)]
    widths = (16, 21, _NAME_WIDTH, 6, 7, 16, 8)
    columns = [
        Column(head, width, is_text=place < 3)
        for place, (head, width) in enumerate(zip(("outcome", *_HEADS), widths, strict=True))
    ]
    rows = [
        _list_cells(check, _TEXT_MARKS, lambda name: clean_text(name)[: _NAME_WIDTH - 1])
        for check in gate.checks
    ]
    lines += ["", *render_text(Table(columns, rows, gap=""), rule="─" * WIDTH)]
    others = [check for check in gate.checks if check.outcome is not CheckOutcome.PASSED]
    lines += [""] if others else []
    for check in others:
        words = f"{_TEXT_MARKS[check.outcome]} {check.rule} ({check.subject}): {check.said}."
        lines += wrap_text(words, subsequent="    ")
    if gate.strength is not None:
        lines += ["", *wrap_text(_NOTE.format(unit=gate.unit))]
    return "\n".join(lines)


def _describe_run(run: GateRun) -> Iterator[str]:
    """A run in a few words: system, score, questions, and what is wrong with it."""
    yield _clip_text(run.system)
    if run.score is None:
        yield "no score: nothing was measured"
    else:
        named = "" if run.scale is None else f"{run.scale.label} "
        value = format_number(run.score.value, 1)
        yield f"{named}{value} of 100{format_bounds(run.score, digits=1)}"
        yield from list_bounds(run.bounds)
        questions = format_quantity(run.score.questions, "question")
        yield f"{questions}, {format_quantity(run.score.trials, 'trial')}"
    if run.status is not RunStatus.VALID:
        yield _clip_text(f"{run.status.value.upper()} ({run.reason})")
    yield _clip_text(f"judge {run.judge}")
    yield _clip_text(run.folder)


def render_markdown_summary(gate: GateReport) -> str:
    """The gate in Markdown for a pull request: the verdict, both runs, every check.

    Names are shown as code, where Markdown, HTML, links and mentions mean nothing.
    """
    runs = [
        (
            name,
            _format_code(run.system),
            NO_DATA
            if run.score is None
            else f"{format_number(run.score.value, 1)}{format_bounds(run.score, digits=1)}",
            NO_DATA if run.score is None else f"{run.score.questions:,}",
            run.status.value if run.status is RunStatus.VALID else run.status.value.upper(),
            _format_code(run.folder),
        )
        for name, run in (("run", gate.run), ("baseline", gate.baseline))
        if run is not None
    ]
    checks = [
        [
            # Some Markdown renderers treat any `<` as a tag.
            *(
                cell if cell.startswith("`") else cell.replace("<", "&lt;")
                for cell in _list_cells(check, _MARKDOWN_MARKS, _format_code)
            ),
            NO_DATA if check.questions is None else f"{check.questions:,}",
            NO_DATA if check.noticed is None else format_number(check.noticed, 1),
        ]
        for check in gate.checks
    ]
    heads = ("", "system", "score of 100", "questions", "status", "folder")
    check_heads = ("", *_HEADS, "questions", "noticed")
    parts = [
        f"### Recall Bench gate: {gate.verdict.value}",
        f"{count_outcomes(gate.checks)}.",
        render_markdown(make_table(heads, runs, text=(1, 4, 5)), has_markup=True),
        render_markdown(make_table(check_heads, checks, text=(1, 2)), has_markup=True),
        "\n".join(
            f"- {_format_code(f'{check.rule} ({check.of})')}: {_format_code(check.said)}"
            for check in gate.checks
            if check.outcome is not CheckOutcome.PASSED
        ),
        "" if gate.strength is None else f"**Strength**: {gate.strength}.",
        "\n".join(f"- **Warning**: {warning}." for warning in gate.warnings),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


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
        name="recall-bench gate",
        # The start of the run; the schema allows no time zone.
        timestamp=f"{gate.run.started:%Y-%m-%dT%H:%M:%S}",
        hostname="localhost",
        tests=str(len(outcomes)),
        failures=str(outcomes.count(CheckOutcome.FAILED)),
        errors=str(outcomes.count(CheckOutcome.UNDECIDED)),
        skipped="0",
        time="0",
    )
    facts = {"verdict": gate.verdict.value, "system": gate.run.system, "run": gate.run.folder}
    if gate.baseline is not None:
        facts |= {"baseline-system": gate.baseline.system, "baseline": gate.baseline.folder}
    if gate.strength is not None:
        facts["strength"] = gate.strength
    properties = ElementTree.SubElement(suite, "properties")
    for name, text in facts.items():
        ElementTree.SubElement(properties, "property", name=name, value=_clip_text(text))
    kinds = {CheckOutcome.FAILED: "failure", CheckOutcome.UNDECIDED: "error"}
    for check in gate.checks:
        name = " ".join(_clip_text(f"{check.rule} {check.subject}").split())
        case = ElementTree.SubElement(
            suite, "testcase", name=name, classname=_JUNIT_CLASS, time="0"
        )
        if (kind := kinds.get(check.outcome)) is not None:
            words = _clip_text(check.said)
            problem = ElementTree.SubElement(case, kind, message=words, type=check.outcome.value)
            problem.text = words
    verdict = f"{gate.verdict.value}: {gate.sentence}"
    messages = [verdict, count_outcomes(gate.checks), *gate.warnings]
    ElementTree.SubElement(suite, "system-out").text = "\n".join(map(_clip_text, messages))
    ElementTree.SubElement(suite, "system-err").text = ""
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"
