"""Merge the journals of one plan's shards into one journal.

Events are merged by time, and the events of each journal stay in their order. Readers of the merged
journal need to know nothing of shards: a later event of a trial supersedes an earlier one of the
same journal, because no other journal may have it; the duration is from the first event to the
last; and a pause is a time in which no shard was at work. The start of a further shard becomes a
RunResumed, after which feeding that failed elsewhere counts as not retried yet.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from heapq import merge as by_key
from itertools import islice, zip_longest
from pathlib import Path

from recall_bench.core.atomic_file import AtomicFile, sweep_folder
from recall_bench.core.errors import DataError, FolderBusy, UsageError
from recall_bench.core.event import (
    Answered,
    BoundsComputed,
    Declared,
    Event,
    Judged,
    NotAnswered,
    NotJudged,
    OtherVerdict,
    RunEnded,
    RunResumed,
    RunStarted,
)
from recall_bench.core.plan import Plan, Shard, Trial, list_differences
from recall_bench.core.trial_states import TrialState, TrialStates
from recall_bench.core.work_unit import collect_shard_units, list_states
from recall_bench.engine.experiment import RunResult
from recall_bench.engine.runs.journal import (
    JOURNAL,
    encode_events,
    is_busy,
    read_events,
    read_events_of,
)
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSource:
    """A journal that is merged."""

    place: str
    """Its name in messages."""
    started: RunStarted
    declared: Callable[[], Iterable[Declared]]
    """Reads its declarations."""
    events: Callable[[], Iterable[Event]]
    """Reads everything after its first event."""


def merge_events(sources: Sequence[MergeSource]) -> Iterator[Event]:
    """Merge the events of all journals; UsageError names two that do not fit together.

    The result ends with RunEnded if nothing is left to do, whatever the sources say.
    """
    refuse_different_plans(sources)
    first = min(sources, key=lambda source: source.started.at)
    plan = first.started.plan
    yield first.started.replace(part=None)
    states, owners = TrialStates(plan), dict[Trial, int]()
    for declared in _collect_declarations(plan, sources):
        states.apply_event(declared)
        yield declared
    at = first.started.at
    for number, event in _order_by_time(sources, sources.index(first)):
        try:
            states.apply_event(event)
        except ValueError as error:
            raise DataError(f"{sources[number].place}: {error}") from error
        if isinstance(event, Answered | NotAnswered | Judged | NotJudged | OtherVerdict):
            owner = owners.setdefault(event.trial, number)
            if owner != number:
                raise UsageError(
                    f"{event.trial} was asked in {sources[owner].place} and in "
                    f"{sources[number].place}; a trial has one answer, so name one of them"
                )
        at = max(at, event.at)
        yield event
    if states.is_done:
        yield RunEnded(at=at)


def refuse_different_plans(sources: Sequence[MergeSource]) -> None:
    """Raise UsageError unless all are different shards of one plan."""
    first, *others = sources
    for other in others:
        differing = list_differences(first.started.plan, other.started.plan, between=" and ")
        if differing:
            raise UsageError(
                f"{first.place} and {other.place} are runs of different plans, with other "
                f"{', other '.join(differing)}; merge parts of one plan"
            )
    parts = [(source.started.part, source.place) for source in sources]
    seen: dict[int, str] = {}
    of: tuple[int, str] | None = None
    for part, place in parts:
        if part is None:
            continue
        if of is not None and of[0] != part.of:
            raise UsageError(
                f"{of[1]} is one of {of[0]} parts and {place} is one of {part.of}; "
                "merge parts of one division"
            )
        if part.number in seen:
            raise UsageError(f"{seen[part.number]} and {place} both hold part {part}; name one")
        of, seen[part.number] = (part.of, place), place


def _collect_declarations(plan: Plan, sources: Sequence[MergeSource]) -> Iterator[Declared]:
    """Collect the declaration of each scenario once, in the order of the plan."""
    plans: dict[str, tuple[Declared, str]] = {}
    for source in sources:
        for declared in source.declared():
            first, place = plans.setdefault(declared.scenario, (declared, source.place))
            if first.replace(at=declared.at) != declared:
                raise UsageError(
                    f"{place} and {source.place} declare other questions or days for "
                    f"{declared.scenario}; merge parts of one plan"
                )
    for card in plan.scenarios:
        if card.id in plans:
            yield plans[card.id][0]


def _order_by_time(sources: Sequence[MergeSource], first: int) -> Iterator[tuple[int, Event]]:
    """Yield all other events by time, with the number of their journal."""

    def read(number: int, source: MergeSource) -> Iterator[tuple[int, Event]]:
        if number != first:
            started = source.started
            yield (
                number,
                RunResumed(at=started.at, code=started.code, environment=started.environment),
            )
        for event in source.events():
            # Every part computes the same bounds.
            is_repeated = number != first and isinstance(event, BoundsComputed)
            if not is_repeated and not isinstance(event, Declared | RunEnded):
                yield number, event

    streams = (read(number, source) for number, source in enumerate(sources))
    # Journals of concurrent work are not quite sorted; merging keeps the order within each.
    return by_key(*streams, key=lambda numbered: numbered[1].at)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRun:
    """A merged run."""

    finished: RunResult
    """The run, without its views."""
    parts: tuple[tuple[Path, Shard | None], ...]
    """The merged folders with their shards; None for a whole run."""
    unfinished: tuple[tuple[Shard, int], ...] = ()
    """The shards with open trials, and how many."""

    @property
    def missing(self) -> tuple[Shard, ...]:
        """The shards of the plan that were not given."""
        parts = [part for _, part in self.parts if part is not None]
        numbers = {part.number for part in parts}
        return tuple(
            Shard(number=number, of=parts[0].of)
            for number in (range(1, parts[0].of + 1) if parts else ())
            if number not in numbers
        )


def merge_runs(folders: Sequence[Path], into: Path) -> MergedRun:
    """Write the journal of one run from the journals of its shards; leave nothing if that fails.

    A folder with the same events, which a killed merge or an earlier version may have left, is
    taken as it is. Trials that none of them asked stay open: a run started in the folder continues
    with them.
    """
    if not folders:
        raise UsageError("nothing to merge: name the folders of the parts")
    places: dict[Path, Path] = {}
    for folder in folders:
        if (other := places.setdefault(folder.resolve(), folder)) is not folder:
            raise UsageError(f"{other} and {folder} are one folder; name it once")
    is_repeated = _is_merge_repeated(into)
    sources = [_open_source(folder) for folder in folders]
    refuse_different_plans(sources)
    with _remove_on_failure(into), AtomicFile(into / JOURNAL) as journal:
        for line in encode_events(merge_events(sources)):
            journal.write(line)
        if not is_repeated:
            journal.commit()
        elif not journal.is_unchanged():
            _refuse_other_events(sources, into)
    merged = RunFolder.open(into)
    parts = [source.started.part for source in sources]
    return MergedRun(
        finished=RunResult(folder=merged, summary=summarise(merged), warnings=()),
        parts=tuple(zip(folders, parts, strict=True)),
        unfinished=tuple(_count_open(merged, [part for part in parts if part is not None])),
    )


def _count_open(folder: RunFolder, parts: Sequence[Shard]) -> Iterator[tuple[Shard, int]]:
    scenarios = folder.states.scenarios
    items = {name: states.items for name, states in scenarios.items()}
    for part in parts:
        shares = collect_shard_units(folder.plan, items, part)
        missing = sum(
            state in (TrialState.OPEN, TrialState.ANSWERED)
            for scenario, shards in shares.items()
            for state in list_states(scenarios[scenario], shards)
        )
        if missing:
            yield part, missing


@contextmanager
def _remove_on_failure(into: Path) -> Iterator[None]:
    """Remove the folders made for the block if it raises."""
    created = [place for place in (into, *into.parents) if not place.exists()]
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for place in created:
                place.rmdir()
        raise


def _is_merge_repeated(into: Path) -> bool:
    """Whether the folder holds a journal already; UsageError if it holds only something else."""
    if into.is_dir():
        sweep_folder(into)
        if not any(into.iterdir()):
            return False
        if (into / JOURNAL).is_file():
            _refuse_busy(into)
            return True
    if into.exists() or into.is_symlink():
        raise UsageError(f"{into}: exists and was not changed; name another with --into")
    return False


def _refuse_other_events(sources: Sequence[MergeSource], into: Path) -> None:
    """UsageError unless the journal holds the merged events, in whatever form a version wrote."""
    pairs = zip_longest(read_events(into / JOURNAL), merge_events(sources))
    if not all(_is_same_event(stored, merged) for stored, merged in pairs):
        raise UsageError(
            f"{into}: holds another run, or these folders as an earlier version merged them, and "
            "was not changed; name another with --into"
        )


def _is_same_event(held: Event | None, merged: Event | None) -> bool:
    if isinstance(held, RunResumed) and held.environment is None:
        # Earlier versions did not copy it from the part.
        return isinstance(merged, RunResumed) and held == merged.replace(environment=None)
    return held == merged


def _open_source(folder: Path) -> MergeSource:
    path = folder / JOURNAL
    if not path.is_file():
        raise UsageError(f"{folder}: is not a run folder; there is no {JOURNAL} in it")
    _refuse_busy(folder)
    first = next(read_events(path), None)
    if first is None:
        raise DataError(f"{path}: holds no event yet; nothing was run here")
    if not isinstance(first, RunStarted):
        raise DataError(f"{path}: does not begin with a plan; it is not the journal of a run")
    return MergeSource(
        place=str(folder),
        started=first,
        declared=partial(read_events_of, path, Declared),
        events=lambda: islice(read_events(path), 1, None),
    )


def _refuse_busy(folder: Path) -> None:
    """Refuse a run in progress: its later answers would be asked for again."""
    if is_busy(folder / JOURNAL):
        raise FolderBusy(
            f"{folder}: a run is still writing to this folder; wait for it, then merge"
        )
