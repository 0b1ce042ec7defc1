"""Heatmaps from what is on disk: a run folder, a `result.json`, a `progress.jsonl`.

The two files may be ours or the public harness's. Its files shape this reader in four ways:

* It lists its ranges as configured; columns go by days, and cells are found by label.
* It writes a mean of 0 beside a count of 0: that is no measurement.
* A continued run repeats its header and may repeat checkpoints: the later line holds.
* A run without a judge leaves the judge out and scores everything 0: that is its stub.
"""

import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from recall_bench.core.memory import Asker
from recall_bench.core.question import BOUNDARY, CATEGORIES, GROUP_CATEGORIES
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.errors import DataError, UsageError
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.heatmap.caption import Caption
from recall_bench.reporting.heatmap.cells import Cell, HeatmapData
from recall_bench.reporting.heatmap.intervals import Intervals, Known, joined
from recall_bench.reporting.heatmap.measured import heatmap_of_run
from recall_bench.reporting.summary import STUB, Status, listed

__all__ = ["heatmap_of", "heatmap_of_progress", "heatmap_of_result", "heatmap_of_run"]

_Score = Annotated[float, Meta(ge=0, le=FULL_MARKS)]
_Percent = Annotated[float, Meta(ge=0, le=100)]
_Count = Annotated[int, Meta(ge=0)]


class _Read(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class _Range(_Read, frozen=True, kw_only=True):
    label: str
    days: _Count


class _CategoryScore(_Read, frozen=True, kw_only=True):
    category: str
    mean_score: _Score | None
    question_count: _Count
    eligible_count: _Count | None = None


class _Part(_Read, frozen=True, kw_only=True):
    range: _Range
    questions_evaluated: _Count
    overall_score: _Score | None
    hallucination_rate: _Percent | None
    category_scores: tuple[_CategoryScore, ...]
    judged: _Count | None = None
    complete: bool = True

    @property
    def overall(self) -> Cell:
        known = [score.eligible_count for score in self.category_scores]
        eligible = sum(count for count in known if count is not None)
        return _cell(
            self.overall_score, self.questions_evaluated, None if None in known else eligible
        )

    @property
    def rate(self) -> Cell:
        judged = self.questions_evaluated if self.judged is None else self.judged
        return _cell(self.hallucination_rate, judged, self.overall.eligible)


class _Card(_Read, frozen=True, kw_only=True):
    name: str
    version: str
    model: str | None = None
    asker: str | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.version}" + (f" ({self.model})" if self.model else "")


class _Setting(_Read, frozen=True, kw_only=True):
    """What headers and metadata have in common."""

    sample: int | None = None
    judge_memory_window: int = 0
    groups_enabled: bool = False
    judge_model: str | None = None
    appellate_judge_model: str | None = None
    dataset_digest: str | None = None
    plan_digest: str | None = None
    system: _Card | None = None
    judge: _Card | None = None
    appellate_judge: _Card | None = None
    dry_run: bool = False

    @property
    def knows_asker(self) -> bool:
        """Whether questions about boundaries apply to the system."""
        return self.system is None or self.system.asker != Asker.UNTOLD


class _Metadata(_Setting, frozen=True, kw_only=True):
    unique_q_a_pair_count: _Count | None = msgspec.field(default=None, name="uniqueQAPairCount")
    validity: str | None = None
    invalid_reason: str | None = None
    not_started: tuple[str, ...] = ()


class _Persona(_Read, frozen=True, kw_only=True):
    persona_id: str
    range_results: tuple[_Part, ...]


class _Result(_Read, frozen=True, kw_only=True):
    timestamp: datetime
    adapter_name: str
    ranges: tuple[_Range, ...]
    personas: tuple[_Persona, ...]
    metadata: _Metadata
    estimates: Intervals | None = None


class _Header(_Setting, frozen=True, kw_only=True, tag_field="type", tag="header"):
    timestamp: datetime
    adapter_name: str
    ranges: tuple[_Range, ...]
    personas: tuple[str, ...] = ()


class _Checkpoint(_Part, frozen=True, kw_only=True, tag_field="type", tag="checkpoint"):
    persona_id: str


class _Closing(_Read, frozen=True, kw_only=True, tag_field="type", tag="summary"):
    unique_q_a_pair_count: _Count | None = msgspec.field(default=None, name="uniqueQAPairCount")
    validity: str | None = None
    invalid_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What either file says, in one shape."""

    at: datetime
    adapter: str
    setting: _Setting
    ranges: tuple[_Range, ...]
    personas: tuple[str, ...]
    parts: tuple[_Part, ...]
    questions: int | None
    invalid: str | None
    estimates: Intervals | None = None


def heatmap_of(path: Path) -> HeatmapData:
    """The heatmap of a run folder, a `result.json` or a `progress.jsonl`, whoever wrote it."""
    if path.is_dir():
        folder = RunFolder.open(path)
        if folder.plan.unjudged:
            raise UsageError(
                f"{path}: nothing was judged in this run, so there are no marks to draw"
            )
        return heatmap_of_run(folder)
    if not path.exists():
        raise UsageError(
            f"{path}: does not exist; name a run folder, result.json or progress.jsonl"
        )
    return heatmap_of_progress(path) if path.suffix == ".jsonl" else heatmap_of_result(path)


def heatmap_of_result(path: Path) -> HeatmapData:
    """The heatmap of a `result.json`; its question results are passed over unread."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            found = msgspec.json.decode(memoryview(text), type=_Result)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(f"{path}: is not a result.json ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    names = tuple(persona.persona_id for persona in found.personas)
    return _assembled(
        _Source(
            at=found.timestamp,
            adapter=found.adapter_name,
            setting=found.metadata,
            ranges=found.ranges,
            personas=(*names, *found.metadata.not_started),
            parts=tuple(part for persona in found.personas for part in persona.range_results),
            questions=found.metadata.unique_q_a_pair_count,
            invalid=_invalid(found.metadata),
            estimates=found.estimates,
        )
    )


