"""A gate as Markdown, for a pull request: the verdict, every rule, every category.

Names are shown as code, where Markdown, HTML, links and mentions mean nothing.
"""

from collections.abc import Iterator, Sequence

from recall_bench.analysis.gate import words
from recall_bench.analysis.gate.checks import CheckOutcome, GateCheck, GateReport, GateRun
from recall_bench.analysis.gate.regression import CATEGORY_RULE
from recall_bench.analysis.gate.words import clip_text
from recall_bench.reporting.lines import NO_DATA
from recall_bench.reporting.summary import RunStatus

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
    return "➖ not shown" if words.is_inconclusive(check) else _MARKDOWN_MARKS[check.outcome]


def _render_rules(checks: Sequence[GateCheck]) -> Iterator[str]:
    yield from _render_table_head("", "rule", "of", "value", "limit", "95 % interval", "p")
    for check in checks:
        yield _render_markdown_row(
            _mark_check(check),
            _format_code(check.rule),
            _format_code(check.of),
            words.format_value(check),
            words.format_limit(check),
            words.format_check_interval(check),
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
            words.format_questions(check),
            words.format_value(check),
            words.format_limit(check),
            words.format_check_interval(check),
            _escape_p(check),
            words.format_notice(check),
        )


def _render_table_head(*names: str) -> Iterator[str]:
    yield _render_markdown_row(*names)
    yield "|" + "---|" * len(names)


def _render_markdown_row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape_p(check: GateCheck) -> str:
    # `<` begins no tag where no letter follows, but a summary is read by more than one tool.
    return words.format_p_value(check).replace("<", "&lt;")


def _format_code(name: str) -> str:
    """As code: what stands in it is shown and never obeyed."""
    shown = clip_text(name).translate(_CODE_REPLACEMENTS).strip()
    return f"`{shown}`" if shown else NO_DATA
