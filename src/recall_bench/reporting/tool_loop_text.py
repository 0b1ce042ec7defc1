"""A memory under an agent, as text."""

from collections.abc import Iterator

from recall_bench.core.plain_text import clean_text, format_fact, format_quantity, wrap_text
from recall_bench.core.tables import Column, Table, render_text
from recall_bench.core.tool_call import SessionEnd
from recall_bench.reporting.analyses.tool_loop import (
    STAGE_MEANINGS,
    FactStage,
    SessionCounts,
    ToolLoopReport,
)

_STAGE_COLUMNS = (
    Column("the fact of the question was", 30, is_text=True),
    Column("trials", 8),
    Column("right", 8),
    Column("wrong", 8),
)
_TOOL_COLUMNS = (
    Column("tool", 30, is_text=True),
    Column("role", 10, is_text=True),
    Column("on days", 9),
    Column("on questions", 14),
)

_CUT_OFF = {
    SessionEnd.STEPS: "cut off by --max-steps",
    SessionEnd.TOKENS: "cut off by --agent-tokens",
    SessionEnd.BROKEN: "broken off",
}


def render_tool_loop(found: ToolLoopReport) -> Iterator[str]:
    """Faults of the memory, how far each fact came, and the calls."""
    for fault in found.faults:
        yield from format_fact("Fault", f"{fault}.")
    if not found.faults:
        yield from format_fact("Faults", "the searches show no fault of the memory")
    checks = found.memory
    yield from format_fact(
        "Notes",
        f"{checks.saved:,} saved · {checks.updated:,} updated · {checks.deleted:,} deleted · "
        f"{checks.notes_returned:,} returned by a search",
    )
    if checks.unmatched:
        yield from format_fact("Note", describe_unmatched(checks.unmatched))
    yield ""
    rows = [
        (each.stage.value, f"{each.right + each.wrong:,}", f"{each.right:,}", f"{each.wrong:,}")
        for each in found.stages
        if each.right + each.wrong
    ]
    yield from render_text(Table(_STAGE_COLUMNS, rows, gap=""))
    for each in found.stages:
        if each.wrong and each.stage is not FactStage.FOUND:
            yield from wrap_text(f"{each.stage.value}: {STAGE_MEANINGS[each.stage]}")
    if found.nothing_to_find:
        words = format_quantity(found.nothing_to_find, "trial")
        yield from format_fact("Note", f"{words} about what is not there, and not in the table")
    if found.undecided:
        words = format_quantity(found.undecided, "trial")
        yield from format_fact("Note", f"{words} without an outcome, and not in the table")
    yield ""
    tools = [
        (clean_text(each.tool)[:29], each.role or "", f"{each.on_days:,}", f"{each.on_questions:,}")
        for each in found.tools
    ]
    yield from render_text(Table(_TOOL_COLUMNS, tools, gap=""))
    yield from format_fact("Days", describe_sessions(found.days))
    yield from format_fact("Questions", describe_sessions(found.questions))


def describe_unmatched(calls: int) -> str:
    """What is not known because calls change notes that cannot be identified."""
    return (
        f"{format_quantity(calls, 'call')} updated or deleted notes that no save and no search had "
        "named, so a fact that they removed may be counted as missed"
    )


def describe_sessions(found: SessionCounts) -> str:
    """Requests and calls of the sessions, and what went wrong in them."""
    parts = [
        format_quantity(found.sessions, "session"),
        format_quantity(found.steps, "request"),
        format_quantity(found.calls, "call"),
    ]
    odd = {
        "malformed": found.malformed,
        "failed": found.failed,
        "refused": found.refused,
        "repeated": found.repeated,
    }
    parts += [f"{count:,} {what}" for what, count in odd.items() if count]
    if found.unreadable:
        parts.append(f"{found.unreadable:,} unreadable replies")
    parts += [
        f"{format_quantity(found.ended[end], 'session')} {words}"
        for end, words in _CUT_OFF.items()
        if found.ended[end]
    ]
    return " · ".join(parts)
