"""Run folders of one plan become one run folder, whole or not at all."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from recall_bench.core.event import Declared, Event, RunStarted, encode_event
from recall_bench.core.part import Shard
from recall_bench.core.shard import collect_shard_units, list_states
from recall_bench.core.standing import TrialState
from recall_bench.ending import Finished, write_views
from recall_bench.errors import DataError, FolderBusy, UsageError
from recall_bench.journal import JOURNAL, is_busy, read_events, read_events_of
from recall_bench.merging.fold import MergeSource, merge_events, refuse_different_plans
from recall_bench.replacement import AtomicFile, remove_leftovers
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import summarise
from recall_bench.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRun:
    """A run that was made of others."""

    finished: Finished
    """The run, with every view of it written."""
    parts: tuple[tuple[Path, Shard | None], ...]
    """What was merged, and which part of the plan each is; None for a whole run."""
    unfinished: tuple[tuple[Shard, int], ...] = ()
    """The parts with trials that are still to be asked or judged, and how many."""

    @property
    def missing(self) -> tuple[Shard, ...]:
        """The parts that were not there, if the plan was cut into parts."""
        given = [part for _, part in self.parts if part is not None]
        numbers = {part.number for part in given}
        return tuple(
            Shard(number=number, of=given[0].of)
            for number in (range(1, given[0].of + 1) if given else ())
            if number not in numbers
        )


def merge_runs(folders: Sequence[Path], into: Path, *, pictures: bool = True) -> MergedRun:
    """Make one run of these, or raise and leave nothing behind.

    What none of them asked stays open: a run started in the folder goes on with it.
    """
    if not folders:
        raise UsageError("nothing to merge: name the folders of the parts")
    _refuse_duplicates(folders)
    _refuse_taken_folder(into)
    sources = [_open_source(folder) for folder in folders]
    refuse_different_plans(sources)
    with _remove_on_failure(into), AtomicFile(into / JOURNAL) as journal:
        for event in merge_events(sources):
            journal.write(encode_event(event) + b"\n")
        journal.commit()
    folder = RunFolder.open(into)
    summary = summarise(folder)
    write_views(Settings(into=into, heatmap_png=pictures), folder, summary)
    named = zip(folders, (source.started.part for source in sources), strict=True)
    parts = tuple(named)
    return MergedRun(
        finished=Finished(folder=folder, summary=summary, warnings=()),
        parts=parts,
        unfinished=tuple(_count_open(folder, [part for _, part in parts if part is not None])),
    )


def _count_open(folder: RunFolder, parts: Sequence[Shard]) -> Iterator[tuple[Shard, int]]:
    scenarios = folder.states.scenarios
    items = {name: standing.items for name, standing in scenarios.items()}
    for part in parts:
        shares = collect_shard_units(folder.plan, items, part)
        left = sum(
            state in (TrialState.OPEN, TrialState.ANSWERED)
            for scenario, shards in shares.items()
            for state in list_states(scenarios[scenario], shards)
        )
        if left:
            yield part, left


@contextmanager
def _remove_on_failure(into: Path) -> Iterator[None]:
    """Where the block raises, remove the folders that were made for it."""
    made = [place for place in (into, *into.parents) if not place.exists()]
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for place in made:
                place.rmdir()
        raise


def _refuse_duplicates(folders: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for folder in folders:
        place = folder.resolve()
        if place in seen:
            raise UsageError(f"{seen[place]} and {folder} are one folder; name it once")
        seen[place] = folder


def _refuse_taken_folder(into: Path) -> None:
    if into.is_dir():
        # What a merge that was killed left of its journal is nobody's.
        remove_leftovers(into, JOURNAL)
        if not any(into.iterdir()):
            return
    if into.exists() or into.is_symlink():
        raise UsageError(f"{into}: exists already and is left as it is; name another with --into")


def _open_source(folder: Path) -> MergeSource:
    path = folder / JOURNAL
    if not path.is_file():
        raise UsageError(f"{folder}: is not a run folder; there is no {JOURNAL} in it")
    _refuse_busy(folder)
    first = next(read_events(path), None)
    if first is None:
        raise DataError(f"{path}: holds no event yet; nothing was run here")
    if not isinstance(first, RunStarted):
        raise DataError(f"{path}: does not begin with a plan; it is no journal of a run")
    return MergeSource(
        place=str(folder),
        started=first,
        declared=partial(read_events_of, path, Declared),
        events=partial(_read_rest, path),
    )


def _refuse_busy(folder: Path) -> None:
    """Answers that come after a part was merged would be asked for again."""
    if is_busy(folder / JOURNAL):
        raise FolderBusy(
            f"{folder}: a run is still writing to this folder; wait for it, then merge"
        )


def _read_rest(path: Path) -> Iterator[Event]:
    return islice(read_events(path), 1, None)
