"""The data of the explorer by name; the server and the exported files hold the same.

`runs`: the table. `RUN/index`, `RUN/questions`, `RUN/trials` and the blocks of their texts: a run.
`RUN/story` and `RUN/days-…`: its story. `RUN/labels`: its labels. `compare/RUN.RUN`: a comparison,
`common/RUN.RUN` one of the trials in common, `pairs/RUN.RUN` the trials that pair.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from recall_bench.reporting.analyses.attribution import find_leaves
from recall_bench.reporting.explorer.comparison_view import pair_rows, view_comparison
from recall_bench.reporting.explorer.run_catalogue import FoundRun, RunCatalogue, Stamp
from recall_bench.reporting.groups import order_categories
from recall_bench.reporting.pages.markup import PageBlock
from recall_bench.reporting.pages.page import write_page
from recall_bench.reporting.pages.page_data import collect_questions
from recall_bench.reporting.pages.trial_blocks import TrialBlocks
from recall_bench.reporting.publication import load_stories
from recall_bench.reporting.run_report import build_report
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.trials import TrialTable, read_trials

RUNS = "runs"
COMPARE, COMMON, PAIRS = "compare", "common", "pairs"

_KEPT_RUNS = 4
"""Runs whose texts are kept in memory."""


class UnknownView(LookupError):
    """There is no data of this name."""


@dataclass(slots=False)
class OpenRun:
    """A run, read for its views; everything is read when it is first needed."""

    found: FoundRun
    stamp: Stamp
    data: Path | None
    folder: RunFolder = field(init=False)

    def __post_init__(self) -> None:
        self.folder = RunFolder.open(self.found.path)

    @cached_property
    def table(self) -> TrialTable:
        """Every owed trial."""
        return read_trials(self.folder)

    @cached_property
    def stories(self) -> dict[str, dict[int, str]]:
        """The days of each persona, where they can be read."""
        return load_stories(self.folder, self.data)[0]

    @cached_property
    def blocks(self) -> Mapping[str, bytes]:
        """The blocks of questions and trials."""
        categories = order_categories({row.category for row in self.table.rows})
        questions = collect_questions(self.table, categories)
        blocks = TrialBlocks(self.folder, self.table, questions, self.stories)
        texts = {block.name: block.content for block in blocks.write_texts()}
        about = {"prefix": f"{self.found.id}/", "name": self.found.name}
        index = blocks.build_index("index", about, find_leaves(self.table))
        return texts | {block.name: block.content for block in index}

    def write_report(self, output: Path) -> None:
        """Write the report page of the run."""
        here = self.found.id
        write_page(
            output,
            build_report(self.folder, self.table),
            folder=self.folder,
            table=self.table,
            leaves=find_leaves(self.table),
            stories=self.stories,
            links=(
                ("All runs", "../../index.html#runs"),
                ("Compare", f"../../index.html#compare?runs={here}"),
            ),
        )


class ExplorerViews:
    """Builds the data of the explorer by name, one piece at a time."""

    def __init__(self, catalogue: RunCatalogue, data: Path | None = None) -> None:
        self.catalogue = catalogue
        self._data = data
        self._opened: OrderedDict[str, OpenRun] = OrderedDict()
        self._compared: dict[tuple[str, tuple[Stamp, ...]], bytes] = {}
        self._lock = threading.Lock()

    def build(self, name: str) -> bytes:
        """The JSON of one name; UnknownView if there is none."""
        if name == RUNS:
            return msgspec.json.encode(self.catalogue.list_rows())
        kind, _, rest = name.partition("/")
        with self._lock:
            if kind in (COMPARE, COMMON, PAIRS):
                return self._build_comparison(kind, rest)
            content = self.open_run(kind).blocks.get(rest)
        if content is None:
            raise UnknownView(name)
        return content

    def open_run(self, run: str) -> OpenRun:
        """The run with this id, read again if something was written to it."""
        found = self.catalogue.find(run)
        if found is None:
            raise UnknownView(run)
        stamp = found.read_stamp()
        opened = self._opened.get(run)
        if opened is None or opened.stamp != stamp:
            opened = self._opened[run] = OpenRun(found, stamp, self._data)
        self._opened.move_to_end(run)
        while len(self._opened) > _KEPT_RUNS:
            self._opened.popitem(last=False)
        return opened

    def list_blocks(self, run: str) -> Iterator[PageBlock]:
        """Every block of a run, by its name in the explorer."""
        for name, content in self.open_run(run).blocks.items():
            yield PageBlock(f"{run}/{name}", content)

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
        return self._compared[key]
