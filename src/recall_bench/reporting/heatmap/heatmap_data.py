"""The data of a heatmap picture, from a run folder or from files of the public format."""

import mmap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.memory import Asker
from recall_bench.core.scenario import BOUNDARY, CATEGORIES, GROUP_CATEGORIES
from recall_bench.metrics.bootstrap import LEVEL, SEED
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate, IntervalMethod
from recall_bench.reporting.formats import OF_100, format_card
from recall_bench.reporting.headlines import describe_headline
from recall_bench.runs.estimates import Heatmap, HeatmapCell, RunEstimates
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
    PersonaSummary,
    RunStatus,
    Summary,
    list_names,
    summarise,
)

INVENTED: Final = "invented"
LEAKED: Final = "leaked"
UNGROUNDED: Final = "invented or leaked"


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureCell:
    """One measurement."""

    score: float | None
    """Mean points of 100, or percent of answers; None if nothing was measured."""
    count: int
    """How many trials the mean is over."""
    eligible: int | None = None
    """Questions that the story supports by then; None if unknown."""
    low: float | None = None
    high: float | None = None
    """The ends of the 95 % interval, or neither if there is none."""
    questions: int | None = None
    """Different questions asked; None if unknown."""
    missing: int | None = None
    """Trials owed that are not in the mean; None if unknown."""

    @property
    def is_small(self) -> bool:
        """Whether it is over too few questions for a reliable interval.

        Where questions were not counted, the trials are an upper bound.
        """
        asked = self.count if self.questions is None else self.questions
        return self.score is not None and asked < FEW_QUESTIONS


class RowBounds(NamedTuple):
    """Silence and ceiling of a row, over all checkpoints together, in points of 6."""

    floor: float
    ceiling: float | None


