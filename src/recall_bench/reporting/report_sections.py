"""What the report of a run says in each of its sections."""

from collections import Counter
from collections.abc import Iterator

from recall_bench.core.plain_text import NO_DATA, Column, format_quantity, join_words
from recall_bench.core.tool_call import SessionEnd
from recall_bench.core.usage import Usage
from recall_bench.engine.runs.judge_sensitivity import JudgeSensitivity
from recall_bench.metrics.bootstrap import Interval
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.trend import Trend
from recall_bench.reporting.analyses.attribution import (
    LEAF_MEANINGS,
    LEAF_TITLES,
    Attribution,
)
from recall_bench.reporting.analyses.canaries import (
    CHANGE_MEANINGS,
    CanaryChange,
    CanaryWatch,
)
from recall_bench.reporting.analyses.costs import (
    Pareto,
    RunCosts,
    format_amount,
    format_cost,
    format_money,
    price_usage,
)
from recall_bench.reporting.analyses.degradation import Degradation
from recall_bench.reporting.analyses.hallucination import (
    HallucinationViews,
    RateCourse,
    find_start,
    select_forecasts,
)
from recall_bench.reporting.analyses.tool_loop import (
    STAGE_MEANINGS,
    FactStage,
    SessionCounts,
    ToolLoopReport,
)
from recall_bench.reporting.formats import (
    format_count,
    format_half_life,
    format_number,
    format_own_scale,
    format_points,
    format_prediction,
    format_score,
    format_score_trend,
    format_share,
    format_slope,
)
from recall_bench.reporting.groups import PERSONA, describe_population
from recall_bench.reporting.headlines import (
    INVENTION_NOTE,
)
from recall_bench.reporting.judge_text import SPLITS_FILE, describe_splits, format_score_range
from recall_bench.reporting.run_report import RunReport
from recall_bench.reporting.score_tables import build_category_scores
from recall_bench.reporting.sections import Fact, Link, Section, SectionPart, SectionTable

_NAME_WIDTH = 27
_NAMES = Column("", _NAME_WIDTH, is_text=True)
_MAX_ROWS = 10


def build_sections(report: RunReport) -> Iterator[Section]:
    """Every section that the run has something for, in order."""
    scores: list[SectionPart] = []
    if report.heatmaps and report.header.overall is not None:
        scores += build_category_scores(report.heatmaps[0])
    if report.figures:
        scores.append(_build_figures(report))
    if report.no_time is not None:
        scores.append(Fact("Missing", report.no_time))
    yield Section(name="scores", title="Scores", parts=scores)
    if report.judges is not None:
        yield Section(name="judges", title="Judges", parts=[*describe_judges(report.judges)])
    yield Section(
        name="hallucination",
        title="Invented and leaked",
        parts=[*describe_hallucination(report.hallucination)]
        if report.no_marks is None
        else [Fact("Missing", report.no_marks)],
    )
    yield Section(
        name="degradation",
        title="Degradation",
        parts=[*describe_degradation(report.degradation)]
        if report.no_time is None
        else [Fact("Missing", report.no_time)],
    )
    yield Section(name="failures", title="Failures", parts=[*describe_failures(report.attribution)])
    if report.tool_loop is not None:
        loop = [*describe_tool_loop(report.tool_loop)]
        yield Section(name="tool-loop", title="Tool loop", parts=loop)
    costs = [*describe_costs(report.costs, report.paretos, report.unit)]
    yield Section(name="costs", title="Cost", parts=costs)
    yield Section(name="canaries", title="Canaries", parts=[*describe_canaries(report.canaries)])


def _build_figures(report: RunReport) -> SectionTable:
    """Every figure of a dataset's protocol on its own scale, by the dataset's categories."""
    rows = [
        (name, *(format_own_scale(figure.categories.get(name)) for figure in report.figures))
        for name in report.categories
    ]
    rows.append(("OVERALL", *(format_own_scale(figure.mean) for figure in report.figures)))
    return SectionTable(
        columns=[_NAMES, *(Column(figure.label, 20) for figure in report.figures)],
        rows=rows,
        # A terminal has room for three.
        page_columns=max(0, len(report.figures) - 3),
    )


