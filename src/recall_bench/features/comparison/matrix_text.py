"""The report of a matrix as text for a terminal and as a Markdown page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recall_bench.core import tables
from recall_bench.core.plain_text import NO_DATA, format_heading, format_quantity, wrap_text
from recall_bench.core.tables import Table, escape_markdown, make_table
from recall_bench.core.usage import format_dollars
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.summary import STUB
from recall_bench.features.comparison.matrix_records import (
    BaselineContrast,
    MatrixReport,
    SettingContrast,
    SettingReport,
    SuiteScores,
    SystemFigures,
)
from recall_bench.metrics.comparison import PairedComparison
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.reporting.formats import (
    OF_100,
    SMALL_MARK,
    format_count,
    format_delta,
    format_interval,
    format_number,
    format_p,
    format_points,
    format_range,
    format_score,
    format_seconds,
)
from recall_bench.reporting.groups import CONVERSATION, PERSONA, describe_population
from recall_bench.reporting.headlines import (
    describe_doubt,
    describe_doubts,
    describe_place,
    describe_scale,
    format_ceiling,
    format_rate,
    list_bound_notes,
    mark_doubt,
)
from recall_bench.reporting.judge_scores import (
    JUDGES_HEAD,
    describe_judge_column,
    format_judge_range,
)
from recall_bench.reporting.run_contrast import ContrastPart, is_significant
from recall_bench.reporting.run_text import STUB_WARNING
from recall_bench.reporting.suites.scorecard import format_cell

_SEEDS_SHARE = (
    "Seeds share their questions: the spread is what order, sample and chance in the system do, "
    "and says nothing of other questions. The interval does."
)


_SUITES_NOTE = (
    "The headline figures, in brackets their 95 % intervals; the page in _scorecard, beside the "
    "cells, has all. `compare` pairs two systems in one suite."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSection:
    """A heading with what stands below it, in this order."""

    title: str
    said: tuple[str, ...] = ()
    grid: Table | None = None
    notes: tuple[str, ...] = ()


def build_sections(report: MatrixReport) -> Iterator[MatrixSection]:
    """What is missing first, then every setting, then settings against each other."""
    if report.judge is not None and report.judge.partition(" ")[0] == STUB:
        yield MatrixSection(title="Not graded", said=(STUB_WARNING,))
    if report.missing:
        yield _build_missing(report)
    if any(setting.dataset is not None for setting in report.settings):
        yield _build_datasets(report)
    for setting in report.settings:
        if setting.systems:
            yield from _build_setting(report, setting)
    for scores in report.suites:
        yield _build_suites(report, scores)
    if report.between:
        yield _build_between(report)
    if len(report.seeds) > 1:
        yield from _build_seeds(report)


def format_headline(report: MatrixReport) -> str:
    """What was compared on what."""
    systems = {system.system for setting in report.settings for system in setting.systems}
    systems |= {name for scores in report.suites for name in scores.card.systems}
    words = [
        format_quantity(len(systems), "system"),
        format_quantity(
            len(report.settings),
            "dataset" if any(setting.dataset for setting in report.settings) else "setting",
        ),
        f"seeds {', '.join(map(str, report.seeds))}"
        if len(report.seeds) > 1
        else f"seed {report.seeds[0]}",
    ]
    if report.personas:
        words.append(", ".join(report.personas))
    if report.judge is not None:
        words.append(f"judge {report.judge}")
    return f"{' · '.join(words)} · baseline {report.baseline}"


def list_doubts(report: MatrixReport) -> Iterator[str]:
    """The systems that are no better than silence, a sentence for each setting."""
    for setting in report.settings:
        where = f" (setting {setting.name})" if len(report.settings) > 1 else ""
        for doubt in describe_doubts((system.system, system.bounds) for system in setting.systems):
            yield f"{doubt}{where}."


def list_notes(report: MatrixReport) -> Iterator[str]:
    """What a reader of the tables must know."""
    systems = [system for setting in report.settings for system in setting.systems]
    if not systems:
        return
    for setting in report.settings:
        if setting.score is not None:
            yield f"{setting.name}: {describe_scale(setting.score)}."
    yield (
        f"score: from 0 to 100, the share of the {FULL_MARKS} points of a trial, with its 95 % "
        "interval; a question the system failed at counts as nothing. invented: judged answers "
        "that state what the history does not hold; leaked: answers that disclose what they must "
        "withhold, of those that could. errors: trials not answered or not judged, of all that "
        "are owed."
    )
    if judged := next((system.judges for system in systems if system.judges), None):
        yield describe_judge_column([each.judge for each in judged])
    if any(setting.dataset is None for setting in report.settings):
        yield from (f"{note}." for note in list_bound_notes([system.bounds for system in systems]))
    yield (
        "Differences are paired by trial, as in `compare`; the bootstrap resamples questions with "
        "all their trials. p adj.: Holm-adjusted over "
        f"{format_quantity(report.comparisons, 'comparison')} with the baseline in all settings; "
        "*: at most 0.05. The ranking uses these; other pairs of systems are tested too, and "
        "adjusted over all such pairs."
    )
    estimates = [system.score for system in systems]
    if any(estimate.is_small for estimate in estimates):
        yield f"!: fewer than {FEW_QUESTIONS} questions; the interval is unreliable."
    is_public = any(setting.dataset is not None for setting in report.settings)
    unit = CONVERSATION if is_public else PERSONA
    yield describe_population(min(estimate.personas for estimate in estimates), unit)


def _build_datasets(report: MatrixReport) -> MatrixSection:
    """Every dataset a row, every system a column."""
    names = list(
        dict.fromkeys(system.system for setting in report.settings for system in setting.systems)
    )
    rows = []
    for setting in report.settings:
        found = {system.system: system for system in setting.systems}
        scores = (
            f"{format_points(found[name].score)}{SMALL_MARK if found[name].score.is_small else ''}"
            if name in found
            else NO_DATA
            for name in names
        )
        label = "points" if setting.score is None else setting.score.label
        questions = next((format_count(system.score) for system in setting.systems), NO_DATA)
        rows.append((setting.name, label, questions, *scores))
    return MatrixSection(
        title="Datasets",
        said=("Of 100, by the score of each dataset's protocol; rows are not comparable.",),
        grid=_build_table(("dataset", "score", "questions", *names), rows),
    )


def _name_setting(setting: SettingReport) -> str:
    return f"{'Setting' if setting.dataset is None else 'Dataset'} {setting.name}"


def _build_missing(report: MatrixReport) -> MatrixSection:
    rows = tuple(
        (f"{each.setting}/{each.seed}/{each.system}", each.reason) for each in report.missing
    )
    are = "is" if len(rows) == 1 else "are"
    cells = f"{format_quantity(len(rows), 'cell')} {are}"
    return MatrixSection(
        title="Missing",
        said=(f"{cells} missing or may not be quoted, and {are} in no figure below.",),
        grid=_build_table(("cell", "why"), rows),
    )


def _build_setting(report: MatrixReport, setting: SettingReport) -> Iterator[MatrixSection]:
    title = _name_setting(setting)
    notes = tuple(_compare_ceilings(setting))
    yield MatrixSection(title=title, grid=_build_scores(setting), notes=notes)
    yield MatrixSection(title=f"{title}: time, cost and errors", grid=_build_costs(setting))
    if setting.against:
        yield _build_against(report, setting)
    if len(setting.ranking) > 1:
        yield MatrixSection(title=f"{title}: ranking", said=tuple(_describe_ranking(setting)))
    if setting.widest:
        yield _build_widest(setting)


def _build_scores(setting: SettingReport) -> Table:
    has_judges = any(system.judges for system in setting.systems)
    heads = (
        *("system", "score", "95 %", *([JUDGES_HEAD] if has_judges else [])),
        *("silence", "ceiling", "of the way", "invented", "leaked", "questions"),
    )
    rows = [_make_score_row(system, has_judges=has_judges) for system in setting.systems]
    return _build_table(heads, rows)


def _make_score_row(each: SystemFigures, *, has_judges: bool) -> tuple[str, ...]:
    bounds = each.bounds
    return (
        each.system,
        format_score(each.score.value, 1) + mark_doubt(bounds),
        format_range(each.score, scale=OF_100) or NO_DATA,
        *([format_judge_range(each.judges) or NO_DATA] if has_judges else []),
        NO_DATA if bounds is None else format_score(bounds.floor, 1),
        NO_DATA if bounds is None else format_ceiling(bounds, 1),
        NO_DATA if bounds is None else describe_place(bounds),
        format_rate(each.invented),
        NO_DATA if each.leaked is None else f"{format_rate(each.leaked)} of {each.leaked.trials:,}",
        format_count(each.score),
    )


def _compare_ceilings(setting: SettingReport) -> Iterator[str]:
    """Say where systems have another silence or ceiling, so that they are read by their own."""
    pairs = {
        (system.bounds.floor, system.bounds.ceiling)
        for system in setting.systems
        if system.bounds is not None
    }
    if len(pairs) > 1:
        yield (
            "Silence or ceiling differ between systems: their trials or their readers do. Compare "
            "the share of the way with care."
        )


def _build_costs(setting: SettingReport) -> Table:
    heads = ("system", "p50", "p95", "ingest", "cost", "errors")
    return _build_table(heads, [_make_cost_row(system) for system in setting.systems])


def _make_cost_row(each: SystemFigures) -> tuple[str, ...]:
    errors = each.not_answered + each.not_judged
    return (
        each.system,
        format_seconds(each.p50_s),
        format_seconds(each.p95_s),
        format_seconds(each.ingest_s),
        format_dollars(each.usage)
        if each.usage.cost_usd
        else ("?" if each.usage.unpriced else "–"),
        f"{errors:,} of {each.owed:,}",
    )


def _build_against(report: MatrixReport, setting: SettingReport) -> MatrixSection:
    footnotes: list[str] = []
    rows = tuple(_make_against_row(each, footnotes) for each in setting.against)
    heads = (
        *("system", "difference", "95 %", "p", "p adj.", "better/same/worse"),
        *("invented", "leaked"),
    )
    return MatrixSection(
        title=f"{_name_setting(setting)}: against {report.baseline}",
        grid=_build_table(heads, rows),
        notes=(*footnotes, *setting.orders),
    )


def _make_against_row(each: BaselineContrast, footnotes: list[str]) -> tuple[str, ...]:
    if each.contrast is None:
        footnotes.append(f"[{len(footnotes) + 1}] {each.refusal}")
        return (f"{each.system} [{len(footnotes)}]", *[NO_DATA] * 7)
    found = each.contrast.overall.comparison
    if each.contrast.is_identical:
        footnotes.append(
            f"[{len(footnotes) + 1}] each of the {each.contrast.owed:,} trials came to the same"
        )
    mark = f" [{len(footnotes)}]" if each.contrast.is_identical else ""
    rates = (each.contrast.inventions, each.contrast.leaks)
    return (each.system + mark, *_format_difference(found), *map(_format_rate_change, rates))


def _format_rate_change(rate: ContrastPart | None) -> str:
    """The change of a rate in percentage points."""
    return NO_DATA if rate is None else format_delta(100 * rate.comparison.difference.value, 1)


def _format_difference(found: PairedComparison) -> tuple[str, ...]:
    alone = found.p_adjusted is None
    star = "*" if is_significant(found) else ""
    return (
        format_delta(found.difference.value * OF_100, 1),
        format_interval(found.difference, 1, OF_100) or NO_DATA,
        format_p(found.p_value) + (star if alone else ""),
        NO_DATA if found.p_adjusted is None else format_p(found.p_adjusted) + star,
        f"{found.wins}/{found.ties}/{found.losses}",
    )


def _describe_ranking(setting: SettingReport) -> Iterator[str]:
    for place, each in enumerate(setting.ranking, start=1):
        words = f"{place}. {each.system} {format_score(each.score.value, 1)}"
        if (doubt := describe_doubt(each.bounds)) is not None:
            words += f", {doubt}"
        if each.alike:
            words += f", not significantly different from {' and '.join(each.alike)}"
        yield words
    if not any(each.alike for each in setting.ranking):
        yield "Every two of them differ significantly."


def _build_widest(setting: SettingReport) -> MatrixSection:
    rows = tuple(
        (
            each.name,
            each.kind,
            f"{each.best} {format_number(each.best_mean * OF_100, 1)}",
            f"{each.worst} {format_number(each.worst_mean * OF_100, 1)}",
            format_number((each.best_mean - each.worst_mean) * OF_100, 1),
        )
        for each in setting.widest
    )
    return MatrixSection(
        title=f"{_name_setting(setting)}: where systems differ most",
        grid=_build_table(("where", "kind", "best", "worst", "apart"), rows),
        notes=("The widest of many gaps: to look at, and to decide nothing by.",),
    )


def _build_suites(report: MatrixReport, scores: SuiteScores) -> MatrixSection:
    card = scores.card
    seed = f" by seed {scores.seed}" if len(report.seeds) > 1 else ""
    rows = [
        (
            f"{suite}: {label}",
            *(format_cell(card.find(suite, name, system)) for system in card.systems),
        )
        for suite, name, label in card.list_rows()
    ]
    return MatrixSection(
        title=f"Setting {scores.setting}: suites{seed}",
        grid=_build_table(("figure", *card.systems), rows),
        notes=(_SUITES_NOTE,),
    )


def _build_between(report: MatrixReport) -> MatrixSection:
    footnotes: list[str] = []
    rows = tuple(_make_between_row(each, footnotes) for each in report.between)
    heads = ("system", "settings", "difference", "95 %", "p", "p adj.", "better/same/worse")
    return MatrixSection(
        title="Settings against each other",
        said=("Over the trials that are the same in both, so scores above may differ otherwise.",),
        grid=_build_table(heads, rows),
        notes=tuple(footnotes),
    )


def _make_between_row(each: SettingContrast, footnotes: list[str]) -> tuple[str, ...]:
    said = each.refusal or ("; ".join(each.unlike) if each.unlike else None)
    mark = ""
    if said is not None:
        note = said if each.refusal else f"differ in {said}"
        known = [line.partition("] ")[2] for line in footnotes]
        if note not in known:
            footnotes.append(f"[{len(footnotes) + 1}] {note}")
            known.append(note)
        mark = f" [{known.index(note) + 1}]"
    settings = f"{each.second} − {each.first}{mark}"
    if each.comparison is None:
        return (each.system, settings, *[NO_DATA] * 5)
    return (each.system, settings, *_format_difference(each.comparison))


def _build_seeds(report: MatrixReport) -> Iterator[MatrixSection]:
    for setting in report.settings:
        rows = tuple(_make_seed_row(system, report.seeds) for system in setting.systems)
        if rows:
            heads = ("system", *(f"seed {seed}" for seed in report.seeds), "spread", "± interval")
            yield MatrixSection(
                title=f"{_name_setting(setting)}: by seed",
                grid=_build_table(heads, rows),
                notes=(_SEEDS_SHARE,),
            )


def _make_seed_row(each: SystemFigures, seeds: Sequence[int]) -> tuple[str, ...]:
    values = {one.seed: one.score.value * OF_100 for one in each.seeds}
    score = each.score
    half = None if score.low is None or score.high is None else (score.high - score.low) / 2
    return (
        each.system,
        *(format_number(values[seed], 1) if seed in values else NO_DATA for seed in seeds),
        NO_DATA if each.spread is None else format_number(each.spread * OF_100, 1),
        NO_DATA if half is None else format_number(half * OF_100, 1),
    )


_WORDS = frozenset({"dataset", "why", "where", "kind", "best", "worst", "settings", "cell"})
"""Columns that hold words, not figures."""


def render_text(report: MatrixReport) -> str:
    """Columns of letters."""
    lines = format_heading(f"Recall Bench · matrix {report.name}", rule="═")
    for doubt in list_doubts(report):
        lines += wrap_text(doubt)
    lines += wrap_text(format_headline(report))
    for section in build_sections(report):
        lines += ["", *format_heading(section.title), *_render_section(section)]
    lines.append("")
    for note in list_notes(report):
        lines += wrap_text(note)
    return "\n".join(lines).rstrip()


def render_markdown(report: MatrixReport, *, picture: str | None = None) -> str:
    """A page; `picture` is the file of its overview, beside it."""
    parts = [f"# {escape_markdown(report.name)}", *map(escape_markdown, list_doubts(report))]
    parts.append(f"{escape_markdown(format_headline(report))}.")
    if picture is not None:
        parts.append(f"![The score of every system in every category]({picture})")
    for section in build_sections(report):
        parts.append(f"## {escape_markdown(section.title)}")
        parts += [escape_markdown(line) for line in section.said]
        if section.grid is not None:
            parts.append(tables.render_markdown(section.grid))
        parts += [escape_markdown(note) for note in section.notes]
    parts += [escape_markdown(note) for note in list_notes(report)]
    return "\n\n".join(parts) + "\n"


def _render_section(section: MatrixSection) -> Iterator[str]:
    for line in section.said:
        yield from wrap_text(line)
    if section.grid is not None:
        yield from tables.render_text(section.grid)
    for note in section.notes:
        yield from wrap_text(note, subsequent="    " if note.startswith("[") else "")


def _build_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return make_table(heads, rows, text=[n for n, head in enumerate(heads) if head in _WORDS])
