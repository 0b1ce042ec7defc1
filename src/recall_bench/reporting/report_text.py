"""A report as text, in a hundred columns: each section states what it found, then shows it."""

from collections.abc import Iterable, Iterator, Sequence

from recall_bench.core.plain_text import (
    NO_DATA,
    clean_text,
    format_fact,
    format_heading,
    pick_evenly,
    wrap_text,
)
from recall_bench.core.tables import Column, Table, render_text
from recall_bench.core.usage import Usage
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.engine.runs.trials import ScoreScale
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate
from recall_bench.metrics.trend import Trend
from recall_bench.reporting.analyses.attribution import Attribution, LeafCount
from recall_bench.reporting.analyses.canaries import render_canaries
from recall_bench.reporting.analyses.cost_units import (
    format_amount,
    format_cost,
    format_money,
    price_usage,
)
from recall_bench.reporting.analyses.costs import (
    Contender,
    CostMeasure,
    CostPoint,
    Pareto,
    RunCosts,
)
from recall_bench.reporting.analyses.degradation import Degradation
from recall_bench.reporting.analyses.fact_survival import GroupSurvival, SurvivalGroup
from recall_bench.reporting.analyses.hallucination import (
    HallucinationViews,
    RateCourse,
    find_start,
    select_forecasts,
)
from recall_bench.reporting.formats import (
    SMALL_MARK,
    format_basis,
    format_count,
    format_half_life,
    format_number,
    format_of_100,
    format_own_scale,
    format_prediction,
    format_score_trend,
    format_share,
    format_slope,
)
from recall_bench.reporting.groups import PERSONA, describe_population
from recall_bench.reporting.headlines import (
    INVENTION_NOTE,
    NO_BOUNDS,
    describe_headline,
    describe_scale,
)
from recall_bench.reporting.judge_text import (
    describe_correction,
    render_correction,
    render_sensitivity,
)
from recall_bench.reporting.run_report import ReportHeader, RunReport
from recall_bench.reporting.run_text import STUB_WARNING
from recall_bench.reporting.score_tables import render_categories
from recall_bench.reporting.tool_loop_text import render_tool_loop

_CATEGORY_WIDTH = 28
_MAX_MOMENTS = 10
_MAX_PERSONAS = 20


def render_hallucination(views: HallucinationViews) -> Iterator[str]:
    """Inventions and leaks: rates by category, the course over corpus size, both by persona."""
    course = views.overall
    yield from _render_rate("Invented", course.invention, "judged answers", course.inventions)
    if course.leak is not None:
        yield from _render_rate("Leaked", course.leak, "answers that could leak", course.leaks)
    yield from format_fact("Pattern", f"{course.pattern.value} (inventions only): {course.reason}")
    yield from format_fact("Note", INVENTION_NOTE)
    yield ""
    rows = [
        (
            _cut_name(each.name),
            format_count(each.rate),
            format_share(each.invention),
            format_share(each.leak),
        )
        for each in views.categories
    ]
    yield from _render_columns("by category", ("invented", "leaked"), rows)
    yield ""
    yield from _render_moments(course)
    if views.personas:
        yield ""
        heads = ("invented", "leaked", "pattern of inventions")
        courses = [_list_persona(each) for each in views.personas[:_MAX_PERSONAS]]
        yield from _render_columns("by persona", heads, courses)
    if len(views.personas) > _MAX_PERSONAS:
        yield f"({_MAX_PERSONAS} of {len(views.personas)} personas shown; --json has all)"


def _render_rate(
    label: str, rate: Estimate | None, answers: str, line: Trend | None
) -> Iterator[str]:
    counted = "" if rate is None else f" of {rate.trials:,} {answers}"
    yield from format_fact(label, f"{format_share(rate)}{counted}")
    if line is None:
        return
    start = find_start(line)
    at_start = "" if start is None else f"{format_number(start.value * 100, 1)} % at no days · "
    slope = format_slope(line.slope, scale=100, digits=2, unit=" points of 100")
    yield from format_fact("", f"trend: {at_start}{slope}")
    yield from format_fact("", describe_forecasts(line))