JUDGES_NOTE = (
    "The score is that of the first judge. Alike: both judges pass an answer, or both fail it; it "
    "fails with fewer than 4 of 6 points, or where it is wrong or not grounded."
)
FAIL_MARK = "✗"
MAX_SPLITS = 8


def describe_judges(views: JudgeSensitivity) -> Iterator[SectionPart]:
    """Every judge, every two of them, the categories, and the answers they split on."""
    letters = [_letter_judge(place) for place in range(len(views.judges))]
    yield Fact("Range", f"{format_score_range(views)} of 100 over {len(letters)} judges")
    more = f"; the widest first, {SPLITS_FILE} has all with the words of every judge"
    yield Fact("Splits", describe_splits(views) + more * bool(views.splits))
    heads = ("", "judge", "score", "missing", "dollars")
    yield SectionTable(
        columns=[Column(head, is_text=place < 2) for place, head in enumerate(heads)],
        rows=[
            (
                letter,
                judge.name if place else f"{judge.name} (the score)",
                format_points(judge.score, digits=0),
                f"{judge.missing:,}",
                format_money(judge.usage.cost_usd),
            )
            for place, (letter, judge) in enumerate(zip(letters, views.judges, strict=True))
        ],
    )
    pair_heads = ("judges", "answers", "alike", "kappa", "correct", "complete", "grounded")
    yield SectionTable(
        columns=[Column(head, is_text=not place) for place, head in enumerate(pair_heads)],
        rows=[
            (
                " · ".join(letters[views.names.index(name)] for name in (pair.first, pair.second)),
                f"{pair.answers:,}",
                _format_percent(pair.agreement) + format_ends(pair.agreement_interval, 100, 0),
                NO_DATA
                if pair.kappa is None
                else format_number(pair.kappa, 2) + format_ends(pair.kappa_interval, 1, 2),
                *([*map(_format_percent, pair.marks.values())] or [NO_DATA] * 3),
            )
            for pair in views.pairs
        ],
    )
    yield SectionTable(
        columns=[
            Column("points of 100", is_text=True),
            *map(Column, (*letters, "answers", "splits")),
        ],
        rows=[
            (
                category.name,
                *map(format_score, category.scores),
                f"{category.answers:,}",
                f"{category.splits:,}",
            )
            for category in views.categories
        ],
    )
    if views.splits:
        yield _list_splits(views, f"{' · '.join(letters)}, of 6; {FAIL_MARK} fails")
    yield JUDGES_NOTE


def _list_splits(views: JudgeSensitivity, head: str) -> SectionTable:
    """The answers that judges split on, with the points of each judge."""
    return SectionTable(
        columns=[Column(words, is_text=True) for words in ("answer", "category", head)],
        rows=[
            (
                Link.to_trial(split.trial, str(split.trial)),
                split.category,
                " · ".join(
                    format_number(points, 0 if points == round(points) else 1)
                    + FAIL_MARK * (not passes)
                    for points, passes in zip(split.points, split.passes, strict=True)
                ),
            )
            for split in views.splits
        ],
        most=MAX_SPLITS,
        is_ranked=True,
        noun="splits",
    )


def _letter_judge(place: int) -> str:
    """The letter of a judge in tables: names may be long."""
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def _format_percent(share: float | None) -> str:
    return NO_DATA if share is None else f"{format_number(100 * share, 0)} %"


def format_ends(ends: Interval | None, scale: float, digits: int) -> str:
    """Both ends in brackets; nothing where no resample differs, which is no interval."""
    if ends is None or ends[0] == ends[1]:
        return ""
    low, high = (format_number(scale * end, digits) for end in ends)
    return f" ({low} to {high})"


