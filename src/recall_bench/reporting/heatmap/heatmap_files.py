"""Heatmaps from files of the public format: `result.json` and `progress.jsonl` of any harness."""

import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.json_lines import read_json_lines
from recall_bench.core.scenario import BOUNDARY, CATEGORIES, GROUP_CATEGORIES
from recall_bench.core.untrusted_file import open_regular_file
from recall_bench.core.untrusted_json import decode_untrusted_json
from recall_bench.metrics.bootstrap import LEVEL
from recall_bench.metrics.estimate import Estimate, IntervalMethod
from recall_bench.reporting.formats import OF_100
from recall_bench.reporting.headlines import INVENTED, LEAKED, UNGROUNDED, describe_headline
from recall_bench.reporting.heatmap.heatmap_data import (
    HeatmapCaption,
    HeatmapData,
    PictureCell,
    RateRow,
    RowBounds,
    build_run_heatmap,
    describe_resampling,
)
from recall_bench.runs.result_format import (
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
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.score_ranges import ScoreRange
from recall_bench.runs.summary import (
    STUB,
    RunStatus,
    list_names,
)

_FigureCount = Annotated[int, Meta(ge=0)]


class _IntervalRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class IntervalFigure(_IntervalRecord, frozen=True, kw_only=True):
    """One mean."""

    mean: float
    low: float | None
    high: float | None
    method: IntervalMethod
    questions: _FigureCount
    trials: _FigureCount
    missing: _FigureCount

    def make_estimate(self, scale: float = 1) -> Estimate:
        """The estimate that was written; how many personas it is over is not in the file."""
        return Estimate(
            value=self.mean * scale,
            low=None if self.low is None else self.low * scale,
            high=None if self.high is None else self.high * scale,
            level=LEVEL,
            method=self.method,
            questions=self.questions,
            personas=0,
            trials=self.trials,
            missing=self.missing,
        )


class BoundsFigure(_IntervalRecord, frozen=True, kw_only=True):
    """Silence and ceiling of one mean, in points of 6."""

    floor: float
    ceiling: float | None
    gain: IntervalFigure
    share_of_way: IntervalFigure | None


class BoundsFigures(_IntervalRecord, frozen=True, kw_only=True):
    """Silence and ceiling of all trials, and by category."""

    overall: BoundsFigure
    categories: dict[str, BoundsFigure]


class CheckpointIntervals(_IntervalRecord, frozen=True, kw_only=True):
    """One checkpoint."""

    range: str = ""
    overall: IntervalFigure | None = None
    same_questions: IntervalFigure | None = None
    hallucination_rate: IntervalFigure | None = None
    invention_rate: IntervalFigure | None = None
    leak_rate: IntervalFigure | None = None
    categories: dict[str, IntervalFigure | None] = {}


class ResultIntervals(_IntervalRecord, frozen=True, kw_only=True):
    """All checkpoints, the personas together."""

    seed: int
    checkpoints: tuple[CheckpointIntervals, ...]
    overall: IntervalFigure | None = None
    invention_rate: IntervalFigure | None = None
    leak_rate: IntervalFigure | None = None
    bounds: BoundsFigures | None = None

    @property
    def has_inventions(self) -> bool:
        """Whether inventions and leaks are counted apart."""
        return self.invention_rate is not None

    def describe(self) -> str | None:
        """The headline; None if nothing was measured."""
        if self.overall is None:
            return None
        rates = (
            None if rate is None else rate.make_estimate(0.01)
            for rate in (self.invention_rate, self.leak_rate)
        )
        return describe_headline(self.overall.make_estimate(), self._read_range(), *rates)

    def _read_range(self) -> ScoreRange | None:
        if self.bounds is None or self.overall is None:
            return None
        found = self.bounds.overall
        share = found.share_of_way
        return ScoreRange(
            score=self.overall.mean,
            floor=found.floor,
            ceiling=found.ceiling,
            gain=found.gain.make_estimate(),
            share=None if share is None else share.make_estimate(0.01),
        )

    @property
    def words(self) -> str | None:
        """How they were made; None if there is none."""
        found = [known.overall for known in self.checkpoints if known.overall is not None]
        return describe_resampling({figure.method for figure in found}, self.seed)

    def select_labels(self, labels: Iterable[str]) -> list[CheckpointIntervals]:
        """What is known of each of these checkpoints, which may be nothing."""
        by_label = {known.range: known for known in self.checkpoints}
        return [by_label.get(label, CheckpointIntervals()) for label in labels]


def join_intervals(
    cells: Iterable[PictureCell], figures: Iterable[IntervalFigure | None], scale: float = 1
) -> tuple[PictureCell, ...]:
    """The cells with their intervals."""
    return tuple(
        cell
        if found is None or cell.score is None
        else replace(
            cell,
            low=None if found.low is None else found.low * scale,
            high=None if found.high is None else found.high * scale,
            questions=found.questions,
            missing=found.missing,
        )
        for cell, found in zip(cells, figures, strict=True)
    )


class _ResultWithIntervals(ResultFigures, frozen=True, kw_only=True):
    estimates: ResultIntervals | None = None


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
    estimates: ResultIntervals | None = None


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
            found = decode_untrusted_json(view, _ResultWithIntervals)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(f"{path}: is not a result.json ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
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
    columns, names = _list_columns(source), _list_categories(source)
    parts = [[part for part in source.parts if part.range.label == label] for label in columns]
    intervals = source.estimates
    known = (
        [CheckpointIntervals() for _ in columns]
        if intervals is None
        else intervals.select_labels(columns)
    )
    caption = _read_caption(source)
    overall = join_intervals(
        (_merge_cells(_build_overall(part) for part in each) for each in parts),
        (each.overall for each in known),
        OF_100,
    )
    bounds = None if intervals is None else intervals.bounds
    return HeatmapData(
        title=caption.title,
        headline=None if intervals is None or source.invalid else intervals.describe(),
        subtitle=caption.subtitle,
        categories=names,
        columns=columns,
        cells=tuple(
            join_intervals(
                (_merge_cells(_find_category(part, name) for part in each) for each in parts),
                (each.categories.get(name) for each in known),
                OF_100,
            )
            for name in names
        ),
        overall=overall,
        rates=_read_rates(known, overall)
        if intervals is not None and intervals.has_inventions
        else (_merge_rates(parts, known),),
        done=sum(part.complete for part in source.parts),
        planned_checkpoints=len(columns) * len(source.personas),
        is_stub=_is_stub(source),
        invalid=source.invalid,
        intervals=None if intervals is None else intervals.words,
        bounds={}
        if bounds is None
        else {name: RowBounds(x.floor, x.ceiling) for name, x in bounds.categories.items()},
        overall_bounds=None
        if bounds is None
        else RowBounds(bounds.overall.floor, bounds.overall.ceiling),
        same=_read_same(known, overall),
    )


def _read_same(
    known: Sequence[CheckpointIntervals], overall: Iterable[PictureCell]
) -> tuple[PictureCell, ...]:
    """The same questions at several checkpoints, as the estimates have them."""
    if all(each.same_questions is None for each in known):
        return ()
    return tuple(
        _read_figure(each.same_questions, cell, OF_100)
        for each, cell in zip(known, overall, strict=True)
    )


def _read_rates(
    known: Iterable[CheckpointIntervals], overall: Iterable[PictureCell]
) -> tuple[RateRow, ...]:
    """Inventions and leaks, as the estimates have them."""
    pairs = list(zip(known, overall, strict=True))
    return (
        RateRow(INVENTED, tuple(_read_figure(each.invention_rate, cell) for each, cell in pairs)),
        RateRow(LEAKED, tuple(_read_figure(each.leak_rate, cell) for each, cell in pairs)),
    )


def _read_figure(
    found: IntervalFigure | None, overall: PictureCell, scale: float = 1
) -> PictureCell:
    empty = PictureCell(score=None, count=0, eligible=overall.eligible)
    if found is None:
        return empty
    cell = replace(empty, score=found.mean * scale, count=found.trials)
    return join_intervals([cell], [found], scale)[0]


def _merge_rates(
    parts: Iterable[Sequence[CheckpointFigures]], known: Iterable[CheckpointIntervals]
) -> RateRow:
    """Inventions and leaks together, as the public format has them."""
    cells = join_intervals(
        (_merge_cells(_build_rate(part) for part in each) for each in parts),
        (each.hallucination_rate for each in known),
    )
    return RateRow(UNGROUNDED, cells)


def _list_columns(source: _HeatmapSource) -> tuple[str, ...]:
    days = {each.label: each.days for each in source.ranges}
    if source.setting.dry_run:
        days = {part.range.label: part.range.days for part in source.parts}
    return tuple(sorted(days, key=lambda label: days[label]))


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
    overall = [_build_overall(part).score for part in source.parts]
    scores = [score for score in overall if score is not None]
    return source.setting.judge_model is None and bool(scores) and not any(scores)


def _read_invalid(record: MetadataRow | ClosingRow) -> str | None:
    if record.validity != RunStatus.INVALID:
        return None
    return record.invalid_reason or "too many trials failed"


def _find_category(part: CheckpointFigures, name: str) -> PictureCell:
    for found in part.category_scores:
        if found.category == name:
            return _build_score(found.mean_score, found.question_count, found.eligible_count)
    return PictureCell(score=None, count=0)


def _build_overall(part: CheckpointFigures) -> PictureCell:
    known = [score.eligible_count for score in part.category_scores]
    eligible = sum(count for count in known if count is not None)
    return _build_score(
        part.overall_score, part.questions_evaluated, None if None in known else eligible
    )


def _build_rate(part: CheckpointFigures) -> PictureCell:
    judged = part.questions_evaluated if part.judged is None else part.judged
    return _build_cell(part.hallucination_rate, judged, _build_overall(part).eligible)


def _merge_cells(cells: Iterable[PictureCell]) -> PictureCell:
    """Several personas' cells as one: the mean weighted by count, the eligible summed."""
    parts = list(cells)
    known = [cell.eligible for cell in parts if cell.eligible is not None]
    count = sum(cell.count for cell in parts)
    points = sum((cell.score or 0.0) * cell.count for cell in parts)
    return PictureCell(
        score=points / count if count else None,
        count=count,
        eligible=sum(known) if known else None,
    )


def _build_score(marks: float | None, count: int, eligible: int | None) -> PictureCell:
    return _build_cell(None if marks is None else marks * OF_100, count, eligible)


def _build_cell(score: float | None, count: int, eligible: int | None) -> PictureCell:
    if score is None or count == 0:
        return PictureCell(score=None, count=0, eligible=eligible)
    return PictureCell(score=score, count=count, eligible=eligible)
