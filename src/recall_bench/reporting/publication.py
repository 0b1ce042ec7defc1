"""A run's report on disk: the page, the pictures and the figures."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.child_process import DEVNULL, start_blocking_process
from recall_bench.core.errors import BenchError, DataError, UsageError
from recall_bench.core.folders import refuse_other_files
from recall_bench.core.plan import DatasetCard, build_scenario_card
from recall_bench.engine.runs.judge_sensitivity import describe_split_answers
from recall_bench.engine.runs.output_paths import REPORT, refuse_links
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import Summary, summarise
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.judging.eval_dataset import QuestionFilter
from recall_bench.reporting.analyses.attribution import find_leaves
from recall_bench.reporting.judge_text import SPLITS_FILE
from recall_bench.reporting.run_report import RunReport, build_report
from recall_bench.reporting.trial_scores import find_own_methodology, read_scored_trials
from recall_bench.stories.catalogue import find_dataset
from recall_bench.stories.dataset_folder import find_download
from recall_bench.stories.story_folders import load_day_texts

if TYPE_CHECKING:
    from recall_bench.stories.drawn import BuildProgress

PAGE_FILE, FIGURES_FILE, PICTURES_FOLDER = "report.html", "report.json", "pictures"
"""What the folder of a report holds."""

_MAX_NAME_LENGTH = 60


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PublishedReport:
    """A report, and the files it was written to."""

    report: RunReport
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    """What the page could not show, and why."""

    def __repr__(self) -> str:
        return f"<PublishedReport: {', '.join(map(str, self.files))}>"


def publish_report(
    folder: RunFolder,
    *,
    into: Path | None = None,
    beside: Sequence[Path] = (),
    canaries: Path | None = None,
    data: Path | None = None,
    pictures: bool = False,
    score: str | None = None,
    agreements: Sequence[Path] = (),
    building: "BuildProgress | None" = None,
) -> PublishedReport:
    """Write the report of a run, by default into its folder `report`.

    `beside` are runs to compare it with, `canaries` the file of questions to watch, `data` the
    folder of its personas if they do not come with the package. With `pictures` all charts and
    heatmaps are drawn as PNG and SVG too. `score` is the figure of a dataset's protocol to go by,
    and `agreements` are files of `judge-lab agreement` to correct the share of right answers by.
    """
    table = read_scored_trials(folder, score)
    others = [RunFolder.open(path) for path in beside]
    stories, missing = _load_stories(folder, data, building)
    summary = summarise(folder)
    report = build_report(
        folder, table, beside=others, canaries=canaries, summary=summary, agreements=agreements
    )
    target = choose_report_folder(folder.path, into)
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target}: is a file; name a folder for the report")
    refuse_other_files(target, (PAGE_FILE, FIGURES_FILE, PICTURES_FOLDER, SPLITS_FILE))
    figures = target / FIGURES_FILE
    replace_file(figures, msgspec.json.format(msgspec.json.encode(report), indent=2))
    with (
        _draw_charts(figures, target / PICTURES_FOLDER) if pictures else nullcontext(list) as drawn
    ):
        page = _write_page(target / PAGE_FILE, report, folder, table, stories)
        heatmaps = (
            _draw_heatmaps(report, folder, summary, target / PICTURES_FOLDER) if pictures else ()
        )
        files = (page, figures, *_write_splits(target, folder, report), *heatmaps, *drawn())
    notes = tuple(note for note in (folder.doubt, missing) if note is not None)
    return PublishedReport(report=report, files=files, notes=notes)


def choose_report_folder(run: Path, into: Path | None) -> Path:
    """The folder of a run's report: as given, or in the run folder."""
    if into is not None:
        return into
    refuse_links(run)
    return run / REPORT


def _write_splits(target: Path, folder: RunFolder, report: RunReport) -> tuple[Path, ...]:
    """Write every answer that the judges split on; nothing for a run with one judge."""
    if report.judges is None:
        return ()
    lines = map(msgspec.json.encode, describe_split_answers(folder, report.judges))
    path = target / SPLITS_FILE
    replace_file(path, b"".join(line + b"\n" for line in lines))
    return (path,)


