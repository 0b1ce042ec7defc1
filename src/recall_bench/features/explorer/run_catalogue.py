"""The runs below a folder: found, summarised in the background, followed while they go on."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from itertools import chain
from pathlib import Path

from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.event import RunStarted
from recall_bench.core.plain_text import NO_DATA, format_quantity, join_words
from recall_bench.core.plan import Plan
from recall_bench.core.record import ComputedRecord
from recall_bench.core.usage import Usage
from recall_bench.engine.runs.heatmap_rows import Row, RowKind
from recall_bench.engine.runs.journal import JOURNAL, find_run_folders, is_busy, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.formats import (
    OF_100,
    format_card,
    format_round_duration,
    format_score,
)
from recall_bench.reporting.groups import describe_judge
from recall_bench.reporting.headlines import describe_doubt, format_ceiling
from recall_bench.reporting.run_facts import format_price
from recall_bench.reporting.run_pairs import list_settings
from recall_bench.reporting.suites.report_text import format_figure
from recall_bench.reporting.suites.suite_report import build_behaviour_report
from recall_bench.reporting.trial_scores import estimate_run

RUNNING, READING, UNREADABLE = "running", "reading", "unreadable"
"""States of a run besides those of its scores."""

_ID_LENGTH = 10
_KEPT_FOLDERS = 8
"""Runs whose journal need not be read again for the first section that is opened."""
_RATE_WINDOW_S = 60.0
_SHOWN_PERSONAS = 2
_SHOWN_ELSEWHERE = frozenset({"judge", "personas"})
"""Settings that have a column of their own."""


class RunCell(ComputedRecord, frozen=True, kw_only=True):
    """One figure of a run in the table."""

    name: str
    text: str
    value: float | None = None
    """What the table is sorted by, and where a score stands on its line; in shown numbers."""
    low: float | None = None
    high: float | None = None


class RunFigures(ComputedRecord, frozen=True, kw_only=True):
    """What the table says of the scores of a run."""

    state: str
    reason: str | None
    score: RunCell | None = None
    score_name: str | None = None
    """What the score is, where a dataset's protocol gives it; None for marks."""
    doubt: str | None = None
    bounds: tuple[RunCell, ...] = ()
    """Silence and ceiling, as far as they are known."""
    cells: tuple[RunCell, ...] = ()
    """The other rows of the heatmap, over all checkpoints."""
    cost: str
    trials: int
    errors: int
    headlines: tuple[tuple[str, str], ...] = ()
    """The main figures of a behaviour suite, which has no score: each with its words."""


class LiveProgress(ComputedRecord, frozen=True, kw_only=True):
    """How far a run is that goes on."""

    done: int
    owed: int
    unstarted: int
    """Personas whose questions are not known yet."""
    errors: int
    rate: float | None
    """Trials a second."""
    left: str | None
    """The time until the end, in words."""


class RunRow(ComputedRecord, frozen=True, kw_only=True):
    """One run in the table."""

    id: str
    name: str
    system: str
    judge: str
    dataset: str
    started: datetime | None
    state: str
    problem: str | None = None
    settings: Mapping[str, str] = {}
    """Those in which the runs of the table differ."""
    suite: str | None = None
    """The behaviour suite; None for a run over a history."""
    figures: RunFigures | None = None
    progress: LiveProgress | None = None


FileState = tuple[int, int]
"""Size and time of a journal: equal if nothing was written."""