def describe_forecasts(line: Trend) -> str:
    """What the line says beyond the measured sizes, where it says something."""
    shown, missing = select_forecasts(line)
    said = [format_prediction(each, scale=100, digits=1, unit=" %") for each in shown]
    if said:
        said[0] = f"forecast: {said[0]}"
    parts = [*said, *([missing] if missing else [])]
    return f"{' · '.join(parts)}; nothing was measured beyond {line.last_day:,.0f} days"


def _list_persona(course: RateCourse) -> tuple[str, ...]:
    return (
        _cut_name(course.name or ""),
        format_count(course.rate),
        format_share(course.invention),
        format_share(course.leak),
        course.pattern.value,
    )


def _render_moments(course: RateCourse) -> Iterator[str]:
    shown = pick_evenly(len(course.moments), _MAX_MOMENTS)
    rows = [
        (
            _cut_name(moment.checkpoint),
            format_count(moment.hallucination),
            format_share(moment.recall),
            format_share(moment.invention),
            format_share(moment.leak),
        )
        for moment in (course.moments[place] for place in shown)
    ]
    heads = ("recall", "invented", "leaked")
    yield from _render_columns("by checkpoint", heads, rows)
    if len(shown) < len(course.moments):
        yield f"({len(shown)} of {len(course.moments)} checkpoints shown; --json has all)"


