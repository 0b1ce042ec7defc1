"""A run as text: what was run, whether it is valid, and how each checkpoint went.

It fits 80 columns and more. Where there are more checkpoints than room, an even selection is shown,
and the text says so. Every mean comes with its interval and its number of questions.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from recall_bench.core.event import FeedFailed
from recall_bench.core.plain_text import (
    NO_DATA,
    WIDTH,
    clean_text,
    format_fact,
    format_heading,
    join_words,
    pick_evenly,
    wrap_text,
)
from recall_bench.core.plan import ImportCard, Ingest, Plan
from recall_bench.core.scenario import BOUNDARY, DIFFICULTIES, Disclosure, Item
from recall_bench.core.tables import Column, Table, render_text
from recall_bench.metrics.marks import TrialTally
from recall_bench.reporting.formats import (
    OF_100,
    SMALL_MARK,
    format_card,
    format_count,
    format_duration,
    format_number,
    format_points,
    format_quantity,
    format_range,
    format_score,
)
from recall_bench.reporting.headlines import (
    INVENTED,
    LEAKED,
    LOW_CEILING_MARK,
    LOW_CEILING_NOTE,
    NO_BOUNDS,
    WAY_NOTE,
    describe_headline,
    describe_labels,
    describe_place,
    format_ceiling,
    format_rate,
    has_low_ceiling,
    list_rates,
)
from recall_bench.reporting.run_facts import (
    describe_costs,
    describe_reviews,
    describe_rubrics,
    list_boundary_facts,
    list_system_facts,
)
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.summary import (
    CheckpointSummary,
    PersonaSummary,
    RunStatus,
    Summary,
    is_over_budget,
    list_names,
)

if TYPE_CHECKING:
    # Numbers with intervals need numpy, which a progress bar can do without.
    from recall_bench.metrics.estimate import Estimate
    from recall_bench.runs.estimates import Heatmap, HeatmapCell, HeatmapTotal, RunEstimates
    from recall_bench.runs.score_ranges import ScoreRange

_CATEGORY_WIDTH = 27
_MAX_ROWS = 15
"""More checkpoints than this are shown as a selection."""
_WIDE_WIDTH = 98
"""From this width on the table has all columns."""
_CellLines = tuple[str, str]
"""A mean with its count, and the line below it."""


def select_table_places(count: int) -> list[int]:
    """The checkpoints that a table shows."""
    return pick_evenly(count, _MAX_ROWS)


def select_heatmap_places(parts: Sequence[CheckpointSummary], *, width: int = WIDTH) -> list[int]:
    """The checkpoints that a text heatmap has room for."""
    most = max((part.overall.counted for part in parts), default=0)
    heads = [len(part.checkpoint.label) + 1 for part in parts]
    cell = 1 + max(len(f"100 ({most})!"), len("9.9–99.9 "), *heads, 0)
    return pick_evenly(len(parts), max(1, (width - _CATEGORY_WIDTH) // cell))


def render_checkpoint_table(
    parts: Sequence[CheckpointSummary],
    means: "Sequence[Estimate | None]",
    summary: Summary,
    *,
    of: int | None = None,
    width: int = WIDTH,
) -> Iterator[str]:
    """One line a checkpoint: the states of its trials, and their mean.

    `of` is the number of all checkpoints, where these are a selection.
    """
    wide = {"fed to"} if width < _WIDE_WIDTH else frozenset()
    kept = [place for place, column in enumerate(_CHECKPOINT_COLUMNS) if column.head not in wide]
    rows = [_list_checkpoint(part, mean, summary) for part, mean in zip(parts, means, strict=True)]
    table = Table(
        [_CHECKPOINT_COLUMNS[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        gap="",
    )
    yield from render_text(table)
    if of is not None and len(parts) < of:
        yield f"({len(parts)} of {of} checkpoints shown)"


_CHECKPOINT_COLUMNS = (
    Column("checkpoint", 10, is_text=True),
    Column("fed to", 9),
    Column("owed", 6),
    Column("judged", 8),
    Column("unanswered", 12),
    Column("unjudged", 10),
    Column("open", 6),
    Column("questions ", 11),
    Column("score", 6),
    Column("95 %", 11),
)


def _list_checkpoint(
    part: CheckpointSummary, mean: "Estimate | None", summary: Summary
) -> tuple[str, ...]:
    tally = part.overall
    counts = tally.owed, tally.judged, tally.not_answered, tally.not_judged, tally.open
    start = clean_text(part.checkpoint.label)[:9], f"day {part.cutoff}", *map(str, counts)
    if mean is None:
        return (*start, "0 ", NO_DATA, NO_DATA)
    start = *start, f"{mean.questions}{_mark_small(mean)}"
    is_over = summary.validity.status is not RunStatus.UNFINISHED
    if is_over and is_over_budget(tally, summary.plan.error_budget):
        return (*start, "", "INVALID")
    return (*start, format_score(mean.value, digits=1), format_range(mean, scale=OF_100))


def render_categories(heatmap: "Heatmap", *, width: int = WIDTH) -> list[str]:
    """Every category between silence and its ceiling, over all checkpoints, then all of them."""
    rows = [
        _list_category(row.category, row.total)
        for row in heatmap.rows
        if row.total.mean is not None
    ]
    rows.append(_list_category(_OVERALL, heatmap.total))
    has_bounds = heatmap.total.bounds is not None
    shown = len(_CATEGORY_COLUMNS) if has_bounds else _UNBOUNDED
    columns = _CATEGORY_COLUMNS[:shown]
    lines = render_text(Table(columns, [row[:shown] for row in rows], gap=""))
    if has_low_ceilings(heatmap):
        lines.append(LOW_CEILING_NOTE)
    return lines + (
        wrap_text(f"{WAY_NOTE}; n: different questions", width=width) if has_bounds else []
    )


def has_low_ceilings(heatmap: "Heatmap") -> bool:
    """Whether the reader is the limit in any category, or over all of them."""
    found = [row.total.bounds for row in heatmap.rows] + [heatmap.total.bounds]
    return any(bounds is not None and has_low_ceiling(bounds) for bounds in found)


_CATEGORY_COLUMNS = (
    Column("points of 100", _CATEGORY_WIDTH - 1, is_text=True),
    Column("n ", 7),
    Column("score", 6),
    Column("95 %", 8),
    Column("silence", 8),
    Column("ceiling ", 9),
    Column("of the way", 16),
)


_UNBOUNDED = 4
"""The columns of a run without bounds."""


def _list_category(name: str, total: "HeatmapTotal") -> tuple[str, ...]:
    score, bounds = total.mean, total.bounds
    if score is None:
        return (name[: _CATEGORY_WIDTH - 1], "0 ", *[NO_DATA] * 5)
    floor = NO_DATA if bounds is None else format_score(bounds.floor)
    ceiling = f"{NO_DATA} " if bounds is None else _pad_mark(format_ceiling(bounds))
    return (
        name[: _CATEGORY_WIDTH - 1],
        _pad_mark(format_count(score)),
        format_score(score.value),
        format_range(score, scale=OF_100, digits=0) or NO_DATA,
        floor,
        ceiling,
        # A wide share never touches the ceiling.
        NO_DATA if bounds is None else f" {describe_place(bounds)}",
    )


def _pad_mark(figure: str) -> str:
    # A column of its own for the mark, so that figures are aligned with and without it.
    return figure if figure[-1:] in _MARKS else f"{figure} "


def render_heatmap(heatmap: "Heatmap", *, of: int | None = None, width: int = WIDTH) -> str:
    """Every category at each checkpoint, then all of them, then what is invented and leaked.

    The interval stands below each mean, silence and ceiling at the right. `of` is the number of
    all checkpoints, where the heatmap has a selection. Where there is no room for all columns,
    some are shown. Rows in which nothing was measured are left out.
    """
    rows = list(_list_heatmap_rows(heatmap))
    bounds = heatmap.total.bounds
    room = width - (0 if bounds is None else sum(map(len, _BOUND_HEADS)))
    heads = [clean_text(checkpoint.label) for checkpoint in heatmap.columns]
    inside = max((len(text) for row in rows for pair in row.cells for text in pair), default=0)
    cell = 1 + max(inside, *(len(head) + 1 for head in heads), 0)
    cell += _CATEGORY_WIDTH + len(heads) * (cell + 1) <= room
    shown = pick_evenly(len(heads), max(1, (room - _CATEGORY_WIDTH) // cell))
    rule = "─" * (cell * len(shown) - 1)
    right = "" if bounds is None else "".join(_BOUND_HEADS)
    lines = [
        _format_line("points of 100 (questions)", [f"{heads[at]} " for at in shown], cell) + right,
        f"{'95 % interval':{_CATEGORY_WIDTH}} {rule}",
    ]
    for row in rows:
        if row.name == _OVERALL:
            lines.append(f"{'':{_CATEGORY_WIDTH}} {rule}")
        lines.append(_format_line(row.name, [row.cells[at][0] for at in shown], cell) + row.right)
        if any(row.cells[at][1].strip() for at in shown):
            lines.append(_format_line("", [row.cells[at][1] for at in shown], cell))
    if len(shown) < (of or len(heads)):
        lines.append(f"({len(shown)} of {of or len(heads)} checkpoints shown)")
    return "\n".join(line.rstrip() for line in lines)


_OVERALL = "OVERALL"
_BOUND_HEADS = ("  silence", " ceiling ")
_MARKS = (SMALL_MARK, LOW_CEILING_MARK)


class _HeatmapLine(NamedTuple):
    name: str
    cells: Sequence[_CellLines]
    right: str = ""
    """Silence and ceiling."""


def _list_heatmap_rows(heatmap: "Heatmap") -> Iterator[_HeatmapLine]:
    for row in heatmap.rows:
        if _is_measured(row.cells):
            cells = [_format_points_cell(cell) for cell in row.cells]
            yield _HeatmapLine(row.category, cells, _format_heatmap_bounds(row.total.bounds))
    cells = [_format_points_cell(cell) for cell in heatmap.overall]
    yield _HeatmapLine(_OVERALL, cells, _format_heatmap_bounds(heatmap.total.bounds))
    for name, rates in ((INVENTED, heatmap.invented), (LEAKED, heatmap.leaked)):
        if _is_measured(rates):
            yield _HeatmapLine(name, [_format_rate_cell(cell) for cell in rates])


def _is_measured(cells: "Sequence[HeatmapCell]") -> bool:
    return any(cell.mean is not None for cell in cells)


def _format_heatmap_bounds(bounds: "ScoreRange | None") -> str:
    if bounds is None:
        return ""
    figures = format_score(bounds.floor), _pad_mark(format_ceiling(bounds))
    return "".join(
        figure.rjust(len(head)) for figure, head in zip(figures, _BOUND_HEADS, strict=True)
    )


def _format_points_cell(cell: "HeatmapCell") -> _CellLines:
    mean = cell.mean
    if mean is None:
        return f"{NO_DATA} ", ""
    return (
        f"{format_score(mean.value)} ({mean.questions}){_mark_small(mean)}",
        f"{format_range(mean, scale=OF_100, digits=0)} ",
    )


def _format_rate_cell(cell: "HeatmapCell") -> _CellLines:
    rate = cell.mean
    if rate is None:
        return f"{NO_DATA} ", ""
    digits = 1 if rate.high is not None and rate.high < 0.0995 else 0
    return (
        f"{format_rate(rate)}{_mark_small(rate)}",
        f"{format_range(rate, scale=100, digits=digits)} ",
    )


def _mark_small(estimate: "Estimate") -> str:
    # A column of its own, so that figures are aligned with and without it.
    return SMALL_MARK if estimate.is_small else " "


def _format_line(name: str, cells: Sequence[str], cell: int) -> str:
    label = f"{clean_text(name)[: _CATEGORY_WIDTH - 1]:{_CATEGORY_WIDTH}}"
    return label + "".join(f"{words:>{cell}}" for words in cells)


STUB_WARNING = "STUB JUDGE: scores mean nothing"

_MAX_LABELS = 15
"""More checkpoints than this are named in part."""
_MAX_MESSAGE = 300
_MAX_NAMES = 5
_DIGEST_LENGTH = 12


def render_run(folder: RunFolder, summary: Summary, *, width: int = WIDTH) -> str:
    """The run as text."""
    from recall_bench.runs.estimates import RunEstimates

    means = RunEstimates.get(folder)
    parts = [*_render_header(folder, summary, means, width), ""]
    for persona in summary.personas:
        parts += [*_render_persona(persona, summary, means, width), ""]
    if len(summary.personas) > 1:
        title = f"All {len(summary.personas)} personas, by questions"
        parts += [*format_heading(title, rule="═", width=width), ""]
        parts += [*_render_section(None, summary.checkpoints, summary, means, width=width), ""]
    return "\n".join(parts)


def format_progress(part: CheckpointSummary, *, persona: str, index: int, total: int) -> str:
    """One finished checkpoint on one line; `index` counts from 1."""
    tally, clock, digits = part.overall, part.clock, len(str(total))
    score = NO_DATA if tally.share is None else f"{format_number(tally.share * 100, 1)}%"
    line = (
        f"  [bench] [{index:>{digits}}/{total}] {clean_text(persona)} {part.checkpoint.label:>6} "
        f"+{clock.days_fed:>4}d ingest={clock.feeding_s:5.1f}s "
        f"q={tally.owed} (new={part.new} hist={part.older_asked}/{part.older}) "
        f"query={clock.query_s:5.1f}s score={score}"
    )
    if tally.not_answered:
        line += f" unanswered={tally.not_answered}"
    if tally.missing:
        line += f" missing={tally.missing}"
    return line


def format_result(folder: RunFolder, summary: Summary) -> str:
    """The system and the headline on one line."""
    from recall_bench.runs.estimates import RunEstimates

    name = clean_text(folder.plan.system.name)
    return f"{name}: {describe_verdict(summary, RunEstimates.get(folder))}"


def describe_verdict(summary: Summary, means: "RunEstimates") -> str:
    """The headline: the score between silence and ceiling, or why there is none."""
    validity = summary.validity
    match validity.status:
        case RunStatus.VALID:
            return _describe_score(summary, means)
        case RunStatus.INVALID:
            return f"INVALID ({validity.reason})"
        case RunStatus.UNFINISHED:
            return f"UNFINISHED ({validity.reason}); so far {_describe_score(summary, means)}"


def _render_header(
    folder: RunFolder, summary: Summary, means: "RunEstimates", width: int
) -> Iterator[str]:
    yield from format_heading(
        f"Recall Bench · {format_card(folder.plan.system)}", rule="═", width=width
    )
    if summary.is_stub:
        yield STUB_WARNING
    yield ""
    overall, bounds = means.estimate_overall(), means.estimate_range()
    yield from format_fact("Result", describe_verdict(summary, means), width=width)
    if overall is not None:
        yield from format_fact("Intervals", _describe_intervals(overall), width=width)
        if bounds is None and not summary.is_stub:
            yield from format_fact("Silence", NO_BOUNDS, width=width)
        if summary.validity.status is not RunStatus.INVALID:
            yield ""
            yield from render_categories(means.build_heatmap(places=()), width=width)
            yield ""
    for label, words in list_run_facts(folder, summary, means):
        yield from format_fact(label, words, width=width)


def _list_origin_facts(folder: RunFolder) -> Iterator[tuple[str, str]]:
    """Where answers come from if they were not all asked in this run."""
    plan = folder.plan
    if plan.answers_from is not None:
        yield (
            "Answers",
            f"recorded under plan {plan.answers_from[:_DIGEST_LENGTH]}, judged again here",
        )
    if plan.imported is not None:
        yield "Imported", _describe_import(plan.imported)
    if folder.part is not None:
        yield "Part", f"{folder.part} of the plan; the rest is not asked here"


def list_run_facts(
    folder: RunFolder, summary: Summary, means: "RunEstimates"
) -> Iterator[tuple[str, str]]:
    """What was run, how it was judged and how it went, as labels and texts."""
    plan = folder.plan
    if summary.is_stub:
        yield "", STUB_WARNING
    yield "System", format_card(plan.system)
    yield from list_system_facts(folder)
    yield "Judge", _describe_judges(plan)
    if rubrics := describe_rubrics(plan.judge, plan.appellate):
        yield "Rubrics", rubrics
    if plan.appellate is not None:
        yield "Reviews", describe_reviews(summary.reviews, plan, summary.overall)
    if not summary.costs.is_free:
        yield "Cost", describe_costs(summary.costs)
    yield from _list_origin_facts(folder)
    yield "Digests", _describe_digests(plan)
    yield "Code", ", ".join(folder.codes)
    if plan.dataset is None:
        yield "Personas", describe_personas(plan)
        yield "Checkpoints", _describe_checkpoints(plan)
    else:
        yield "Dataset", f"{plan.dataset.name}, by {plan.dataset.protocol}"
        names = join_words([card.id for card in plan.scenarios], most=_MAX_NAMES)
        yield "Histories", f"{len(plan.scenarios):,}: {names}"
    known = "in the dataset" if plan.imported is None else "put"
    yield "Questions", f"{summary.questions} {known}{_describe_sampling(plan)}"
    yield "Trials", _describe_counts(summary.overall)
    yield "Lifecycle", _describe_lifecycle(plan)
    yield (
        "Started",
        f"{folder.started:%Y-%m-%d %H:%M:%S} UTC, took {format_duration(folder.active_s)}",
    )
    if folder.executors != ("one process",):
        yield "Executor", ", then ".join(folder.executors)
    if summary.faults:
        yield (
            "Failures",
            " · ".join(
                f"{count} × {kind}, first: {folder.fault_examples[kind]}"
                for kind, count in summary.faults.items()
            ),
        )
    for persona in summary.personas:
        for failure in persona.feed_failures:
            yield "Feed failed", _describe_feed_failure(failure)
    if summary.disclosures:
        yield "Disclosure", _describe_disclosures(means)
    yield from list_boundary_facts(summary.boundary)


def _render_persona(
    persona: PersonaSummary, summary: Summary, means: "RunEstimates", width: int
) -> Iterator[str]:
    yield from format_heading(f"{persona.id} · {persona.questions} questions", width=width)
    below = [("difficulty", _describe_difficulties(means, persona.id))]
    if kinds := _describe_kinds(means, persona.id):
        below.append(("kind", kinds))
    if persona.disclosures and len(summary.personas) > 1:
        below.append(("disclosure", _describe_disclosures(means, persona.id)))
    yield from _render_section(
        persona.id, persona.checkpoints, summary, means, facts=below, width=width
    )


def _render_section(
    persona: str | None,
    checkpoints: Sequence[CheckpointSummary],
    summary: Summary,
    means: "RunEstimates",
    *,
    facts: Sequence[tuple[str, str]] = (),
    width: int,
) -> Iterator[str]:
    from recall_bench.metrics.estimate import FEW_QUESTIONS

    listed_at = select_table_places(len(checkpoints))
    overall = means.estimate_checkpoints(persona, listed_at)
    heatmap = means.build_heatmap(persona, select_heatmap_places(checkpoints, width=width))
    rows = [checkpoints[place] for place in listed_at]
    yield from render_checkpoint_table(rows, overall, summary, of=len(checkpoints), width=width)
    for label, words in facts:
        yield from format_fact(label, words, width=width)
    yield ""
    yield render_heatmap(heatmap, of=len(checkpoints), width=width)
    if heatmap.has_small or any(mean is not None and mean.is_small for mean in overall):
        yield f"{SMALL_MARK} fewer than {FEW_QUESTIONS} questions: the interval is unreliable"


def _describe_score(summary: Summary, means: "RunEstimates") -> str:
    overall = means.estimate_overall()
    if overall is None:
        return "no score: nothing was measured"
    rates = means.estimate_invented(), means.estimate_leaked()
    headline = describe_headline(overall, means.estimate_range(), *rates)
    labels = summary.plan.labels
    people = "" if labels is None else f" · {describe_labels(labels)}"
    return f"{headline} · {_count_questions(overall)}{people}"


def _count_questions(estimate: "Estimate") -> str:
    mark = f" ({SMALL_MARK})" if estimate.is_small else ""
    return f"{format_quantity(estimate.questions, 'question')}{mark}"


def _describe_intervals(overall: "Estimate") -> str:
    from recall_bench.metrics.bootstrap import SEED
    from recall_bench.metrics.estimate import IntervalMethod

    level = f"{format_number(100 * overall.level, 0)} %"
    if overall.method is IntervalMethod.PERSONAS:
        return f"{level}, bootstrap over personas, within one persona over questions; seed {SEED}"
    return f"{level}, bootstrap over questions to the same personas; seed {SEED}"


def _describe_judges(plan: Plan) -> str:
    words = format_card(plan.judge, plan.judge.model)
    if plan.judge.rules_digest is not None:
        words += f", rules {plan.judge.rules_digest[:8]}"
    if plan.judge_memory_window:
        words += f", shown ±{plan.judge_memory_window} days around the evidence"
    if plan.appellate is not None:
        words += f" · appellate {format_card(plan.appellate, plan.appellate.model)}"
    return words


def _describe_import(card: ImportCard) -> str:
    words = [str(card), *(repair.said for repair in card.repairs)]
    if card.reconstructed:
        words.append("pieced together from logs after the run was killed")
    return " · ".join(words)


def _describe_digests(plan: Plan) -> str:
    digests = plan.dataset_digest, plan.questions_digest, plan.digest
    dataset, questions, whole = (digest[:_DIGEST_LENGTH] for digest in digests)
    return f"dataset {dataset} · questions {questions} · plan {whole}"


def _describe_counts(tally: TrialTally) -> str:
    return (
        f"{tally.owed} owed · {tally.judged} judged · {tally.not_answered} not answered · "
        f"{tally.not_judged} not judged · {tally.open} open"
    )


def describe_personas(plan: Plan) -> str:
    """The personas by name, and the seed that they were drawn from, if any."""
    names = f"{len(plan.scenarios)}: {', '.join(card.id for card in plan.scenarios)}"
    if plan.world is None:
        return names
    seed = plan.world.seed or f"a secret seed that {plan.world.commitment[:12]} commits to"
    return f"{names}, drawn from {'seed ' if plan.world.seed else ''}{seed}"


def _describe_checkpoints(plan: Plan) -> str:
    labels = [checkpoint.label for checkpoint in plan.checkpoints]
    shown = labels if len(labels) <= _MAX_LABELS else [*labels[:3], "…", *labels[-2:]]
    return f"{len(labels)}: {', '.join(shown)}" + (" (dry run: the first)" if plan.dry_run else "")


def _describe_sampling(plan: Plan) -> str:
    words = "" if plan.sample is None else f" · at most {plan.sample} older ones a checkpoint"
    words += f" · each asked {plan.repeats} times" if plan.repeats > 1 else ""
    if plan.dataset is not None:
        return words
    asked = "on" if plan.groups_enabled else "off (--groups-enabled asks them)"
    return f"{words} · group questions {asked}"


def _describe_lifecycle(plan: Plan) -> str:
    words = f"{plan.lifecycle.value} · seed {plan.seed} · calendar from {plan.calendar.value}"
    return words if plan.ingest is Ingest.DAYS else f"{words} · fed {plan.ingest.value}"


def _describe_difficulties(means: "RunEstimates", persona: str) -> str:
    found = means.estimate_by(lambda item: item.truth.difficulty, persona)
    return " · ".join(
        f"{name} {_format_mean(found[name].points if name in found else None)}"
        for name in list_names(found, DIFFICULTIES)
    )


def _describe_kinds(means: "RunEstimates", persona: str) -> str:
    """The score of each kind of memory work, the lowest first; empty if questions have none."""
    found = means.estimate_by(lambda item: item.kind, persona)
    scored = {name: each.points for name, each in found.items() if each.points is not None}
    ordered = sorted(scored, key=lambda name: (scored[name].value, name))
    return " · ".join(f"{name} {_format_mean(scored[name])}" for name in ordered)


def _describe_disclosures(means: "RunEstimates", persona: str | None = None) -> str:
    found = means.estimate_by(_get_disclosure, persona)
    return " · ".join(
        ", ".join([f"{kind.value} {_format_mean(each.points)}", *list_rates(*each[1:])])
        for kind in Disclosure
        if (each := found.get(kind.value)) is not None
    )


def _get_disclosure(item: Item) -> str | None:
    expected = item.truth.disclosure if item.truth.category == BOUNDARY else None
    return None if expected is None else expected.value


def _format_mean(estimate: "Estimate | None") -> str:
    if estimate is None:
        return NO_DATA
    return f"{format_points(estimate, digits=0)} over {_count_questions(estimate)}"


def _describe_feed_failure(failure: FeedFailed) -> str:
    day = "" if failure.day is None else f", day {failure.day}"
    message = failure.message
    if len(message) > _MAX_MESSAGE:
        message = message[:_MAX_MESSAGE] + "…"
    return (
        f"{failure.scenario} at {failure.checkpoint}{day} ({failure.stage}): "
        f"{failure.fault}: {message}"
    )