def describe_hallucination(views: HallucinationViews) -> Iterator[SectionPart]:
    """Inventions and leaks: rates, the course over corpus size, by category and by persona."""
    course = views.overall
    yield from _describe_rate("Invented", course.invention, "judged answers", course.inventions)
    if course.leak is not None:
        yield from _describe_rate("Leaked", course.leak, "answers that could leak", course.leaks)
    yield Fact("Pattern", f"{course.pattern.value} (inventions only): {course.reason}")
    yield Fact("Note", INVENTION_NOTE)
    n, rates = Column("n", 5), [Column(head, is_text=True) for head in ("invented", "leaked")]
    yield SectionTable(
        columns=[Column("by category", _NAME_WIDTH, is_text=True), n, *rates],
        rows=[
            (rate.name, format_count(rate.rate), *map(format_share, (rate.invention, rate.leak)))
            for rate in views.categories
        ],
    )
    moments = course.moments
    yield SectionTable(
        columns=[
            Column("by checkpoint", 14, is_text=True),
            *(n, Column("recall", is_text=True), *rates),
        ],
        rows=[
            (
                moment.checkpoint,
                format_count(moment.hallucination),
                *map(format_share, (moment.recall, moment.invention, moment.leak)),
            )
            for moment in moments
        ],
        most=_MAX_ROWS,
        is_charted=True,
        noun="checkpoints",
    )
    if views.personas:
        yield SectionTable(
            columns=[
                Column("by persona", 20, is_text=True),
                *(n, *rates, Column("pattern of inventions", is_text=True)),
            ],
            rows=[_list_persona_cells(persona) for persona in views.personas],
            most=2 * _MAX_ROWS,
            noun="personas",
        )


def _describe_rate(
    label: str, rate: Estimate | None, answers: str, line: Trend | None
) -> Iterator[Fact]:
    count = "" if rate is None else f" of {rate.trials:,} {answers}"
    yield Fact(label, f"{format_share(rate)}{count}")
    if line is None:
        return
    start = find_start(line)
    at_start = "" if start is None else f"{format_number(start.value * 100, 1)} % at no days · "
    slope = format_slope(line.slope, scale=100, digits=2, unit=" points of 100")
    yield Fact("", f"trend: {at_start}{slope}")
    forecasts, missing = select_forecasts(line)
    words = [format_prediction(forecast, scale=100, digits=1, unit=" %") for forecast in forecasts]
    ahead = [f"forecast: {' · '.join(words)}"] if words else []
    ahead += [missing] if missing else []
    last = f"nothing was measured beyond {line.last_day:,.0f} days"
    yield Fact("", f"{' · '.join(ahead)}; {last}" if ahead else last)


def _list_persona_cells(course: RateCourse) -> tuple[str, ...]:
    rates = map(format_share, (course.invention, course.leak))
    return (course.name or "", format_count(course.rate), *rates, course.pattern.value)


def describe_degradation(views: Degradation) -> Iterator[SectionPart]:
    """The mixed view beside the fixed one, then how long facts stay known."""
    trend = format_score_trend(views.mixed_trend)
    yield Fact("Mixed", f"{trend}; its questions change from one checkpoint to the next")
    if (card := views.cohort) is not None:
        yield Fact(
            "Fixed",
            f"{format_score_trend(views.fixed_trend)}; the same {card.questions:,} questions to "
            f"{format_quantity(card.personas, 'persona')} at each of {card.checkpoints} "
            f"checkpoints, {card.first} to {card.last}; {card.left_out:,} others were asked at "
            "some of these only",
        )
    if views.reason is not None:
        yield Fact("Missing", views.reason)
    if views.survivals:
        yield SectionTable(
            columns=[
                Column("facts, once known", 34, is_text=True),
                *(Column("facts"), Column("lost"), Column("half-life, days", is_text=True)),
            ],
            rows=[
                (
                    "all" if group.by == "all" else f"{group.by.value} {group.name}",
                    f"{group.survival.facts:,}",
                    f"{group.survival.lost:,}",
                    format_half_life(group.survival.half_life),
                )
                for group in views.survivals
            ],
        )
        yield (
            f"lost: wrong {views.failures} times in a row · {views.never_known:,} never known, and "
            f"not counted · {views.unfollowed:,} asked too seldom after that to be followed"
        )
    yield from (Fact("Note", note) for note in views.notes)


