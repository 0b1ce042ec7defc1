"""Heatmaps from files of the public format: `result.json` and `progress.jsonl` of any harness."""

import mmap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

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
    NOT_MEASURED,
    NOT_SAME,
    OVERALL,
    SAME_NOTE,
    SAME_QUESTIONS,
    UNGROUNDED,
    Row,
    RowKind,
    RowTable,
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
    """Something within the estimates of a `result.json`."""


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
            result = decode_untrusted_json(view, _ResultWithEstimates)
        names = tuple(persona.persona_id for persona in result.personas)
        return _HeatmapSource(
            at=result.timestamp,
            adapter=result.adapter_name,
            setting=result.metadata,
            ranges=result.ranges,
            personas=(*names, *result.metadata.not_started),
            parts=tuple(part for persona in result.personas for part in persona.range_results),
            closing=result.metadata,
            estimates=result.estimates,
        ).build()
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(f"{path}: is not a result.json ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


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
    return _HeatmapSource(
        at=header.timestamp,
        adapter=header.adapter_name,
        setting=header,
        ranges=(*header.ranges, *(part.range for part in parts.values())),
        personas=tuple(dict.fromkeys([*header.personas, *(name for name, _ in parts)])),
        parts=tuple(parts.values()),
        closing=closing,
    ).build()


_BareMean = tuple[float | None, int, int | None]
"""A mean of one persona without an interval, its trials, and the questions there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeatmapSource:
    """What either file says, in one shape."""

    at: datetime
    adapter: str
    setting: RunSettingRow
    ranges: tuple[RangeRow, ...]
    personas: tuple[str, ...]
    parts: tuple[CheckpointFigures, ...]
    closing: MetadataRow | ClosingRow | None
    """What is known at the end; None before it."""
    estimates: _StoredEstimates | None = None

    def build(self) -> HeatmapData:
        """The heatmap."""
        table = self._build_table()
        estimates, closing, invalid = self.estimates, self.closing, None
        if closing is not None and closing.validity == RunStatus.INVALID:
            invalid = closing.invalid_reason or "too many trials failed"
        headline = None
        if estimates is not None:
            table = _read_rows(estimates, table)
            stored = estimates.invention_rate, estimates.leak_rate
            rates = (None if rate is None else rate.read(100) for rate in stored)
            total = table.total
            if total.total is not None and invalid is None:
                headline = describe_headline(total.total, total.bounds, *rates)
        caption = self._read_caption()
        return HeatmapData(
            title=caption.title,
            headline=headline,
            subtitle=caption.subtitle,
            table=table,
            done=sum(part.complete for part in self.parts),
            planned_checkpoints=len(table.columns) * len(self.personas),
            is_stub=self._is_stub(),
            invalid=invalid,
            intervals=None if estimates is None else describe_resampling(table, estimates.seed),
            counts_trials=estimates is None,
        )

    def _build_table(self) -> RowTable:
        """The table that the figures of the public format give: means without intervals."""
        setting = self.setting
        ranges = tuple(part.range for part in self.parts) if setting.dry_run else self.ranges
        by_label = {column.label: column for column in ranges}
        columns = sorted(by_label.values(), key=lambda each: each.days)
        parts = [
            [part for part in self.parts if part.range.label == column.label] for column in columns
        ]
        named = (score.category for part in self.parts for score in part.category_scores)
        categories = [
            name
            for name in list_names(named, CATEGORIES)
            if (setting.groups_enabled or name not in GROUP_CATEGORIES)
            and (setting.knows_asker or name != BOUNDARY)
        ]
        rows = [
            _make_row(name, POINTS, parts, partial(_read_category, name=name)).replace(
                kind=RowKind.CATEGORY
            )
            for name in categories
        ]
        total = _make_row(OVERALL, POINTS, parts, _read_overall).replace(kind=RowKind.TOTAL)
        return RowTable(
            persona=None,
            columns=tuple(Checkpoint(label=column.label, days=column.days) for column in columns),
            rows=(*rows, total, _make_row(UNGROUNDED, SHARE, parts, _read_rate)),
        )

    def _is_stub(self) -> bool:
        if self.setting.judge is not None:
            return self.setting.judge.name == STUB
        means = [part.overall_score for part in self.parts if part.questions_evaluated]
        scores = [mean for mean in means if mean is not None]
        return self.setting.judge_model is None and bool(scores) and not any(scores)

    def _read_caption(self) -> HeatmapCaption:
        setting, closing = self.setting, self.closing
        judge, appellate = setting.judge, setting.appellate_judge
        return HeatmapCaption(
            system=self.adapter if setting.system is None else str(setting.system),
            personas=self.personas,
            judge=setting.judge_model if judge is None else str(judge),
            appellate=setting.appellate_judge_model if appellate is None else str(appellate),
            at=self.at,
            dataset=setting.dataset_digest,
            plan=setting.plan_digest,
            questions=None if closing is None else closing.unique_q_a_pair_count,
            trials=sum(part.questions_evaluated for part in self.parts),
            sample=setting.sample,
            judge_memory_window=setting.judge_memory_window,
            groups_enabled=setting.groups_enabled,
            knows_asker=setting.knows_asker,
            is_dry_run=setting.dry_run,
        )


def _read_category(part: CheckpointFigures, name: str) -> _BareMean:
    for score in part.category_scores:
        if score.category == name:
            return score.mean_score, score.question_count, score.eligible_count
    return None, 0, None


def _read_overall(part: CheckpointFigures) -> _BareMean:
    counts = [score.eligible_count for score in part.category_scores]
    eligible = sum(count for count in counts if count is not None)
    return part.overall_score, part.questions_evaluated, None if None in counts else eligible


def _read_rate(part: CheckpointFigures) -> _BareMean:
    judged = part.questions_evaluated if part.judged is None else part.judged
    rate = part.hallucination_rate
    return None if rate is None else rate / 100, judged, _read_overall(part)[2]


def _make_row(
    name: str,
    scale: Scale,
    columns: Sequence[Sequence[CheckpointFigures]],
    read: Callable[[CheckpointFigures], _BareMean],
) -> Row:
    """The personas together: the mean weighted by count, the eligible summed."""
    cells: list[Estimate | None] = []
    eligible: list[int | None] = []
    for parts in columns:
        means = [read(part) for part in parts]
        questions = [count for _, _, count in means if count is not None]
        eligible.append(sum(questions) if questions else None)
        measured = [(mean, trials) for mean, trials, _ in means if mean is not None and trials]
        count = sum(trials for _, trials in measured)
        if not count:
            cells.append(None)
            continue
        cells.append(
            Estimate(
                value=sum(mean * trials for mean, trials in measured) / count,
                low=None,
                high=None,
                level=LEVEL,
                method=IntervalMethod.NONE,
                # Only the trials are known; they are at least as many as the questions.
                questions=count,
                personas=0,
                trials=count,
                missing=0,
            )
        )
    return Row(name=name, scale=scale, cells=tuple(cells), eligible=tuple(eligible))


def _read_rows(stored: _StoredEstimates, table: RowTable) -> RowTable:
    """The rows of the estimates, in place of those without intervals."""
    by_label = {str(fields.get("range")): fields for fields in stored.checkpoints}
    checkpoints = [by_label.get(column.label, {}) for column in table.columns]
    categories = [
        msgspec.convert(fields.get("categories", {}), dict[str, _StoredEstimate | None])
        for fields in checkpoints
    ]

    def read_bounds(category: str | None) -> ScoreRange | None:
        if stored.bounds is None or stored.overall is None:
            return None
        of_categories, overall = stored.bounds.categories, stored.bounds.overall
        ends = overall if category is None else of_categories.get(category)
        return None if ends is None else ends.read(stored.overall.mean)

    rows = []
    for row in table.categories:
        means = (named.get(row.name) for named in categories)
        cells = tuple(None if mean is None else mean.read() for mean in means)
        rows.append(row.replace(cells=cells, bounds=read_bounds(row.name)))
    for head in stored.rows:
        scale, is_total = SCALES.get(head.scale, FRACTION), head.key == "overall"
        figures = [
            msgspec.convert(fields.get(head.key), _StoredEstimate | None) for fields in checkpoints
        ]
        if is_total or any(figures):
            rows.append(
                Row(
                    name=head.name,
                    kind=RowKind.TOTAL if is_total else RowKind.FIGURE,
                    scale=scale,
                    cells=tuple(
                        None if mean is None else mean.read(scale.file_factor) for mean in figures
                    ),
                    eligible=table.total.eligible,
                    total=stored.overall.read() if is_total and stored.overall else None,
                    bounds=read_bounds(None) if is_total else None,
                    note=head.note,
                    absent=head.absent,
                )
            )
    if stored.invention_rate is None:
        # Older files do not tell inventions and leaks apart.
        rows += [row for row in table.rows if row.name == UNGROUNDED]
    return table.replace(rows=tuple(rows))
