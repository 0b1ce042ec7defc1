"""A plan and its estimate as text, in eighty columns and on one screen."""

from collections.abc import Iterator
from functools import partial

from recall_bench.core.plain_text import (
    NO_DATA,
    Column,
    Table,
    clean_text,
    format_fact,
    format_heading,
    format_quantity,
    pick_evenly,
    render_text,
)
from recall_bench.core.usage import format_round_dollars
from recall_bench.engine.forecast import Forecast, RoleSpending
from recall_bench.engine.plan_outline import Outline
from recall_bench.reporting.formats import format_round_duration, format_seconds

WIDTH = 80
_format_fact = partial(format_fact, width=WIDTH)

_STEPS = {
    "feed": "feeding a day",
    "settle": "settling",
    "ask": "an answer",
    "read": "reading for one",
    "judge": "a verdict",
    "rest": "all else of a trial",
}
_ROWS = 8
"""The most personas that are listed; the others are counted."""


def render_outline(outline: Outline) -> str:
    """Render what a run would do."""
    title = format_heading("Recall Bench · plan", rule="═", width=WIDTH)
    return "\n".join([*title, *_render_components(outline), "", *_render_trials(outline)])


def render_estimate(found: Forecast) -> str:
    """Render what a run would do, cost and show."""
    title = format_heading("Recall Bench · plan and estimate", rule="═", width=WIDTH)
    return "\n".join(
        [
            *title,
            *_render_components(found.outline),
            *_format_fact("From", _describe_sources(found)),
            *_render_times(found),
            *_render_money(found),
            "",
            *_render_smaller(found),
        ]
    )


def _render_components(outline: Outline) -> Iterator[str]:
    yield from _format_fact("System", outline.system)
    judge = outline.judge + ("" if outline.appellate is None else f", then {outline.appellate}")
    yield from _format_fact("Judge", judge)
    if outline.reader is not None:
        yield from _format_fact("Reader", outline.reader)
    names = ", ".join(persona.id for persona in outline.personas[:2])
    more = len(outline.personas) - 2
    names += f" and {more} more" if more > 0 else ""
    yield from _format_fact("Personas", f"{names}; dataset {outline.dataset[:8]}")
    repeats = "" if outline.repeats == 1 else f", {outline.repeats} times each"
    counts = f"{outline.trials:,} trials of {outline.questions:,} questions{repeats}"
    yield from _format_fact("Asked", counts)
    fed = f"{outline.ingest_calls:,} days, settling {outline.settle_calls:,} times"
    yield from _format_fact("Fed", f"{fed} ({outline.lifecycle})")
    yield from _format_fact("Work", _describe_work(outline))
    if outline.begun.part is not None:
        yield from _format_fact("Part", _describe_shard(outline))
    yield from _format_fact("Folder", f"{outline.folder}{_describe_left(outline)}")


def _describe_work(outline: Outline) -> str:
    units = format_quantity(outline.shards, "work unit")
    at_a_time = "one by one" if outline.workers == 1 else f"{outline.workers:,} at a time"
    step = "a question" if outline.parallelism == 1 else f"{outline.parallelism} questions"
    return f"{units}, {at_a_time} ({outline.executor}), {step} at a time in each"


def _describe_shard(outline: Outline) -> str:
    here = outline.begun
    units = format_quantity(here.shards or 0, "work unit")
    return f"{here.part}: {here.owed:,} of these trials, in {units}; all else here is of the whole"


def _describe_left(outline: Outline) -> str:
    here = outline.begun
    if not here.is_begun:
        return ""
    if here.is_done:
        return "; all of it is done there, and nothing would be asked"
    return f"; {here.left:,} of {here.owed:,} trials are left to do there"


