"""Heatmaps from files of the public format: `result.json` and `progress.jsonl` of any harness."""

import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.json_lines import read_json_lines
from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import BOUNDARY, CATEGORIES, GROUP_CATEGORIES
from recall_bench.core.untrusted_json import decode_untrusted_json, open_regular_file
from recall_bench.engine.runs.heatmap_rows import (
    INVENTED,
    LEAKED,
    NOT_SAME,
    OVERALL,
    SAME_NOTE,
    SAME_QUESTIONS,
    UNGROUNDED,
)
from recall_bench.engine.runs.result_format import (
    CheckpointFigures,
    CheckpointRow,
    ClosingRow,
    HeaderRow,
    MetadataRow,
    ProgressLine,
    RangeRow,
    ResultFigures,
    RunSettingRow,
)
from recall_bench.engine.runs.rows import NOT_MEASURED, Row, RowKind, RowTable
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.engine.runs.summary import (
    STUB,
    RunStatus,
    list_names,
)
from recall_bench.metrics.bootstrap import LEVEL
from recall_bench.metrics.estimate import Estimate, IntervalMethod
from recall_bench.metrics.scale import FRACTION, POINTS, SCALES, SHARE, Scale
from recall_bench.reporting.headlines import describe_headline
from recall_bench.reporting.heatmap.heatmap_data import (
    HeatmapCaption,
    HeatmapData,
    build_run_heatmap,
    describe_resampling,
)

_FigureCount = Annotated[int, Meta(ge=0)]


class _EstimateRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class _StoredEstimate(_EstimateRecord, frozen=True, kw_only=True):
    """An estimate as `format_estimate` writes it."""

    mean: float
    low: float | None
    high: float | None
    method: IntervalMethod
    questions: _FigureCount
    trials: _FigureCount
    missing: _FigureCount

    def read(self, file_factor: float = 1) -> Estimate:
        """The estimate that was written; how many personas it is over is not in the file."""
        return Estimate(
            value=self.mean / file_factor,
            low=None if self.low is None else self.low / file_factor,
            high=None if self.high is None else self.high / file_factor,
            level=LEVEL,
            method=self.method,
            questions=self.questions,
            personas=0,
            trials=self.trials,
            missing=self.missing,
        )


class _StoredRange(_EstimateRecord, frozen=True, kw_only=True):
    """Silence and ceiling of one mean, in points of 6."""

    floor: float
    ceiling: float | None
    gain: _StoredEstimate
    share_of_way: _StoredEstimate | None

    def read(self, score: float) -> ScoreRange:
        return ScoreRange(
            score=score,
            floor=self.floor,
            ceiling=self.ceiling,
            gain=self.gain.read(),
            share=None if self.share_of_way is None else self.share_of_way.read(100),
        )


class _StoredRanges(_EstimateRecord, frozen=True, kw_only=True):
    overall: _StoredRange
    categories: dict[str, _StoredRange]


class _RowHead(_EstimateRecord, frozen=True, kw_only=True):
    """What a field of the checkpoints is."""

    key: str
    name: str
    scale: str
    note: str | None = None
    absent: str = NOT_MEASURED


_OLD_HEADS = (
    _RowHead(key="overall", name=OVERALL, scale=POINTS.name),
    _RowHead(
        key="sameQuestions",
        name=SAME_QUESTIONS,
        scale=POINTS.name,
        note=SAME_NOTE,
        absent=NOT_SAME,
    ),
    _RowHead(key="inventionRate", name=INVENTED, scale=SHARE.name),
    _RowHead(key="leakRate", name=LEAKED, scale=SHARE.name),
)
"""The rows of a file that does not say which it has."""


class _StoredEstimates(_EstimateRecord, frozen=True, kw_only=True):
    """The estimates of a `result.json`, the personas together."""

    seed: int
    rows: tuple[_RowHead, ...] = _OLD_HEADS
    checkpoints: tuple[dict[str, object], ...]
    overall: _StoredEstimate | None = None
    invention_rate: _StoredEstimate | None = None
    leak_rate: _StoredEstimate | None = None
    bounds: _StoredRanges | None = None


class _ResultWithEstimates(ResultFigures, frozen=True, kw_only=True):
    estimates: _StoredEstimates | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeatmapSource:
    """What either file says, in one shape."""

    at: datetime
    adapter: str
    setting: RunSettingRow
    ranges: tuple[RangeRow, ...]
    personas: tuple[str, ...]
    parts: tuple[CheckpointFigures, ...]
    questions: int | None
    invalid: str | None
    estimates: _StoredEstimates | None = None


def load_heatmap(path: Path) -> HeatmapData:
    """The heatmap of a run folder, a `result.json` or a `progress.jsonl`, of any harness."""
    if path.is_dir():
        folder = RunFolder.open(path)
        if folder.plan.unjudged:
            raise UsageError(
                f"{path}: nothing was judged in this run, so there are no marks to draw"
            )
        return build_run_heatmap(folder)
    if not path.exists():
        raise UsageError(
            f"{path}: does not exist; name a run folder, result.json or progress.jsonl"
        )
    return load_progress_heatmap(path) if path.suffix == ".jsonl" else load_result_heatmap(path)