class RateRow(NamedTuple):
    """Answers of one kind, in percent."""

    name: str
    cells: tuple[PictureCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapData:
    """Everything that a picture shows."""

    title: str
    headline: str | None = None
    """The score between silence and ceiling, and what is invented and leaked."""
    subtitle: tuple[str, ...]
    categories: tuple[str, ...]
    columns: tuple[str, ...]
    """Checkpoint labels, by days."""
    cells: tuple[tuple[PictureCell, ...], ...]
    """One row for each category, one cell for each column."""
    overall: tuple[PictureCell, ...]
    rates: tuple[RateRow, ...]
    """What is invented and leaked, or both together where a file does not tell them apart."""
    done: int
    """Checkpoints with nothing left to do, over all personas."""
    planned_checkpoints: int
    """Planned checkpoints, over all personas."""
    is_stub: bool = False
    invalid: str | None = None
    """Why the scores must not be quoted."""
    intervals: str | None = None
    """How intervals were computed; None if there are none."""
    bounds: Mapping[str, RowBounds] = field(default_factory=dict)
    """By category; empty where they were not computed."""
    overall_bounds: RowBounds | None = None

    @property
    def all_cells(self) -> tuple[PictureCell, ...]:
        """Every cell of every row."""
        rows = (*self.cells, self.overall, *(rate.cells for rate in self.rates))
        return tuple(cell for row in rows for cell in row)


DIGEST_DIGITS = 12
"""Digits of a digest that are shown."""

_MAX_NAMES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapCaption:
    """The facts above a picture; None where unknown."""

    system: str
    personas: tuple[str, ...]
    judge: str | None
    appellate: str | None
    at: datetime
    dataset: str | None
    plan: str | None
    questions: int | None
    trials: int
    sample: int | None
    judge_memory_window: int
    groups_enabled: bool
    knows_asker: bool = True
    is_dry_run: bool = False

    @property
    def title(self) -> str:
        """The headline."""
        return f"{self.system}: recall by category and checkpoint"

    @property
    def subtitle(self) -> tuple[str, ...]:
        """Two lines of small print."""
        return " · ".join(self._describe_setup()), " · ".join(self._describe_dataset())

    def _describe_setup(self) -> Iterable[str]:
        names = ", ".join(self.personas[:_MAX_NAMES])
        rest = len(self.personas) - _MAX_NAMES
        yield (
            f"Persona {names}"
            if len(self.personas) == 1
            else (
                f"{len(self.personas)} personas"
                + (f": {names}" if names else "")
                + (f" and {rest} more" if rest > 0 else "")
            )
        )
        yield f"judge {self.judge or 'not stated'}"
        if self.judge_memory_window:
            yield f"shown ±{self.judge_memory_window} days"
        if self.appellate is not None:
            yield f"appellate {self.appellate}"
        yield f"{self.at:%Y-%m-%d}"

    def _describe_dataset(self) -> Iterable[str]:
        yield f"Dataset {self.dataset[:DIGEST_DIGITS] if self.dataset else 'digest not stated'}"
        if self.plan is not None:
            yield f"plan {self.plan[:DIGEST_DIGITS]}"
        if self.questions is not None:
            yield f"{self.questions:,} questions in the dataset"
        yield f"{self.trials:,} trials counted"
        if self.sample is not None:
            yield f"at most {self.sample} older questions per checkpoint"
        groups = f"group questions {'on' if self.groups_enabled else 'off'}"
        if self.groups_enabled and not self.knows_asker:
            groups += ", boundaries not applicable: the system cannot know who asks"
        yield groups
        if self.is_dry_run:
            yield "dry run: first checkpoint only"


def build_run_heatmap(folder: RunFolder, summary: Summary | None = None) -> HeatmapData:
    """The heatmap of a run as far as it is done, over all personas."""
    return build_heatmap(
        folder, summary or summarise(folder), RunEstimates.get(folder).build_heatmap()
    )


def build_heatmap(folder: RunFolder, summary: Summary, heatmap: Heatmap) -> HeatmapData:
    """A heatmap of one persona, or of all together."""
    invalid = summary.validity.status is RunStatus.INVALID
    parts = [each for each in summary.personas if heatmap.persona in (None, each.id)]
    caption = _build_caption(folder, parts, heatmap.persona)
    return HeatmapData(
        title=caption.title,
        headline=None if invalid else _describe_run(folder, heatmap),
        subtitle=caption.subtitle,
        categories=tuple(row.category for row in heatmap.rows),
        columns=tuple(checkpoint.label for checkpoint in heatmap.columns),
        cells=tuple(_convert_cells(row.cells, scale=OF_100) for row in heatmap.rows),
        overall=_convert_cells(heatmap.overall, scale=OF_100),
        rates=(
            RateRow(INVENTED, _convert_cells(heatmap.invented, scale=100)),
            RateRow(LEAKED, _convert_cells(heatmap.leaked, scale=100)),
        ),
        done=sum(part.is_done for each in parts for part in each.checkpoints),
        planned_checkpoints=summary.planned_checkpoints
        if heatmap.persona is None
        else len(parts[0].checkpoints),
        is_stub=summary.is_stub,
        invalid=summary.validity.reason if invalid else None,
        intervals=describe_resampling({c.mean.method for c in heatmap.overall if c.mean}, SEED),
        bounds={
            row.category: RowBounds(found.floor, found.ceiling)
            for row in heatmap.rows
            if (found := row.total.bounds) is not None
        },
        overall_bounds=None
        if (whole := heatmap.total.bounds) is None
        else RowBounds(whole.floor, whole.ceiling),
    )


def _describe_run(folder: RunFolder, heatmap: Heatmap) -> str | None:
    means, persona = RunEstimates.get(folder), heatmap.persona
    if heatmap.total.mean is None:
        return None
    rates = means.estimate_invented(persona), means.estimate_leaked(persona)
    return describe_headline(heatmap.total.mean, heatmap.total.bounds, *rates)


def _build_caption(
    folder: RunFolder, parts: Sequence[PersonaSummary], persona: str | None
) -> HeatmapCaption:
    plan = folder.plan
    planned = tuple(card.id for card in plan.scenarios)
    return HeatmapCaption(
        system=format_card(plan.system),
        personas=planned if persona is None else (persona,),
        judge=format_card(plan.judge, plan.judge.model),
        appellate=None
        if plan.appellate is None
        else format_card(plan.appellate, plan.appellate.model),
        at=folder.started,
        dataset=plan.dataset_digest,
        plan=plan.digest,
        questions=sum(each.questions for each in parts),
        trials=sum(each.overall.counted for each in parts),
        sample=plan.sample,
        judge_memory_window=plan.judge_memory_window,
        groups_enabled=plan.groups_enabled,
        knows_asker=plan.system.asker is not Asker.UNTOLD,
        is_dry_run=plan.dry_run,
    )


def _convert_cells(cells: Iterable[HeatmapCell], *, scale: float) -> tuple[PictureCell, ...]:
    return tuple(_convert_cell(cell, scale) for cell in cells)


def _convert_cell(cell: HeatmapCell, scale: float) -> PictureCell:
    found = cell.mean
    if found is None:
        return PictureCell(score=None, count=0, eligible=cell.eligible)
    return PictureCell(
        score=scale * found.value,
        count=found.trials,
        eligible=cell.eligible,
        low=None if found.low is None else scale * found.low,
        high=None if found.high is None else scale * found.high,
        questions=found.questions,
        missing=found.missing,
    )


def describe_resampling(methods: Collection[IntervalMethod], seed: int) -> str | None:
    """How intervals were computed, in a few words; None if there are none."""
    if set(methods) <= {IntervalMethod.NONE}:
        return None
    drawn = "personas" if IntervalMethod.PERSONAS in methods else "questions"
    return f"95 % bootstrap interval over {drawn} (seed {seed})"


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
        """Whether inventions are told apart from leaks."""
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
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            found = msgspec.json.decode(memoryview(text), type=_ResultWithIntervals)
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
    for record in _read_records(path):
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


def _read_records(path: Path) -> Iterator[ProgressLine]:
    decoder: msgspec.json.Decoder[ProgressLine] = msgspec.json.Decoder(ProgressLine)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield decoder.decode(line)
                except (msgspec.DecodeError, ValueError) as error:
                    if not line.endswith(b"\n"):
                        return
                    raise DataError(f"{path}, line {number}: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


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
    )


def _read_rates(
    known: Iterable[CheckpointIntervals], overall: Iterable[PictureCell]
) -> tuple[RateRow, ...]:
    """Inventions and leaks, as the estimates have them."""
    pairs = list(zip(known, overall, strict=True))
    return (
        RateRow(INVENTED, tuple(_read_rate(each.invention_rate, cell) for each, cell in pairs)),
        RateRow(LEAKED, tuple(_read_rate(each.leak_rate, cell) for each, cell in pairs)),
    )


def _read_rate(found: IntervalFigure | None, overall: PictureCell) -> PictureCell:
    if found is None:
        return PictureCell(score=None, count=0, eligible=overall.eligible)
    return PictureCell(
        score=found.mean,
        count=found.trials,
        eligible=overall.eligible,
        low=found.low,
        high=found.high,
        questions=found.questions,
        missing=found.missing,
    )


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
