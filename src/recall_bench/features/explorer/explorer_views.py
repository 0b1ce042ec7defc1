"""The data of the explorer by name; the server and the exported files hold the same.

`runs` is the table. `RUN/index`, `RUN/questions`, `RUN/trials` and the blocks of their texts are a
run, `RUN/story-…`, `RUN/days-…` and `RUN/known` its story, `RUN/labels` its labels.
`compare/RUN.RUN` is a comparison, `common/RUN.RUN` one of the trials in common, and
`pairs/RUN.RUN` the trials that pair.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import msgspec

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.record import Record
from recall_bench.core.scenario import order_categories
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.features.explorer.comparison_view import pair_rows, view_comparison
from recall_bench.features.explorer.run_catalogue import CatalogueRun, FileState, RunCatalogue
from recall_bench.features.explorer.story_view import build_story_blocks
from recall_bench.judging.human_labels import (
    HumanLabel,
    append_label,
    compare_people,
    make_label,
    read_labels,
)
from recall_bench.reporting.analyses.attribution import find_leaves
from recall_bench.reporting.pages.markup import PageBlock
from recall_bench.reporting.pages.page import write_page
from recall_bench.reporting.pages.page_data import PageQuestions, collect_questions
from recall_bench.reporting.pages.trial_blocks import TrialBlocks
from recall_bench.reporting.run_report import build_report
from recall_bench.reporting.suites.scorecard import build_scorecard, write_scorecard_page
from recall_bench.reporting.trial_scores import read_scored_trials
from recall_bench.stories.story_folders import StoryTexts, find_story_days

RUNS = "runs"
COMPARE, COMMON, PAIRS = "compare", "common", "pairs"

_KEPT_RUNS = 4
"""Runs whose texts are kept in memory."""
_KEPT_COMPARISONS = 32
"""Comparisons that are kept in memory, the last ones."""


LABELS_BLOCK, INDEX_BLOCK = "labels", "index"
FIRST_BLOCKS = frozenset({INDEX_BLOCK, "questions", "trials"})


class LabelRequest(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label as the page sends it."""

    trial: str
    label: HumanLabel
    by: Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
    comment: Annotated[str, msgspec.Meta(max_length=4000)] = ""


class UnknownView(LookupError):
    """There is no data of this name."""


@dataclass(slots=False)
class OpenRun:
    """A run, read for its views; everything is read when it is first needed."""

    found: CatalogueRun
    stamp: FileState
    folder: RunFolder
    data: Path | None = None
    missing: str | None = None
    """Why the days cannot be shown."""

    @cached_property
    def table(self) -> TrialTable:
        """Every owed trial."""
        return read_scored_trials(self.folder)

    @cached_property
    def stories(self) -> dict[str, StoryTexts]:
        """The days of each persona; empty where they cannot be read."""
        plan = self.folder.plan
        try:
            return {
                card.id: find_story_days(card, plan, self.data, None) for card in plan.scenarios
            }
        except (UsageError, DataError) as missing:
            self.missing = f"The days of the story are not shown: {missing}"
            return {}

    @property
    def texts(self) -> dict[str, dict[int, str]]:
        """The text of each day of each persona."""
        return {persona: story.texts for persona, story in self.stories.items()}

    @cached_property
    def questions(self) -> PageQuestions:
        """The questions with a trial."""
        categories = order_categories({row.category for row in self.table.rows})
        return collect_questions(self.table, categories)

    @cached_property
    def first_blocks(self) -> Mapping[str, bytes]:
        """The blocks that a section needs to start: no text of an answer is read for them."""
        blocks = TrialBlocks(self.folder, self.table, self.questions, self.texts)
        about = {
            "prefix": f"{self.found.id}/",
            "name": self.found.name,
            "missing": self.missing,
        }
        first = blocks.build_first(INDEX_BLOCK, about, find_leaves(self.table))
        return {block.name: block.content for block in first}

    @cached_property
    def text_blocks(self) -> Mapping[str, bytes]:
        """The blocks of answers, passages and details, and their places."""
        blocks = TrialBlocks(self.folder, self.table, self.questions, self.texts)
        texts = {block.name: block.content for block in blocks.write_texts()}
        places = blocks.build_places()
        return texts | {places.name: places.content}

    @cached_property
    def story_blocks(self) -> Mapping[str, bytes]:
        """The blocks of the story."""
        blocks = build_story_blocks(self.folder, self.table, self.questions, self.stories)
        return {block.name: block.content for block in blocks}

    def find_block(self, name: str) -> bytes | None:
        """One block; None if there is none of this name."""
        if name == LABELS_BLOCK:
            return self.build_labels()
        if name in FIRST_BLOCKS:
            return self.first_blocks[name]
        is_story = name == "known" or name.startswith(("story-", "days-"))
        return (self.story_blocks if is_story else self.text_blocks).get(name)

    def build_labels(self) -> bytes:
        """The labels of people, and how well they agree."""
        labels = read_labels(self.found.path)
        fields = [
            {key: getattr(label, key) for key in ("trial", "label", "by", "comment")}
            for label in labels
        ]
        return msgspec.json.encode({"labels": fields, "agreement": compare_people(labels)})

    def add_label(self, given: LabelRequest) -> None:
        """Append a label; UnknownView if there is no such answer."""
        row = next((row for row in self.table.rows if str(row.trial) == given.trial), None)
        if row is None:
            raise UnknownView(given.trial)
        results = self.folder.read_results_of(row.trial.scenario, lambda item: item is row.item)
        answered = next((result.answered for result in results if result.trial == row.trial), None)
        if answered is None:
            raise UnknownView(given.trial)
        line = make_label(
            row.trial,
            row.item,
            answered.answer.text,
            given.label,
            by=given.by,
            days=row.cutoff,
            comment=given.comment,
        )
        append_label(self.found.path, line)

    def write_report(self, output: Path) -> None:
        """Write the report page of the run."""
        here = self.found.id
        if self.folder.plan.behaviour is not None:
            write_scorecard_page(
                output,
                build_scorecard([self.folder]),
                stories=self.folder,
                links=(
                    ("All runs", "../../index.html#runs"),
                    ("Compare", f"../../index.html#compare?runs={here}"),
                ),
            )
            return
        write_page(
            output,
            build_report(self.folder, self.table),
            folder=self.folder,
            table=self.table,
            leaves=find_leaves(self.table),
            stories=self.texts,
            links=(
                ("All runs", "../../index.html#runs"),
                ("Compare", f"../../index.html#compare?runs={here}"),
                ("Time travel", f"../../index.html#travel?run={here}"),
                ("Label", f"../../index.html#label?run={here}"),
            ),
        )