def load_result_heatmap(path: Path) -> HeatmapData:
    """The heatmap of a `result.json`; its question results are passed over unread."""
    try:
        with (
            open_regular_file(path) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
            memoryview(text) as view,
        ):
            found = decode_untrusted_json(view, _ResultWithEstimates)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(f"{path}: is not a result.json ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        return _assemble_result(found)
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: is not a result.json ({error})") from error


def _assemble_result(found: _ResultWithEstimates) -> HeatmapData:
    names = tuple(persona.persona_id for persona in found.personas)
    return _assemble_heatmap(
        _HeatmapSource(
            at=found.timestamp,
            adapter=found.adapter_name,
            setting=found.metadata,
            ranges=found.ranges,
            personas=(*names, *found.metadata.not_started),
            parts=tuple(part for persona in found.personas for part in persona.range_results),
            questions=found.metadata.unique_q_a_pair_count,
            invalid=_read_invalid(found.metadata),
            estimates=found.estimates,
        )
    )


def load_progress_heatmap(path: Path) -> HeatmapData:
    """The heatmap of a `progress.jsonl`, which may stop anywhere."""
    header: HeaderRow | None = None
    closing: ClosingRow | None = None
    parts: dict[tuple[str, str], CheckpointRow] = {}
    lines: Iterator[ProgressLine] = read_json_lines(path, ProgressLine, may_be_torn=True)
    for record in lines:
        match record:
            case HeaderRow():
                header, closing = record, None
            case CheckpointRow():
                parts[record.persona_id, record.range.label] = record
            case ClosingRow():
                closing = record
    if header is None:
        raise DataError(f"{path}: has no header line; it is not a progress.jsonl")
    return _assemble_heatmap(
        _HeatmapSource(
            at=header.timestamp,
            adapter=header.adapter_name,
            setting=header,
            ranges=(*header.ranges, *(part.range for part in parts.values())),
            personas=tuple(dict.fromkeys([*header.personas, *(name for name, _ in parts)])),
            parts=tuple(parts.values()),
            questions=None if closing is None else closing.unique_q_a_pair_count,
            invalid=None if closing is None else _read_invalid(closing),
        )
    )


def _assemble_heatmap(source: _HeatmapSource) -> HeatmapData:
    columns = _list_columns(source)
    table = _build_table(source, columns)
    if source.estimates is not None:
        table = _read_estimates(source.estimates, table)
    caption, total = _read_caption(source), table.total
    estimates = None if source.invalid else source.estimates
    return HeatmapData(
        title=caption.title,
        headline=None
        if estimates is None or total.total is None
        else describe_headline(
            total.total,
            total.bounds,
            *(
                None if rate is None else rate.read(100)
                for rate in (estimates.invention_rate, estimates.leak_rate)
            ),
        ),
        subtitle=caption.subtitle,
        table=table,
        done=sum(part.complete for part in source.parts),
        planned_checkpoints=len(columns) * len(source.personas),
        is_stub=_is_stub(source),
        invalid=source.invalid,
        intervals=None
        if source.estimates is None
        else describe_resampling(table, source.estimates.seed),
        counts_trials=source.estimates is None,
    )


def _build_table(source: _HeatmapSource, columns: Sequence[RangeRow]) -> RowTable:
    """The table that the figures of the public format give: means without intervals."""
    parts = [
        [part for part in source.parts if part.range.label == column.label] for column in columns
    ]
    categories = [
        _make_row(name, POINTS, [[_read_category(part, name) for part in each] for each in parts])
        for name in _list_categories(source)
    ]
    overall = [[_read_overall(part) for part in each] for each in parts]
    rates = [[_read_rate(part) for part in each] for each in parts]
    return RowTable(
        persona=None,
        columns=tuple(Checkpoint(label=column.label, days=column.days) for column in columns),
        rows=(
            *(row.replace(kind=RowKind.CATEGORY) for row in categories),
            _make_row(OVERALL, POINTS, overall).replace(kind=RowKind.TOTAL),
            _make_row(UNGROUNDED, SHARE, rates),
        ),
    )


class _StoredMean(NamedTuple):
    """A mean of one persona without an interval."""

    value: float | None
    trials: int
    eligible: int | None


def _make_row(name: str, scale: Scale, cells: Iterable[Sequence[_StoredMean]]) -> Row:
    """The personas together: the mean weighted by count, the eligible summed."""
    means: list[Estimate | None] = []
    eligible: list[int | None] = []
    for parts in cells:
        counts = [part.eligible for part in parts if part.eligible is not None]
        eligible.append(sum(counts) if counts else None)
        measured = [part for part in parts if part.value is not None and part.trials]
        count = sum(part.trials for part in measured)
        total = sum((part.value or 0.0) * part.trials for part in measured)
        means.append(_make_bare_estimate(total / count, count) if count else None)
    return Row(name=name, scale=scale, cells=tuple(means), eligible=tuple(eligible))


def _make_bare_estimate(value: float, count: int) -> Estimate:
    """A mean of which only the trials are known; they are at least as many as the questions."""
    return Estimate(
        value=value,
        low=None,
        high=None,
        level=LEVEL,
        method=IntervalMethod.NONE,
        questions=count,
        personas=0,
        trials=count,
        missing=0,
    )


def _read_estimates(stored: _StoredEstimates, table: RowTable) -> RowTable:
    """The rows of the estimates, in place of those without intervals."""
    by_label = {str(fields.get("range")): fields for fields in stored.checkpoints}
    checkpoints = [by_label.get(column.label, {}) for column in table.columns]
    categories = [
        msgspec.convert(fields.get("categories", {}), dict[str, _StoredEstimate | None])
        for fields in checkpoints
    ]
    rows = [
        row.replace(
            cells=tuple(
                None if (mean := named.get(row.name)) is None else mean.read()
                for named in categories
            ),
            bounds=_read_bounds(stored, row.name),
        )
        for row in table.categories
    ]
    for head in stored.rows:
        scale = SCALES.get(head.scale, FRACTION)
        cells = [
            msgspec.convert(fields.get(head.key), _StoredEstimate | None) for fields in checkpoints
        ]
        is_total = head.key == "overall"
        if not (is_total or any(cells)):
            continue
        rows.append(
            Row(
                name=head.name,
                kind=RowKind.TOTAL if is_total else RowKind.FIGURE,
                scale=scale,
                cells=tuple(
                    None if mean is None else mean.read(scale.file_factor) for mean in cells
                ),
                eligible=table.total.eligible,
                total=stored.overall.read() if is_total and stored.overall is not None else None,
                bounds=_read_bounds(stored, None) if is_total else None,
                note=head.note,
                absent=head.absent,
            )
        )
    if stored.invention_rate is None:
        # Older files do not tell inventions and leaks apart.
        rows += [row for row in table.rows if row.name == UNGROUNDED]
    return table.replace(rows=tuple(rows))


def _read_bounds(stored: _StoredEstimates, category: str | None) -> ScoreRange | None:
    if stored.bounds is None or stored.overall is None:
        return None
    ends = stored.bounds.overall if category is None else stored.bounds.categories.get(category)
    return None if ends is None else ends.read(stored.overall.mean)


def _list_columns(source: _HeatmapSource) -> list[RangeRow]:
    ranges = source.ranges
    if source.setting.dry_run:
        ranges = tuple(part.range for part in source.parts)
    return sorted({each.label: each for each in ranges}.values(), key=lambda each: each.days)


def _list_categories(source: _HeatmapSource) -> tuple[str, ...]:
    setting = source.setting
    found = (score.category for part in source.parts for score in part.category_scores)
    return tuple(
        name
        for name in list_names(found, CATEGORIES)
        if (setting.groups_enabled or name not in GROUP_CATEGORIES)
        and (setting.knows_asker or name != BOUNDARY)
    )


def _read_caption(source: _HeatmapSource) -> HeatmapCaption:
    setting = source.setting
    judge, appellate = setting.judge, setting.appellate_judge
    return HeatmapCaption(
        system=source.adapter if setting.system is None else str(setting.system),
        personas=source.personas,
        judge=setting.judge_model if judge is None else str(judge),
        appellate=setting.appellate_judge_model if appellate is None else str(appellate),
        at=source.at,
        dataset=setting.dataset_digest,
        plan=setting.plan_digest,
        questions=source.questions,
        trials=sum(part.questions_evaluated for part in source.parts),
        sample=setting.sample,
        judge_memory_window=setting.judge_memory_window,
        groups_enabled=setting.groups_enabled,
        knows_asker=setting.knows_asker,
        is_dry_run=setting.dry_run,
    )


def _is_stub(source: _HeatmapSource) -> bool:
    if source.setting.judge is not None:
        return source.setting.judge.name == STUB
    means = [_read_overall(part) for part in source.parts]
    scores = [mean.value for mean in means if mean.value is not None and mean.trials]
    return source.setting.judge_model is None and bool(scores) and not any(scores)


def _read_invalid(record: MetadataRow | ClosingRow) -> str | None:
    if record.validity != RunStatus.INVALID:
        return None
    return record.invalid_reason or "too many trials failed"


def _read_category(part: CheckpointFigures, name: str) -> _StoredMean:
    for score in part.category_scores:
        if score.category == name:
            return _StoredMean(score.mean_score, score.question_count, score.eligible_count)
    return _StoredMean(None, 0, None)


def _read_overall(part: CheckpointFigures) -> _StoredMean:
    counts = [score.eligible_count for score in part.category_scores]
    eligible = sum(count for count in counts if count is not None)
    return _StoredMean(
        part.overall_score, part.questions_evaluated, None if None in counts else eligible
    )


def _read_rate(part: CheckpointFigures) -> _StoredMean:
    judged = part.questions_evaluated if part.judged is None else part.judged
    rate = part.hallucination_rate
    return _StoredMean(None if rate is None else rate / 100, judged, _read_overall(part).eligible)
