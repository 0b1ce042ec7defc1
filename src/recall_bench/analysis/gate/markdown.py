"""A gate as Markdown, for a pull request: the verdict, every rule, every category.

Names are shown as code, where Markdown, HTML, links and mentions mean nothing.
"""

from collections.abc import Iterator, Sequence

from recall_bench.analysis.gate import words
from recall_bench.analysis.gate.checks import Check, Gate, Outcome, Subject
from recall_bench.analysis.gate.regression import CATEGORY
from recall_bench.analysis.gate.words import plain
from recall_bench.reporting.lines import NO_DATA
from recall_bench.reporting.summary import Status

_MARKS = {
    Outcome.PASSED: "✅ passed",
    Outcome.FAILED: "❌ failed",
    Outcome.UNDECIDED: "⚠️ undecided",
}
_STANDINS = str.maketrans({"`": "'", "|": "¦"})
"""What would end a name shown as code, or the cell it stands in."""


def markdown_of(gate: Gate) -> str:
    """The whole summary."""
    parts = [[f"### Recall Bench gate: {gate.verdict.value}"], [_verdict(gate)]]
    parts.append(list(_runs(gate)))
    rules = [each for each in gate.checks if each.rule != CATEGORY]
    categories = [each for each in gate.checks if each.rule == CATEGORY]
    parts.append(list(_rules(rules)))
    if categories:
        parts.append(["#### By category, in points of 100"])
        parts.append(list(_categories(categories)))
    wanting = [each for each in gate.checks if each.outcome is not Outcome.PASSED]
    parts.append([f"- {_code(f'{each.rule} ({each.of})')}: {_code(each.said)}" for each in wanting])
    if gate.strength is not None:
        parts.append([f"**Strength**: {gate.strength}."])
    parts.append([f"- **Warning**: {warning}." for warning in gate.warnings])
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _verdict(gate: Gate) -> str:
    """The verdict in a sentence that names nothing."""
    found = [each.outcome for each in gate.checks]
    if gate.verdict is Outcome.PASSED:
        return f"All {len(found)} checks passed."
    word = "failed" if gate.verdict is Outcome.FAILED else "could not be decided"
    return f"{found.count(gate.verdict)} of {len(found)} checks {word}."


def _runs(gate: Gate) -> Iterator[str]:
    yield from _table_head("", "system", "score of 100", "questions", "status", "folder")
    for name, run in (("run", gate.run), ("baseline", gate.baseline)):
        if run is not None:
            yield _row(name, _code(run.system), *_figures(run), _code(run.folder))


def _figures(run: Subject) -> tuple[str, str, str]:
    status = run.status.value if run.status is Status.VALID else run.status.value.upper()
    if run.score is None:
        return NO_DATA, NO_DATA, status
    score = f"{run.score.value:.1f}"
    if run.score.low is not None and run.score.high is not None:
        score += f" ({run.score.low:.1f} to {run.score.high:.1f})"
    return score, f"{run.score.questions:,}", status


def _mark(check: Check) -> str:
    return "➖ not shown" if words.is_unshown(check) else _MARKS[check.outcome]


def _rules(checks: Sequence[Check]) -> Iterator[str]:
    yield from _table_head("", "rule", "of", "value", "limit", "95 % interval", "p")
    for check in checks:
        yield _row(
            _mark(check),
            _code(check.rule),
            _code(check.of),
            words.value(check),
            words.limit(check),
            words.interval(check),
            _p_value(check),
        )


def _categories(checks: Sequence[Check]) -> Iterator[str]:
    yield from _table_head("", "category", "n", "change", "limit", "95 % interval", "p", "noticed")
    for check in checks:
        yield _row(
            _mark(check),
            _code(check.of),
            words.questions(check),
            words.value(check),
            words.limit(check),
            words.interval(check),
            _p_value(check),
            words.noticed(check),
        )


def _table_head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|" + "---|" * len(names)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _p_value(check: Check) -> str:
    # `<` begins no tag where no letter follows, but a summary is read by more than one tool.
    return words.p_value(check).replace("<", "&lt;")


def _code(name: str) -> str:
    """As code: what stands in it is shown and never obeyed."""
    shown = plain(name).translate(_STANDINS).strip()
    return f"`{shown}`" if shown else NO_DATA