def heatmap_of_progress(path: Path) -> HeatmapData:
    """The heatmap of a `progress.jsonl`, which may stop anywhere."""
    header: _Header | None = None
    closing: _Closing | None = None
    parts: dict[tuple[str, str], _Checkpoint] = {}
    for record in _records(path):
        match record:
            case _Header():
                header, closing = record, None
            case _Checkpoint():
                parts[record.persona_id, record.range.label] = record
            case _Closing():
                closing = record
    if header is None:
        raise DataError(f"{path}: has no header line; it is not a progress.jsonl")
    return _assembled(
        _Source(
            at=header.timestamp,
            adapter=header.adapter_name,
            setting=header,
            ranges=(*header.ranges, *(part.range for part in parts.values())),
            personas=tuple(dict.fromkeys([*header.personas, *(name for name, _ in parts)])),
            parts=tuple(parts.values()),
            questions=None if closing is None else closing.unique_q_a_pair_count,
            invalid=None if closing is None else _invalid(closing),
        )
    )


def _records(path: Path) -> Iterator[_Header | _Checkpoint | _Closing]:
    decoder = msgspec.json.Decoder(_Header | _Checkpoint | _Closing)
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


def _assembled(source: _Source) -> HeatmapData:
    columns, names = _columns(source), _names(source)
    parts = [[part for part in source.parts if part.range.label == label] for label in columns]
    intervals = source.estimates
    known = [Known() for _ in columns] if intervals is None else intervals.at(columns)
    caption = _caption(source)
    return HeatmapData(
        title=caption.title,
        subtitle=caption.subtitle,
        categories=names,
        columns=columns,
        cells=tuple(
            joined(
                (_together(_category(part, name) for part in each) for each in parts),
                (each.categories.get(name) for each in known),
            )
            for name in names
        ),
        overall=joined(
            (_together(part.overall for part in each) for each in parts),
            (each.overall for each in known),
        ),
        hallucination=joined(
            (_together(part.rate for part in each) for each in parts),
            (each.hallucination_rate for each in known),
        ),
        done=sum(part.complete for part in source.parts),
        visits=len(columns) * len(source.personas),
        is_stub=_is_stub(source),
        invalid=source.invalid,
        intervals=None if intervals is None else intervals.words,
    )


def _columns(source: _Source) -> tuple[str, ...]:
    days = {each.label: each.days for each in source.ranges}
    if source.setting.dry_run:
        days = {part.range.label: part.range.days for part in source.parts}
    return tuple(sorted(days, key=lambda label: days[label]))


def _names(source: _Source) -> tuple[str, ...]:
    setting = source.setting
    found = (score.category for part in source.parts for score in part.category_scores)
    return tuple(
        name
        for name in listed(found, CATEGORIES)
        if (setting.groups_enabled or name not in GROUP_CATEGORIES)
        and (setting.knows_asker or name != BOUNDARY)
    )


def _caption(source: _Source) -> Caption:
    setting = source.setting
    judge, appellate = setting.judge, setting.appellate_judge
    return Caption(
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


def _is_stub(source: _Source) -> bool:
    if source.setting.judge is not None:
        return source.setting.judge.name == STUB
    scores = [part.overall.score for part in source.parts if part.overall.score is not None]
    return source.setting.judge_model is None and bool(scores) and not any(scores)


def _invalid(record: _Metadata | _Closing) -> str | None:
    if record.validity != Status.INVALID:
        return None
    return record.invalid_reason or "too many trials failed"


def _category(part: _Part, name: str) -> Cell:
    for found in part.category_scores:
        if found.category == name:
            return _cell(found.mean_score, found.question_count, found.eligible_count)
    return Cell(score=None, count=0)


def _together(cells: Iterable[Cell]) -> Cell:
    """Several personas' cells as one: the mean weighted by count, the eligible summed."""
    parts = list(cells)
    known = [cell.eligible for cell in parts if cell.eligible is not None]
    return Cell(
        score=_mean((cell.score or 0.0, cell.count) for cell in parts),
        count=sum(cell.count for cell in parts),
        eligible=sum(known) if known else None,
    )


def _mean(weighted: Iterable[tuple[float, int]]) -> float | None:
    parts = list(weighted)
    count = sum(weight for _, weight in parts)
    return sum(value * weight for value, weight in parts) / count if count else None


def _cell(score: float | None, count: int, eligible: int | None) -> Cell:
    if score is None or count == 0:
        return Cell(score=None, count=0, eligible=eligible)
    return Cell(score=score, count=count, eligible=eligible)