def _write_page(
    output: Path,
    report: RunReport,
    folder: RunFolder,
    table: TrialTable,
    stories: Mapping[str, Mapping[int, str]],
) -> Path:
    from recall_bench.reporting.pages.page import write_page

    write_page(
        output, report, folder=folder, table=table, leaves=find_leaves(table), stories=stories
    )
    return output


def _load_stories(
    folder: RunFolder, data: Path | None, building: "BuildProgress | None"
) -> tuple[dict[str, dict[int, str]], str | None]:
    """The days that evidence points into, or why they cannot be shown."""
    if (card := folder.plan.dataset) is not None:
        return _load_sessions(folder, card, data)
    try:
        return load_day_texts(folder.plan, data, building), None
    except (UsageError, DataError) as missing:
        # Only a named folder has to be readable: without one, or for an imported run, the report
        # does without the days.
        if data is not None and folder.plan.imported is None:
            raise
        return {}, f"the days of the evidence are not shown: {missing}"


def _load_sessions(
    folder: RunFolder, card: DatasetCard, data: Path | None
) -> tuple[dict[str, dict[int, str]], str | None]:
    """The sessions of a public dataset that its questions cite, or why they cannot be shown.

    One history is in memory at a time. Only sessions of the data that the run read are shown.
    """
    place, methodology = data or find_download(card.name), find_own_methodology(card)
    if place is None or methodology is None:
        return {}, "the sessions of the evidence are not shown; name the dataset's file with --data"
    try:
        source = find_dataset(card.name).load(place, {})
    except (UsageError, DataError) as problem:
        if data is not None:
            raise
        return {}, f"the sessions of the evidence are not shown: {problem}"
    digests = {card_of.id: card_of.history_digest for card_of in folder.plan.scenarios}
    sessions: dict[str, dict[int, str]] = {}
    for number in range(len(source)):
        scenario = QuestionFilter(methodology, frozenset()).apply(source[number])
        digest = digests.get(scenario.id)
        if digest is None or build_scenario_card(scenario).history_digest != digest:
            continue
        cited = {cited_part.day for item in scenario.items for cited_part in item.truth.evidence}
        sessions[scenario.id] = {
            episode.day: episode.text for episode in scenario.episodes if episode.day in cited
        }
    missing = None if len(sessions) == len(digests) else f"{place} lacks some histories of the run"
    return sessions, missing


def _draw_heatmaps(
    report: RunReport, folder: RunFolder, summary: Summary, target: Path
) -> Iterator[Path]:
    """One of all personas, and one of each where there are several."""
    from recall_bench.reporting.heatmap.heatmap_data import build_heatmap
    from recall_bench.reporting.heatmap.heatmap_picture import draw_picture

    for number, heatmap in enumerate(() if report.no_time else report.heatmaps):
        name = (
            "heatmap" if number == 0 else f"heatmap-{number}-{_format_file_name(heatmap.persona)}"
        )
        paths = target / f"{name}.png", target / f"{name}.svg"
        draw_picture(build_heatmap(folder, summary, heatmap), *paths)
        yield from paths


def _format_file_name(persona: str | None) -> str:
    """A safe file name: an id comes from elsewhere and may hold a path."""
    return re.sub(r"[^A-Za-z0-9]+", "-", persona or "").strip("-")[:_MAX_NAME_LENGTH]


@contextmanager
def _draw_charts(figures: Path, target: Path) -> Iterator[Callable[[], list[Path]]]:
    """Draw the charts in a child process; what is yielded waits for it and lists the files."""
    # -P: modules in the current folder are not ours.
    command = [
        sys.executable,
        "-P",
        "-m",
        "recall_bench.reporting.charts",
        str(figures),
        str(target),
    ]
    drawing = start_blocking_process(command, folder=Path.cwd(), environ=os.environ, stdin=DEVNULL)

    def wait_for_charts() -> list[Path]:
        names, complaint = drawing.process.communicate()
        if drawing.process.returncode:
            problem = complaint.decode(errors="replace").strip().rpartition("\n")[2]
            raise BenchError(f"{target}: the charts could not be drawn ({problem})")
        return [target / name for name in msgspec.json.decode(names, type=list[str])]

    try:
        yield wait_for_charts
    finally:
        drawing.end(grace_s=0)
