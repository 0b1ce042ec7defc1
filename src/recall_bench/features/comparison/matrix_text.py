"""The report of a matrix as text for a terminal and as a Markdown page."""

from collections.abc import Iterable, Iterator, Sequence

from recall_bench.core.plain_text import (
    NO_DATA,
    escape_markdown,
    format_heading,
    format_quantity,
    make_table,
    wrap_text,
)
from recall_bench.core.usage import format_dollars
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.summary import STUB
from recall_bench.features.comparison.matrix_records import (
    MatrixReport,
    SettingReport,
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
from recall_bench.reporting.run_text import STUB_WARNING
from recall_bench.reporting.sections import (
    Section,
    SectionPart,
    SectionTable,
    render_parts,
)
from recall_bench.reporting.sections import render_markdown as render_markdown_parts
from recall_bench.reporting.suites.scorecard import format_cell

_WORDS = frozenset({"dataset", "why", "where", "kind", "best", "worst", "settings", "cell"})
"""Columns that hold words, not figures."""
_DIFFERENCE_HEADS = ("difference", "95 %", "p", "p adj.", "better/same/worse")


def render_text(report: MatrixReport) -> str:
    """Columns of letters."""
    lines = format_heading(f"Recall Bench · matrix {report.name}", rule="═")
    for words in (*list_doubts(report), format_headline(report)):
        lines += wrap_text(words)
    for section in build_sections(report):
        lines += ["", *format_heading(section.title), *render_parts(section.parts)]
    lines += ["", *render_parts(list_notes(report))]
    return "\n".join(lines).rstrip()


def render_markdown(report: MatrixReport, *, picture: str | None = None) -> str:
    """A page; `picture` is the file of its overview, beside it."""
    parts = [f"# {escape_markdown(report.name)}", *map(escape_markdown, list_doubts(report))]
    parts.append(f"{escape_markdown(format_headline(report))}.")
    if picture is not None:
        parts.append(f"![The score of every system in every category]({picture})")
    for section in build_sections(report):
        parts += [f"## {escape_markdown(section.title)}", *render_markdown_parts(section.parts)]
    return "\n\n".join([*parts, *render_markdown_parts(list_notes(report))]) + "\n"


def format_headline(report: MatrixReport) -> str:
    """What was compared on what."""
    systems = {system.system for setting in report.settings for system in setting.systems}
    systems |= {name for scores in report.suites for name in scores.card.systems}
    kind = "dataset" if any(setting.dataset for setting in report.settings) else "setting"
    words = [
        format_quantity(len(systems), "system"),
        format_quantity(len(report.settings), kind),
        f"seed{'s' * (len(report.seeds) > 1)} {', '.join(map(str, report.seeds))}",
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
    if judges := next((system.judges for system in systems if system.judges), None):
        yield describe_judge_column([mean.judge for mean in judges])
    if any(setting.dataset is None for setting in report.settings):
        yield from (f"{note}." for note in list_bound_notes([system.bounds for system in systems]))
    yield (
        "Differences are paired by trial, as in `compare`; the bootstrap resamples questions with "
        "all their trials. p adj.: Holm-adjusted over "
        f"{format_quantity(report.comparisons, 'comparison')} with the baseline in all settings; "
        "*: at most 0.05. The ranking uses these; other pairs of systems are tested too, and "
        "adjusted over all such pairs."
    )
    if any(system.score.is_small for system in systems):
        yield f"!: fewer than {FEW_QUESTIONS} questions; the interval is unreliable."
    is_public = any(setting.dataset is not None for setting in report.settings)
    unit = CONVERSATION if is_public else PERSONA
    yield describe_population(min(system.score.personas for system in systems), unit)


def build_sections(report: MatrixReport) -> Iterator[Section]:
    """What is missing first, then every setting, then settings against each other."""

    def make_section(title: str, *parts: SectionPart) -> Section:
        return Section(name="", title=title, parts=parts)

    if report.judge is not None and report.judge.partition(" ")[0] == STUB:
        yield make_section("Not graded", STUB_WARNING)
    if report.missing:
        are = "is" if len(report.missing) == 1 else "are"
        cells = f"{format_quantity(len(report.missing), 'cell')} {are}"
        rows = [(f"{c.setting}/{c.seed}/{c.system}", c.reason) for c in report.missing]
        words = f"{cells} missing or may not be quoted, and {are} in no figure below."
        yield make_section("Missing", words, _make_table(("cell", "why"), rows))
    if any(setting.dataset is not None for setting in report.settings):
        words = "Of 100, by the score of each dataset's protocol; rows are not comparable."
        yield make_section("Datasets", words, _list_datasets(report))
    for setting in report.settings:
        if setting.systems:
            yield from _build_setting(report, setting)
    for scores in report.suites:
        card = scores.card
        seed = f" by seed {scores.seed}" if len(report.seeds) > 1 else ""
        figures = [
            (f"{suite}: {label}", *(format_cell(card.find(suite, name, s)) for s in card.systems))
            for suite, name, label in card.list_rows()
        ]
        yield make_section(
            f"Setting {scores.setting}: suites{seed}",
            _make_table(("figure", *card.systems), figures),
            "The headline figures, in brackets their 95 % intervals; the page in _scorecard, "
            "beside the cells, has all. `compare` pairs two systems in one suite.",
        )
    if report.between:
        words = "Over the trials that are the same in both, so scores above may differ otherwise."
        yield make_section("Settings against each other", words, *_compare_settings(report))
    for setting in report.settings if len(report.seeds) > 1 else ():
        if setting.systems:
            yield make_section(
                f"{_name_setting(setting)}: by seed",
                _list_seeds(setting, report.seeds),
                "Seeds share their questions: the spread is what order, sample and chance in the "
                "system do, and says nothing of other questions. The interval does.",
            )


def _name_setting(setting: SettingReport) -> str:
    return f"{'Setting' if setting.dataset is None else 'Dataset'} {setting.name}"


def _make_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> SectionTable:
    table = make_table(heads, rows, text=[n for n, head in enumerate(heads) if head in _WORDS])
    return SectionTable(columns=table.columns, rows=table.rows)


def _list_datasets(report: MatrixReport) -> SectionTable:
    """Every dataset a row, every system a column."""
    names = dict.fromkeys(s.system for setting in report.settings for s in setting.systems)
    rows = []
    for setting in report.settings:
        scores = {system.system: system.score for system in setting.systems}
        label = "points" if setting.score is None else setting.score.label
        cells = [
            f"{format_points(scores[name])}{SMALL_MARK * scores[name].is_small}"
            if name in scores
            else NO_DATA
            for name in names
        ]
        questions = next(map(format_count, scores.values()), NO_DATA)
        rows.append((setting.name, label, questions, *cells))
    return _make_table(("dataset", "score", "questions", *names), rows)


def _build_setting(report: MatrixReport, setting: SettingReport) -> Iterator[Section]:
    name = _name_setting(setting)

    def make_section(title: str, *parts: SectionPart) -> Section:
        return Section(name="", title=f"{name}{title}", parts=parts)

    systems = setting.systems
    ranges = {(s.bounds.floor, s.bounds.ceiling) for s in systems if s.bounds is not None}
    notes = []
    if len(ranges) > 1:
        notes.append(
            "Silence or ceiling differ between systems: their trials or their readers do. Compare "
            "the share of the way with care."
        )
    yield make_section("", _list_scores(systems), *notes)
    costs = [
        (
            system.system,
            *map(format_seconds, (system.p50_s, system.p95_s, system.ingest_s)),
            format_dollars(system.usage)
            if system.usage.cost_usd
            else ("?" if system.usage.unpriced else "–"),
            f"{system.not_answered + system.not_judged:,} of {system.owed:,}",
        )
        for system in systems
    ]
    heads = ("system", "p50", "p95", "ingest", "cost", "errors")
    yield make_section(": time, cost and errors", _make_table(heads, costs))
    if setting.against:
        parts = _compare_with_baseline(setting)
        yield make_section(f": against {report.baseline}", *parts, *setting.orders)
    if len(setting.ranking) > 1:
        yield make_section(": ranking", *_describe_ranking(setting))
    if setting.widest:
        gaps = [
            (
                gap.name,
                gap.kind,
                f"{gap.best} {format_number(gap.best_mean * OF_100, 1)}",
                f"{gap.worst} {format_number(gap.worst_mean * OF_100, 1)}",
                format_number((gap.best_mean - gap.worst_mean) * OF_100, 1),
            )
            for gap in setting.widest
        ]
        yield make_section(
            ": where systems differ most",
            _make_table(("where", "kind", "best", "worst", "apart"), gaps),
            "The widest of many gaps: to look at, and to decide nothing by.",
        )


def _list_scores(systems: Sequence[SystemFigures]) -> SectionTable:
    has_judges = any(system.judges for system in systems)
    heads = (
        *("system", "score", "95 %", *([JUDGES_HEAD] if has_judges else [])),
        *("silence", "ceiling", "of the way", "invented", "leaked", "questions"),
    )
    rows = []
    for system in systems:
        bounds, leaked = system.bounds, system.leaked
        score = format_score(system.score.value, 1) + mark_doubt(bounds)
        ends = format_range(system.score, scale=OF_100) or NO_DATA
        judges = [format_judge_range(system.judges) or NO_DATA] if has_judges else []
        way = [NO_DATA] * 3
        if bounds is not None:
            way = [
                *(format_score(bounds.floor, 1), format_ceiling(bounds, 1)),
                describe_place(bounds),
            ]
        leaks = NO_DATA if leaked is None else f"{format_rate(leaked)} of {leaked.trials:,}"
        rates = (format_rate(system.invented), leaks, format_count(system.score))
        rows.append((system.system, score, ends, *judges, *way, *rates))
    return _make_table(heads, rows)


def _compare_with_baseline(setting: SettingReport) -> Iterator[SectionPart]:
    footnotes: list[str] = []
    rows = []
    for pair in setting.against:
        contrast = pair.contrast
        if contrast is None or contrast.is_identical:
            words = (
                pair.refusal
                if contrast is None
                else f"each of the {contrast.owed:,} trials came to the same"
            )
            footnotes.append(f"[{len(footnotes) + 1}] {words}")
        if contrast is None:
            rows.append((f"{pair.system} [{len(footnotes)}]", *[NO_DATA] * 7))
            continue
        mark = f" [{len(footnotes)}]" * contrast.is_identical
        rates = [
            NO_DATA if rate is None else format_delta(100 * rate.comparison.difference.value, 1)
            for rate in (contrast.inventions, contrast.leaks)
        ]
        cells = _format_difference(contrast.overall.comparison)
        rows.append((pair.system + mark, *cells, *rates))
    yield _make_table(("system", *_DIFFERENCE_HEADS, "invented", "leaked"), rows)
    yield from footnotes


def _format_difference(comparison: PairedComparison) -> tuple[str, ...]:
    adjusted = comparison.p_adjusted
    star = "*" * comparison.is_significant
    return (
        format_delta(comparison.difference.value * OF_100, 1),
        format_interval(comparison.difference, 1, OF_100) or NO_DATA,
        format_p(comparison.p_value) + star * (adjusted is None),
        NO_DATA if adjusted is None else format_p(adjusted) + star,
        f"{comparison.wins}/{comparison.ties}/{comparison.losses}",
    )


def _describe_ranking(setting: SettingReport) -> Iterator[str]:
    for place, rank in enumerate(setting.ranking, start=1):
        words = f"{place}. {rank.system} {format_score(rank.score.value, 1)}"
        if (doubt := describe_doubt(rank.bounds)) is not None:
            words += f", {doubt}"
        if rank.alike:
            words += f", not significantly different from {' and '.join(rank.alike)}"
        yield words
    if not any(rank.alike for rank in setting.ranking):
        yield "Every two of them differ significantly."


def _compare_settings(report: MatrixReport) -> Iterator[SectionPart]:
    footnotes: dict[str, int] = {}
    rows = []
    for pair in report.between:
        settings = f"{pair.second} − {pair.first}"
        differences = f"differ in {'; '.join(pair.unlike)}" if pair.unlike else None
        if (note := pair.refusal or differences) is not None:
            settings += f" [{footnotes.setdefault(note, len(footnotes) + 1)}]"
        cells = [NO_DATA] * 5 if pair.comparison is None else _format_difference(pair.comparison)
        rows.append((pair.system, settings, *cells))
    yield _make_table(("system", "settings", *_DIFFERENCE_HEADS), rows)
    yield from (f"[{number}] {note}" for note, number in footnotes.items())


def _list_seeds(setting: SettingReport, seeds: Sequence[int]) -> SectionTable:
    rows = []
    for system in setting.systems:
        scores = {seed_score.seed: seed_score.score.value * OF_100 for seed_score in system.seeds}
        low, high = system.score.low, system.score.high
        rows.append(
            (
                system.system,
                *(format_number(scores[s], 1) if s in scores else NO_DATA for s in seeds),
                NO_DATA if system.spread is None else format_number(system.spread * OF_100, 1),
                NO_DATA
                if low is None or high is None
                else format_number((high - low) / 2 * OF_100, 1),
            )
        )
    heads = ("system", *(f"seed {seed}" for seed in seeds), "spread", "± interval")
    return _make_table(heads, rows)