@dataclass(slots=True)
class CatalogueRun:
    """A run folder, and what is known of it so far."""

    id: str
    name: str
    path: Path
    first: RunStarted | None = None
    stamp: FileState | None = None
    figures: "Future[RunFigures] | None" = None
    """Computed for the journal of this stamp."""
    live: RunFolder | None = None
    opened: tuple[FileState, RunFolder] | None = None
    """The folder as it was last read, while it is kept."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    samples: "deque[tuple[float, int]]" = field(default_factory=deque)

    def describe_error(self, error: Exception) -> str:
        """The message without the place of the run on this machine."""
        return str(error).replace(str(self.path), self.name)

    def read_stamp(self) -> FileState:
        """The stamp of the journal now."""
        state = (self.path / JOURNAL).stat()
        return state.st_size, state.st_mtime_ns

    @property
    def is_running(self) -> bool:
        """Whether a process writes to the run now."""
        return is_busy(self.path / JOURNAL)


class RunCatalogue:
    """The runs below a folder, each with an id that stays the same."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"{root}: is not a folder; name one that holds runs")
        self.root = root.resolve()
        self._runs: dict[str, CatalogueRun] = {}
        self._kept: OrderedDict[str, CatalogueRun] = OrderedDict()
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="figures")

    def find(self, run: str) -> CatalogueRun | None:
        """The run with this id; None if there is none."""
        if run not in self._runs:
            self.scan()
        return self._runs.get(run)

    def scan(self) -> list[CatalogueRun]:
        """All runs that are there now, by name."""
        runs = {}
        for path in find_run_folders(self.root):
            name = path.relative_to(self.root).as_posix() if path != self.root else path.name
            key = sha256(name.encode()).hexdigest()[:_ID_LENGTH]
            runs[key] = self._runs.get(key) or CatalogueRun(key, name, path)
        self._runs = dict(sorted(runs.items(), key=lambda each: each[1].name))
        return list(self._runs.values())

    def list_rows(self, *, wait: bool = False) -> list[RunRow]:
        """The rows of the table; figures that take longer come later unless they are waited for."""
        runs = self.scan()
        rows = [self._build_row(run, wait=wait) for run in runs]
        plans = {run.id: run.first.plan for run in runs if run.first is not None}
        settings = _list_differing(plans)
        return [row.replace(settings=settings.get(row.id, {})) for row in rows]

    def open_folder(self, run: CatalogueRun, stamp: FileState) -> RunFolder:
        """The folder of a run, read once for each stamp; the last ones are kept."""
        with run.lock:
            if run.opened is None or run.opened[0] != stamp:
                run.opened = stamp, RunFolder.open(run.path)
            folder = run.opened[1]
        with self._lock:
            self._kept[run.id] = run
            self._kept.move_to_end(run.id)
            while len(self._kept) > _KEPT_FOLDERS:
                _, oldest = self._kept.popitem(last=False)
                oldest.opened = None
        return folder

    def _compute_figures(self, run: CatalogueRun, stamp: FileState) -> RunFigures:
        return _compute_figures(self.open_folder(run, stamp))

    def close(self) -> None:
        """Stop reading."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _build_row(self, run: CatalogueRun, *, wait: bool) -> RunRow:
        try:
            stamp = run.read_stamp()
            if run.first is None:
                run.first = _read_start(run.path)
            row = _describe_start(run, run.first)
            if run.is_running and not wait:
                return row.replace(state=RUNNING, progress=_follow_run(run))
            run.live = None
            if run.figures is None or run.stamp != stamp:
                run.stamp = stamp
                run.figures = self._worker.submit(self._compute_figures, run, stamp)
            if not wait and not run.figures.done():
                return row
            figures = run.figures.result()
            return row.replace(state=figures.state, problem=figures.reason, figures=figures)
        except (BenchError, OSError) as error:
            return RunRow(
                id=run.id,
                name=run.name,
                system=NO_DATA,
                judge=NO_DATA,
                dataset=NO_DATA,
                started=None,
                state=UNREADABLE,
                problem=run.describe_error(error),
            )


def _list_differing(plans: Mapping[str, Plan]) -> dict[str, dict[str, str]]:
    """The settings of each run in which the runs differ.

    Those of a system are held against other runs of the same system.
    """
    common = {key: list_settings(plan) for key, plan in plans.items() if plan.behaviour is None}
    differing: dict[str, dict[str, str]] = {key: {} for key in plans}
    for name in _find_differing(common.values()):
        for key, settings in common.items():
            if name not in _SHOWN_ELSEWHERE:
                differing[key][name] = settings[name]
    systems: dict[str, dict[str, dict[str, str]]] = {}
    for key, plan in plans.items():
        config = {name: str(value) for name, value in plan.system.config.items()}
        systems.setdefault(plan.system.name, {})[key] = config
    for alike in systems.values():
        for name in _find_differing(alike.values()):
            for key, config in alike.items():
                differing[key][name] = config.get(name, NO_DATA)
    return differing


def _find_differing(settings: Collection[Mapping[str, str]]) -> list[str]:
    names = dict.fromkeys(chain.from_iterable(settings))
    return [name for name in names if len({setting.get(name) for setting in settings}) > 1]


def _read_start(path: Path) -> RunStarted:
    first = next(read_events(path / JOURNAL), None)
    if not isinstance(first, RunStarted):
        raise UsageError(f"{path}: holds no run yet")
    return first


def _describe_start(run: CatalogueRun, first: RunStarted) -> RunRow:
    plan = first.plan
    return RunRow(
        id=run.id,
        name=run.name,
        system=format_card(plan.system),
        judge=_describe_judge(plan),
        dataset=_describe_dataset(plan),
        started=first.at,
        state=READING,
        suite=None if plan.behaviour is None else plan.behaviour.suite,
    )


def _describe_judge(plan: Plan) -> str:
    if plan.behaviour is not None:
        return NO_DATA
    people = "" if plan.labels is None else f", {plan.labels.answers:,} by people"
    others = f" and {len(plan.other_judges)} more" if plan.other_judges else ""
    return describe_judge(plan) + others + people


def _describe_dataset(plan: Plan) -> str:
    if plan.behaviour is not None:
        stories = format_quantity(len(plan.scenarios), "story", "stories")
        return f"suite {plan.behaviour.suite}, {stories}"
    personas = join_words([card.id for card in plan.scenarios], most=_SHOWN_PERSONAS)
    if plan.dataset is None:
        return personas
    return f"{plan.dataset.name} ({plan.dataset.protocol})"


def _follow_run(run: CatalogueRun) -> LiveProgress:
    """Read what was written since the last time, and count."""
    if run.live is None:
        run.live = RunFolder.open(run.path)
        run.samples.clear()
    else:
        run.live.read_on()
    states = list(run.live.states.scenarios.values())
    done, owed = (
        sum(state.done_count for state in states),
        sum(state.owed_count for state in states),
    )
    rate = _measure_rate(run, done)
    is_timed = bool(rate) and not run.live.unstarted
    return LiveProgress(
        done=done,
        owed=owed,
        unstarted=len(run.live.unstarted),
        errors=sum(state.error_count for state in states),
        rate=rate,
        left=format_round_duration((owed - done) / rate) if rate and is_timed else None,
    )


def _measure_rate(run: CatalogueRun, done: int) -> float | None:
    """Trials a second in the last minute, or since the start at first."""
    now = time.monotonic()
    run.samples.append((now, done))
    while now - run.samples[0][0] > _RATE_WINDOW_S:
        run.samples.popleft()
    since, before = run.samples[0]
    if now - since > 1:
        return (done - before) / (now - since)
    seconds = 0.0 if run.live is None else run.live.active_s
    return done / seconds if seconds else None


def _compute_figures(folder: RunFolder) -> RunFigures:
    if folder.plan.behaviour is not None:
        return _compute_suite_figures(folder)
    summary, (scale, means) = summarise(folder), estimate_run(folder)
    table, cost = means.build_heatmap(places=()), folder.usage
    score, bounds = table.total, table.total.bounds
    ends: list[tuple[str, str, float | None]] = []
    if bounds is not None:
        ends.append(("silence", format_score(bounds.floor), bounds.floor))
        ends.append(("ceiling", format_ceiling(bounds), bounds.ceiling))
    return RunFigures(
        state=summary.validity.status.value,
        reason="the stub judge graded nothing" if summary.is_stub else summary.validity.reason,
        score=None if score.total is None or summary.is_stub else _make_cell(score, score.total),
        score_name=None if scale is None else scale.label,
        doubt=describe_doubt(bounds),
        bounds=tuple(
            RunCell(name=name, text=text, value=marks * OF_100)
            for name, text, marks in ends
            if marks is not None
        ),
        cells=tuple(
            _make_cell(row, row.total)
            for row in table.rows
            if row.kind is RowKind.FIGURE and row.total is not None and not row.is_in_files_only
        ),
        cost=NO_DATA if cost == Usage() else format_price(cost),
        trials=summary.overall.owed,
        errors=summary.overall.failed,
    )


def _make_cell(row: Row, mean: Estimate) -> RunCell:
    value, low, high = (
        None if number is None else number * row.scale.factor
        for number in (mean.value, mean.low, mean.high)
    )
    is_score = row.kind is RowKind.TOTAL
    text = row.scale.format(mean, 0 if is_score else None).replace(" of 100", "")
    return RunCell(name=row.name, text=text, value=value, low=low, high=high)


def _compute_suite_figures(folder: RunFolder) -> RunFigures:
    report = build_behaviour_report(folder)
    validity, cost = summarise(folder).validity, folder.usage
    return RunFigures(
        state=validity.status.value,
        reason=validity.reason,
        cost=NO_DATA if cost == Usage() else format_price(cost),
        trials=report.trials,
        errors=report.not_answered,
        headlines=tuple(
            (figure.label, format_figure(figure)) for figure in report.figures if figure.is_headline
        ),
    )