def describe_failures(causes: Attribution) -> Iterator[SectionPart]:
    """Every leaf that has a miss, the largest first."""
    yield Fact("Misses", f"{causes.misses:,} of {causes.answered:,} trials with an outcome")
    leaves = sorted((leaf for leaf in causes.leaves if leaf.trials), key=lambda leaf: -leaf.trials)
    if leaves:
        yield SectionTable(
            columns=[
                *(Column("cause", 23, is_text=True), Column("trials"), Column("questions")),
                *(Column("share"), Column("such as", 44, is_text=True)),
                *(Column("marks lost, of 6 a trial"), Column("meaning", is_text=True)),
            ],
            page_columns=2,
            rows=[
                (
                    Link(LEAF_TITLES[leaf.leaf], leaf=leaf.leaf.value),
                    f"{leaf.trials:,}",
                    f"{leaf.questions:,}",
                    f"{format_number(100 * leaf.trials / causes.misses, 1)} %",
                    tuple(
                        Link.to_trial(trial, f"{trial.item} at {trial.checkpoint}")
                        for trial in leaf.examples
                    ),
                    f"{leaf.points_lost:,}",
                    LEAF_MEANINGS[leaf.leaf],
                )
                for leaf in leaves
            ],
        )
    yield from (Fact("Note", note) for note in causes.notes)


def describe_tool_loop(loop: ToolLoopReport) -> Iterator[SectionPart]:
    """Faults of the memory, how far each fact came, and the calls of the agent."""
    for fault in loop.faults:
        yield Fact("Fault", f"{fault}.")
    if not loop.faults:
        yield Fact("Faults", "the searches show no fault of the memory")
    checks = loop.memory
    yield Fact(
        "Notes",
        f"{checks.saved:,} saved · {checks.updated:,} updated · {checks.deleted:,} deleted · "
        f"{checks.notes_returned:,} returned by a search",
    )
    if checks.unmatched:
        yield Fact(
            "Note",
            f"{format_quantity(checks.unmatched, 'call')} updated or deleted notes that no save "
            "and no search had named, so a fact that they removed may be counted as missed",
        )
    yield SectionTable(
        columns=[
            Column("the fact of the question was", 30, is_text=True),
            *(Column("trials"), Column("right"), Column("wrong"), Column("", is_text=True)),
        ],
        page_columns=1,
        rows=[
            (
                count.stage.value,
                *(f"{n:,}" for n in (count.right + count.wrong, count.right, count.wrong)),
                STAGE_MEANINGS[count.stage],
            )
            for count in loop.stages
            if count.right + count.wrong
        ],
    )
    for count in loop.stages:
        if count.wrong and count.stage is not FactStage.FOUND:
            yield f"{count.stage.value}: {STAGE_MEANINGS[count.stage]}"
    for trials, words in (
        (loop.nothing_to_find, "about what is not there"),
        (loop.undecided, "without an outcome"),
    ):
        if trials:
            yield Fact("Note", f"{format_quantity(trials, 'trial')} {words}, not in the table")
    yield SectionTable(
        columns=[
            *(Column("tool", 30, is_text=True), Column("role", is_text=True)),
            *(Column("on days"), Column("on questions")),
        ],
        rows=[
            (tool.tool, tool.role or "", f"{tool.on_days:,}", f"{tool.on_questions:,}")
            for tool in loop.tools
        ],
    )
    yield Fact("Days", _describe_sessions(loop.days))
    yield Fact("Questions", _describe_sessions(loop.questions))


_CUT_OFF = {
    SessionEnd.STEPS: "cut off by --max-steps",
    SessionEnd.TOKENS: "cut off by --agent-tokens",
    SessionEnd.BROKEN: "broken off",
}


def _describe_sessions(counts: SessionCounts) -> str:
    """Requests and calls of the sessions, and what went wrong in them."""
    parts = [
        format_quantity(counts.sessions, "session"),
        format_quantity(counts.steps, "request"),
        format_quantity(counts.calls, "call"),
    ]
    problems = {
        "malformed": counts.malformed,
        "failed": counts.failed,
        "refused": counts.refused,
        "repeated": counts.repeated,
        "unreadable replies": counts.unreadable,
    }
    parts += [f"{count:,} {problem}" for problem, count in problems.items() if count]
    parts += [
        f"{format_quantity(counts.ended[end], 'session')} {words}"
        for end, words in _CUT_OFF.items()
        if counts.ended[end]
    ]
    return " · ".join(parts)