def _render_trials(outline: Outline) -> Iterator[str]:
    """Personas by checkpoints: how many trials each owes."""
    labels = list(
        dict.fromkeys(line.label for persona in outline.personas for line in persona.checkpoints)
    )
    counts = (f"{line.trials:,}" for persona in outline.personas for line in persona.checkpoints)
    cell = 2 + max(map(len, (*labels, *counts)), default=0)
    selection = [labels[place] for place in pick_evenly(len(labels), max(1, (WIDTH - 34) // cell))]
    columns = [Column("trials owed", 22, is_text=True), Column("days", 5)]
    columns += [*(Column(label, cell) for label in selection), Column("all", 7)]
    rows = []
    for persona in outline.personas[:_ROWS]:
        owed = {line.label: line.trials for line in persona.checkpoints}
        figures = (persona.days, *(owed.get(label, 0) for label in selection), sum(owed.values()))
        rows.append([clean_text(persona.id)[:21], *(f"{figure:,}" for figure in figures)])
    yield from render_text(Table(columns, rows, gap=""))
    if len(outline.personas) > _ROWS:
        yield f"… and {len(outline.personas) - _ROWS:,} more personas"
    if len(selection) < len(labels):
        yield f"({len(selection)} of {len(labels)} checkpoints shown)"


def _describe_sources(found: Forecast) -> str:
    if not found.sources:
        return "no earlier run of this system or judge; name one with --from"
    named = ", ".join(found.sources)
    if not found.other_systems:
        return named
    return f"{named}; these are the times of {', '.join(found.other_systems)}"


def _render_times(found: Forecast) -> Iterator[str]:
    if found.stages:
        steps = "; ".join(
            f"{_STEPS[stage.step]} {format_seconds(stage.mean_s)}"
            + ("" if stage.times else " as stated")
            + ("" if stage.count == 1 else f", {stage.count:,} times")
            for stage in found.stages
        )
        total = format_round_duration(sum(stage.total_s for stage in found.stages))
        yield from _format_fact("Steps", f"{steps}; together {total}, one after another")
    yield from _format_fact("Time", _describe_hours(found))


def _describe_hours(found: Forecast) -> str:
    hours = found.hours
    if hours is None:
        return (
            "not measured yet. Give --seconds-per-answer and --seconds-per-day, or run a part of "
            "it first"
        )
    words = f"about {_format_hours(hours.expected)}"
    if found.untimed:
        words += f"; {' or '.join(_STEPS[step] for step in found.untimed)} was never timed"
    if hours.measured_days is not None:
        words += f"; nothing was measured after day {hours.measured_days:,}, so it may be far off"
    return words


def _render_money(found: Forecast) -> Iterator[str]:
    if not found.spending:
        yield from _format_fact("Money", "none that is known: the judge computes")
        return
    for each in found.spending:
        yield from _format_fact(each.role.capitalize(), _describe_spending(each))
    total = "at unknown prices" if found.cost_usd is None else format_round_dollars(found.cost_usd)
    if any(spending.is_limit for spending in found.spending):
        total += "; what a model reasons unseen comes on top"
    yield from _format_fact("Money", total)


def _describe_spending(each: RoleSpending) -> str:
    price = "price unknown" if each.cost_usd is None else format_round_dollars(each.cost_usd)
    most = "at most " if each.is_limit else ""
    return (
        f"{most}{each.calls:,} calls, {format_count(each.input_tokens)} tokens in and "
        f"{format_count(each.output_tokens)} out, {price} ({each.source})"
    )


_SMALLER_COLUMNS = (
    Column("What less would save", 23, is_text=True),
    Column("trials", 9),
    Column("questions", 10),
    Column("time", 8),
    Column("money", 8),
)


def _render_smaller(found: Forecast) -> Iterator[str]:
    rows = [
        (
            run.change,
            f"{run.trials:,}",
            f"{run.questions:,}",
            NO_DATA if run.hours is None else _format_hours(run.hours),
            NO_DATA if run.cost_usd is None else format_round_dollars(run.cost_usd),
        )
        for run in found.less
    ]
    yield from render_text(Table(_SMALLER_COLUMNS, rows, gap=""))
    yield from _format_fact(
        "",
        "Another question tells more than one asked again; `recall-bench plan power` says what "
        "difference a number of questions shows.",
    )


def _format_hours(hours: float) -> str:
    return format_round_duration(3600 * hours)


def format_count(count: int) -> str:
    """Write a count, as `1.2 million` from a million on."""
    return f"{count / 1e6:,.1f} million" if count >= 1_000_000 else f"{count:,}"