def _render_columns(head: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of names, numbers of questions, and figures in words."""
    columns = (
        Column(head, _CATEGORY_WIDTH, is_text=True),
        Column("n", 5),
        *(Column(each, is_text=True) for each in heads),
    )
    return render_text(Table(columns, rows))


def _cut_name(name: str) -> str:
    return clean_text(name)[: _CATEGORY_WIDTH - 1]


_GROUP_WIDTH = 34


def render_degradation(found: Degradation) -> Iterator[str]:
    """The mixed view beside the fixed one, then how long facts stay known."""
    yield from format_fact(
        "Mixed", f"{format_score_trend(found.mixed_trend)}; the questions change as days go by"
    )
    if found.cohort is not None:
        card = found.cohort
        yield from format_fact(
            "Fixed",
            f"{format_score_trend(found.fixed_trend)}; the same {card.questions:,} questions "
            f"at each of "
            f"{card.checkpoints} checkpoints, {clean_text(card.first)} to {clean_text(card.last)}",
        )
    if found.reason is not None:
        yield from format_fact("Missing", found.reason)
    if found.survivals:
        yield from _render_survivals(found)
    for note in found.notes:
        yield from format_fact("Note", note)


def _render_survivals(found: Degradation) -> Iterator[str]:
    yield ""
    columns = (
        Column("facts, once known", _GROUP_WIDTH, is_text=True),
        Column("facts", 7),
        Column("lost", 7),
        Column("  half-life, days", is_text=True),
    )
    yield from render_text(Table(columns, [*map(_list_survival, found.survivals)], gap=""))
    yield from format_fact(
        "",
        f"lost: wrong {found.failures} times in a row · {found.never_known:,} never known, and "
        f"not counted · {found.unfollowed:,} asked too seldom after that to be followed",
    )


def _list_survival(each: GroupSurvival) -> tuple[str, ...]:
    name = "all" if each.by is SurvivalGroup.ALL else f"{each.by.value} {clean_text(each.name)}"
    found = each.survival
    return (
        name[: _GROUP_WIDTH - 1],
        f"{found.facts:,}",
        f"{found.lost:,}",
        f"  {format_half_life(found.half_life)}",
    )


_LEAF_COLUMNS = (
    Column("cause", 28, is_text=True),
    Column("trials", 8),
    Column("questions", 11),
    Column("share", 9),
    Column("", is_text=True),
)
_BAR_WIDTH = 30


def render_failures(found: Attribution) -> Iterator[str]:
    """Every leaf that holds a miss, the largest first."""
    yield from format_fact(
        "Misses", f"{found.misses:,} of {found.answered:,} trials with an outcome"
    )
    leaves = sorted((leaf for leaf in found.leaves if leaf.trials), key=lambda leaf: -leaf.trials)
    head, *lines = render_text(
        Table(_LEAF_COLUMNS, [_list_leaf(leaf, found.misses) for leaf in leaves], gap="")
    )
    if leaves:
        yield ""
        yield head
    for leaf, line in zip(leaves, lines, strict=True):
        yield line
        if leaf.examples:
            named = ", ".join(str(trial) for trial in leaf.examples[:2])
            yield from wrap_text(named, initial="  such as ", subsequent=" " * len("  such as "))
    for note in found.notes:
        yield from format_fact("Note", note)


def _list_leaf(leaf: LeafCount, misses: int) -> tuple[str, ...]:
    part = leaf.trials / misses
    return (
        leaf.leaf.value,
        f"{leaf.trials:,}",
        f"{leaf.questions:,}",
        f"{format_number(part * 100, 1)} %",
        f"  {'█' * round(part * _BAR_WIDTH)}",
    )


_MAX_POINTS = 10
_RUN_WIDTH = 30


def render_costs(costs: RunCosts, paretos: Sequence[Pareto], unit: str = PERSONA) -> Iterator[str]:
    """Costs over corpus size, then the score against each."""
    shown = pick_evenly(len(costs.points), _MAX_POINTS)
    rows = [_list_cost_point(costs.points[place]) for place in shown]
    yield from render_text(Table(_COST_COLUMNS, rows, gap=""))
    if len(shown) < len(costs.points):
        yield f"({len(shown)} of {len(costs.points)} checkpoints shown; --json has all)"
    for note in costs.notes:
        yield from format_fact("Note", note)
    if paretos:
        yield ""
        yield from wrap_text(describe_population(paretos[0].contenders[0].score.personas, unit))
    for pareto in paretos:
        yield ""
        yield from _render_pareto(pareto)


_COST_COLUMNS = (
    Column("at", 9, is_text=True),
    Column("ingest/day", 12),
    Column("query p50", 11),
    Column("p95", 11),
    Column("passages", 10),
    Column("tokens in", 12),
    Column("out", 10),
    Column("dollars", 9),
    Column("index", 10),
)


def _list_cost_point(point: CostPoint) -> tuple[str, ...]:
    known = [each for each in (point.ingest_usage, point.query_usage) if each is not None]
    spent = sum(known, Usage()) if known else None
    tokens = NO_DATA if point.delivered_tokens is None else f"{point.delivered_tokens:,.0f}"
    taken = NO_DATA if spent is None else f"{spent.input_tokens:,}"
    given = NO_DATA if spent is None else f"{spent.output_tokens:,}"
    cost = None if spent is None else price_usage(spent)
    paid = NO_DATA if cost is None else format_money(cost)
    return (
        clean_text(point.checkpoint)[:8],
        format_amount(point.ingest_s_a_day, "s"),
        format_amount(point.query_p50_s, "s"),
        format_amount(point.query_p95_s, "s"),
        tokens,
        taken,
        given,
        paid,
        format_amount(point.index_bytes, "bytes"),
    )


def _render_pareto(pareto: Pareto) -> Iterator[str]:
    yield f"Score against {pareto.measure.value.replace('-', ' ')}"
    for each in pareto.contenders:
        yield from _render_contender(pareto.measure, each)
    if pareto.unknown:
        yield from format_fact("Unknown", clean_text(", ".join(pareto.unknown)))


def _render_contender(measure: CostMeasure, each: Contender) -> list[str]:
    words = f"{format_of_100(each.score, digits=1)} for {format_cost(measure, each.cost)}"
    if each.dominated_by:
        words += f" · dominated by {', '.join(each.dominated_by)}"
    if each.in_doubt:
        words += f" · score not distinguishable from {', '.join(each.in_doubt)} at no higher cost"
    return format_fact("", f"{clean_text(each.name)[:_RUN_WIDTH]}: {words}")


_MAX_CANARIES = 8
_MAX_FIGURES = 3
_FIGURE_WIDTH = 24


def render_report(report: RunReport) -> str:
    """The whole report but for its heatmaps, which `run` prints."""
    lines = [
        *format_heading(f"Recall Bench · report on {report.header.system}", rule="═"),
        "",
        *_render_header(report.header, report.score),
    ]
    if report.heatmaps and report.header.overall is not None:
        lines += ["", *render_categories(report.heatmaps[0])]
    if report.judges is not None:
        lines += _render_section("Judges", render_sensitivity(report.judges))
    if report.figures:
        lines += _render_section("Figures of the protocol", render_figures(report))
    if report.no_marks is None:
        lines += _render_section("Invented and leaked", render_hallucination(report.hallucination))
    else:
        lines += _render_section("Invented and leaked", format_fact("Missing", report.no_marks))
    if report.no_time is None:
        lines += _render_section("Degradation", render_degradation(report.degradation))
    else:
        lines += _render_section("Degradation", format_fact("Missing", report.no_time))
    lines += _render_section("Failures", render_failures(report.attribution))
    if report.tool_loop is not None:
        lines += _render_section("Tool loop", render_tool_loop(report.tool_loop))
    costs = render_costs(report.costs, report.paretos, report.unit)
    lines += _render_section("Cost", costs)
    canaries = render_canaries(report.canaries, most=_MAX_CANARIES)
    lines += _render_section("Canaries", canaries.split("\n"))
    lines += ["", *_render_notes(report)]
    return "\n".join(lines)


def render_figures(report: RunReport) -> Iterator[str]:
    """Every figure on its own scale, overall and by the dataset's own categories."""
    figures = report.figures
    columns = (
        Column("", _CATEGORY_WIDTH, is_text=True),
        *(Column(each.label, _FIGURE_WIDTH) for each in figures[:_MAX_FIGURES]),
    )
    shown = figures[:_MAX_FIGURES]
    rows = [
        (_cut_name(name), *(format_own_scale(each.categories.get(name)) for each in shown))
        for name in report.categories
    ]
    rows.append(("OVERALL", *(format_own_scale(each.mean) for each in shown)))
    yield from render_text(Table(columns, rows, gap=""))
    if len(shown) < len(figures):
        yield f"({len(shown)} of {len(figures)} figures shown; --json has all)"


def _render_header(header: ReportHeader, score: ScoreScale | None) -> list[str]:
    lines = [STUB_WARNING] if header.is_stub else []
    if header.status is not RunStatus.VALID:
        lines += format_fact("Status", f"{header.status.value.upper()} ({header.reason})")
    if header.overall is not None:
        headline = describe_headline(header.overall, header.bounds, header.invented, header.leaked)
        named = "" if score is None else f"{score.label} "
        if header.corrected is not None and (right := describe_correction(header.corrected)):
            headline = f"{right} · {headline}"
        lines += format_fact("Result", f"{named}{headline} · {format_basis(header.overall)}")
        if header.corrected is not None:
            lines += render_correction(header.corrected)
        if score is not None:
            lines += format_fact("Score", describe_scale(score))
        elif header.bounds is None and not header.is_stub:
            lines += format_fact("Silence", NO_BOUNDS)
    lines += format_fact("Judge", header.judge)
    for notice in header.notices:
        lines += format_fact("Notice", notice)
    return lines


def _render_section(title: str, lines: Iterable[str]) -> list[str]:
    return ["", *format_heading(title), *lines]


def _render_notes(report: RunReport) -> list[str]:
    return wrap_text(
        "n: different questions; each is one piece of evidence, however often it was asked. In "
        f"brackets: 95 % intervals, bootstrap over questions, or over {report.unit}s if there are "
        "five or "
        f"more (seed {report.seed}). {SMALL_MARK}: fewer than {FEW_QUESTIONS} questions; the "
        "interval is unreliable."
    )