def describe_costs(
    costs: RunCosts, paretos: tuple[Pareto, ...], unit: str = PERSONA
) -> Iterator[SectionPart]:
    """Costs over corpus size and of the whole run, then the score against each."""
    heads = ("ingest/day", "query p50", "p95", "passages", "tokens in", "out", "dollars", "index")
    rows = []
    for point in costs.points:
        usages = [usage for usage in (point.ingest_usage, point.query_usage) if usage is not None]
        spent = sum(usages, Usage()) if usages else None
        price = None if spent is None else price_usage(spent)
        tokens = point.delivered_tokens
        rows.append(
            (
                point.checkpoint,
                format_amount(point.ingest_s_a_day, "s"),
                format_amount(point.query_p50_s, "s"),
                format_amount(point.query_p95_s, "s"),
                NO_DATA if tokens is None else f"{tokens:,.0f}",
                NO_DATA if spent is None else f"{spent.input_tokens:,}",
                NO_DATA if spent is None else f"{spent.output_tokens:,}",
                NO_DATA if price is None else format_money(price),
                format_amount(point.index_bytes, "bytes"),
            )
        )
    yield SectionTable(
        columns=[Column("at", 8, is_text=True), *map(Column, heads)],
        rows=rows,
        most=_MAX_ROWS,
        is_charted=True,
        noun="checkpoints",
    )
    if costs.measures:
        yield SectionTable(
            columns=[Column("the whole run", is_text=True), Column("cost")],
            rows=[
                (measure.value.replace("-", " "), format_cost(measure, cost))
                for measure, cost in costs.measures.items()
            ],
        )
    yield from (Fact("Note", note) for note in costs.notes)
    if not paretos:
        yield (
            "No other run is compared with this one (--beside), so there is no frontier of score "
            "and cost."
        )
        return
    yield describe_population(paretos[0].contenders[0].score.personas, unit)
    yield from _compare_costs(paretos)


def _compare_costs(paretos: tuple[Pareto, ...]) -> Iterator[SectionPart]:
    """The score of every run against each of its costs."""
    for pareto in paretos:
        name = pareto.measure.value.replace("-", " ")
        yield SectionTable(
            columns=[
                *(Column(f"Score against {name}", 50, is_text=True), Column("of 100")),
                Column("cost"),
            ],
            rows=[
                (
                    run.name,
                    format_points(run.score),
                    format_cost(pareto.measure, run.cost),
                )
                for run in pareto.contenders
            ],
        )
        for run in pareto.contenders:
            if run.dominated_by:
                yield Fact("Dominated", f"{run.name} by {join_words(run.dominated_by)}")
            elif run.in_doubt:
                others = join_words(run.in_doubt)
                yield Fact("In doubt", f"{run.name}, not distinguishable in score from {others}")
        if pareto.unknown:
            yield Fact("Unknown", f"{name} of {', '.join(pareto.unknown)}")


MAX_CANARIES = 8


def describe_canaries(
    watch: CanaryWatch, *, most: int | None = MAX_CANARIES
) -> Iterator[SectionPart]:
    """The rule, a count of each kind, and the canaries, changed ones first."""
    has_file = "none is kept, so all are new" if watch.watched else "none is kept"
    yield Fact("File", watch.file or has_file)
    yield Fact("Rule", watch.rule)
    counts = Counter(canary.change for canary in watch.watched)
    if not counts:
        yield Fact("Canaries", "none")
        return
    for change in CanaryChange:
        if counts[change]:
            yield Fact(change.value, f"{counts[change]:,} · {CHANGE_MEANINGS[change]}")
    yield SectionTable(
        columns=[
            *(Column("change", is_text=True), Column("question", 44, is_text=True)),
            *(Column("of", 28, is_text=True), Column("here"), Column("in all")),
        ],
        rows=[
            (
                watched.change.value,
                Link(
                    watched.canary.text,
                    persona=watched.canary.persona,
                    question=watched.canary.question,
                ),
                f"{watched.canary.persona}/{watched.canary.question}",
                f"{watched.hallucinated} of {watched.asked}",
                f"{watched.canary.hallucinated} of {watched.canary.asked}",
            )
            for watched in watch.watched
        ],
        most=most,
        is_ranked=True,
        noun="canaries",
    )
