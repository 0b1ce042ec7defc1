"""A cache says what its journal says, and nothing else is ever taken from it."""

import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recall_bench.core.event import Answered, Judged
from recall_bench.core.memory import Answer, Delivery, Passage
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Finding, Verdict
from recall_bench.runs import run_cache, sealed_file
from recall_bench.runs.journal import JOURNAL, Journal
from recall_bench.runs.run_cache import open_run_folder
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.sealed_file import CACHE
from recall_bench.runs.summary import summarise
from recall_bench.runs.trial_log import TrialLog
from recall_bench.runs.trials import TrialTable, read_trials
from tests.written_runs import INVENTED, NOON, PERFECT, POOR, ada_story, trial


def age(journal: Path, seconds: float = 60) -> None:
    """Make a journal look as if it was last written some time ago."""
    then = journal.stat().st_mtime - seconds
    os.utime(journal, (then, then))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with all that can become of a trial, continued once, at rest, with a cache."""
    monkeypatch.setattr(sealed_file, "MIN_BYTES", 0)
    story = ada_story(tmp_path / "run")
    usage = Usage(calls=1, input_tokens=7, cost_usd=0.1)
    story.add(
        Answered(
            at=NOON,
            trial=trial("cat"),
            answer=Answer(text="Rex", passages=(Passage(text="Rex.", day=1),), usage=usage),
            seconds=0.3,
            delivery=Delivery(offered=2, kept=1, tokens=9, traced=1, spans=((0, 4),)),
            reading_s=0.1,
            reading_usage=usage,
        )
    )
    found = Verdict(marks=INVENTED.marks, findings=(Finding.REFUSAL,))
    story.add(Judged(at=NOON, trial=trial("cat"), verdict=found, primary=PERFECT, usage=usage))
    story.not_answered(trial("dog"))
    story.resume(after=timedelta(hours=3))
    story.answer(trial("house", "4d"))
    story.not_judged(trial("house", "4d"))
    story.both(trial("cat", "4d"), POOR)
    story.save()
    folder = tmp_path / "run"
    age(folder / JOURNAL)
    read_trials(open_run_folder(folder))
    assert (folder / CACHE).exists()
    return folder


@pytest.fixture
def refuse_reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it to make every reading of a whole journal fail."""

    def refuse() -> None:
        def fail(*_: object) -> None:
            raise AssertionError("the journal is read")

        monkeypatch.setattr(RunFolder, "open", fail)
        monkeypatch.setattr(TrialLog, "read", fail)

    return refuse


def describe(folder: RunFolder, table: TrialTable) -> dict[str, object]:
    """All that reports take from a folder and its table."""
    states = folder.states
    return {
        "rows": table.rows,
        "summary": summarise(folder),
        "results": [each for name in folder.scenarios for each in folder.results(name)],
        "usage": (folder.usage, states.usage, states.review_usage, states.reading_usage),
        "times": (folder.started, folder.ended, folder.active_s, folder.is_finished),
        "service": (folder.service, folder.service.compute_latency(0.5)),
        "faults": (folder.count_faults(), folder.fault_examples, folder.count_reviews()),
        "course": (folder.codes, folder.executors, folder.environments, folder.last_link),
        "findings": folder.judges_with_findings,
        "read": (folder.read_bytes, folder.is_chained),
        "last": [folder.get_last_time("ada", row) for row in range(2)],
    }


def test_a_cache_gives_all_that_the_journal_gives(
    run: Path, refuse_reading: Callable[[], None]
) -> None:
    read = RunFolder.open(run)
    from_journal = describe(read, read_trials(read))
    refuse_reading()
    cached = open_run_folder(run)

    assert describe(cached, read_trials(cached)) == from_journal


def spoil(cache: Path, change: Callable[[bytes], bytes]) -> None:
    cache.write_bytes(change(cache.read_bytes()))


def read_cache(cache: Path) -> dict[str, dict[str, Any]]:
    """What a cache holds."""
    start = len(run_cache._MAGIC) + sealed_file.DIGEST_BYTES
    return msgspec.msgpack.decode(cache.read_bytes()[start:], type=dict[str, dict[str, Any]])


def rewrite(cache: Path, **changes: dict[str, object]) -> None:
    """Change what a cache holds, with the right digest."""
    content = read_cache(cache)
    for part, fields in changes.items():
        content[part].update(fields)
    packed = msgspec.msgpack.encode(content)
    cache.write_bytes(run_cache._MAGIC + sealed_file._seal(packed) + packed)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "missing": lambda run: (run / CACHE).unlink(),
    "empty": lambda run: spoil(run / CACHE, lambda _: b""),
    "half written": lambda run: spoil(run / CACHE, lambda old: old[: len(old) // 2]),
    "one bit": lambda run: spoil(run / CACHE, lambda old: old[:-9] + b"\0" + old[-8:]),
    "of other code": lambda run: rewrite(run / CACHE, state={"code": "old"}),
    "with other slots": lambda run: rewrite(run / CACHE, folder={"scenarios": {}}),
    "without rows": lambda run: rewrite(run / CACHE, trials={"rows": 1}),
    "of a journal that was touched": lambda run: age(run / JOURNAL, -5),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_cache_that_is_not_right_is_passed_over_and_written_anew(
    run: Path, damage: Callable[[Path], None], refuse_reading: Callable[[], None]
) -> None:
    read = RunFolder.open(run)
    expected = describe(read, read_trials(read))
    damage(run)

    again = open_run_folder(run)
    assert describe(again, read_trials(again)) == expected

    refuse_reading()
    cached = open_run_folder(run)
    assert describe(cached, read_trials(cached)) == expected


def test_the_journal_itself_is_believed_against_a_forged_cache(run: Path) -> None:
    trials = read_cache(run / CACHE)["trials"]
    rewrite(run / CACHE, trials={"faults": ["forged"] * len(trials["faults"])})

    assert {row.fault for row in read_trials(open_run_folder(run)).rows} == {"forged"}
    assert "forged" not in {row.fault for row in read_trials(RunFolder.open(run)).rows}


def test_a_cache_of_another_run_is_passed_over(run: Path) -> None:
    story = ada_story(run.parent / "other")
    story.both(trial("dog"), PERFECT)
    story.save()
    shutil.copy(run / CACHE, run.parent / "other" / CACHE)

    assert len(read_trials(open_run_folder(run.parent / "other")).points) == 1


def test_what_is_appended_is_seen(run: Path) -> None:
    cached = open_run_folder(run)
    before = read_trials(cached).points
    event = Answered(at=NOON, trial=trial("dog"), answer=Answer(text="Rex"), seconds=0.1)
    with Journal(run / JOURNAL) as journal:
        journal.append(event)
    assert cached.read_on() == 1

    assert before.keys() - read_trials(cached).points.keys() == {trial("dog")}
    assert read_trials(open_run_folder(run)).rows == read_trials(cached).rows


def test_a_folder_that_cannot_be_written_to_has_no_cache(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    (run / CACHE).unlink()
    monkeypatch.setattr(sealed_file, "write_shared_file", refuse)

    assert read_trials(open_run_folder(run)).rows
    assert not (run / CACHE).exists()


def test_no_cache_is_made_of_a_journal_that_may_still_change(run: Path) -> None:
    (run / CACHE).unlink()
    os.utime(run / JOURNAL)

    read_trials(open_run_folder(run))

    assert not (run / CACHE).exists()