class ExplorerViews:
    """Builds the data of the explorer by name, one piece at a time."""

    def __init__(self, catalogue: RunCatalogue, data: Path | None = None) -> None:
        self.catalogue = catalogue
        self._data = data
        self._opened: OrderedDict[str, OpenRun] = OrderedDict()
        self._compared: OrderedDict[tuple[str, tuple[FileState, ...]], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def build(self, name: str) -> bytes:
        """The JSON of one name; UnknownView if there is none."""
        if name == RUNS:
            return msgspec.json.encode(self.catalogue.list_rows())
        kind, _, rest = name.partition("/")
        with self._lock:
            if kind in (COMPARE, COMMON, PAIRS):
                return self._build_comparison(kind, rest)
            content = self.open_run(kind).find_block(rest)
        if content is None:
            raise UnknownView(name)
        return content

    def open_run(self, run: str) -> OpenRun:
        """The run with this id, read again if something was written to it."""
        entry = self._find_run(run)
        stamp = entry.read_stamp()
        opened = self._opened.get(run)
        if opened is None or opened.stamp != stamp:
            folder = self.catalogue.open_folder(entry, stamp)
            opened = self._opened[run] = OpenRun(entry, stamp, folder, self._data)
        self._opened.move_to_end(run)
        while len(self._opened) > _KEPT_RUNS:
            self._opened.popitem(last=False)
        return opened

    def read_stamp(self, run: str) -> FileState:
        """The stamp of a run's journal now."""
        return self._find_run(run).read_stamp()

    def describe_error(self, run: str, error: Exception) -> str:
        """The message of an error without the place of the run on this machine."""
        return self._find_run(run).describe_error(error)

    def _find_run(self, run: str) -> CatalogueRun:
        entry = self.catalogue.find(run)
        if entry is None:
            raise UnknownView(run)
        return entry

    def list_blocks(self, run: str) -> Iterator[PageBlock]:
        """Every block of a run, by its name in the explorer."""
        opened = self.open_run(run)
        labels = {LABELS_BLOCK: opened.build_labels()}
        for name, content in (
            *opened.first_blocks.items(),
            *opened.text_blocks.items(),
            *opened.story_blocks.items(),
            *labels.items(),
        ):
            yield PageBlock(f"{run}/{name}", content)

    def add_label(self, run: str, given: LabelRequest) -> bytes:
        """Append a label to a run, and return all labels of it."""
        with self._lock:
            opened = self.open_run(run)
            opened.add_label(given)
            return opened.build_labels()

    def write_report(self, run: str, output: Path) -> None:
        """Write the report page of a run."""
        with self._lock:
            self.open_run(run).write_report(output)

    def _build_comparison(self, kind: str, names: str) -> bytes:
        runs = [self.open_run(run) for run in dict.fromkeys(names.split("."))]
        if len(runs) < 2:
            raise UnknownView(names)
        key = f"{kind}/{names}", tuple(run.stamp for run in runs)
        if key not in self._compared:
            view = (
                pair_rows(runs[0].table, runs[1].table)
                if kind == PAIRS
                else view_comparison(
                    [run.folder for run in runs],
                    [run.found.name for run in runs],
                    intersect=kind == COMMON,
                )
            )
            self._compared[key] = msgspec.json.encode(view)
        self._compared.move_to_end(key)
        while len(self._compared) > _KEPT_COMPARISONS:
            self._compared.popitem(last=False)
        return self._compared[key]
