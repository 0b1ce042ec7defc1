"""A journal holds whole events in order, whatever happened to the process that wrote it."""

import errno
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recall_bench.core.append_log import is_busy
from recall_bench.core.errors import DataError, JournalLost, UsageError
from recall_bench.core.event import Ingested
from recall_bench.engine.runs.journal import Journal, read_events


def ingested(day: int) -> Ingested:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    return Ingested(at=at, scenario="s", day=day, checkpoint="30d", seconds=0.1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "journal.jsonl"


def test_what_is_appended_is_read_back_in_order(path: Path) -> None:
    with Journal(path) as journal:
        journal.append(ingested(1))
        journal.append(ingested(2))

    assert list(read_events(path)) == [ingested(1), ingested(2)]


def test_an_event_can_be_read_before_the_journal_is_closed(path: Path) -> None:
    with Journal(path) as journal:
        journal.append(ingested(1))

        assert list(read_events(path)) == [ingested(1)]


@pytest.mark.parametrize("torn", [b'{"type": "ing', b"\0" * 4096, b"\xff"])
def test_a_torn_last_line_is_not_an_event_and_the_next_append_replaces_it(
    path: Path, torn: bytes
) -> None:
    with Journal(path) as journal:
        journal.append(ingested(1))
    with path.open("ab") as file:
        file.write(torn)

    assert list(read_events(path)) == [ingested(1)]

    with Journal(path) as journal:
        journal.append(ingested(2))

    assert list(read_events(path)) == [ingested(1), ingested(2)]


def test_a_torn_first_line_leaves_an_empty_journal(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"type": "run_st')

    with Journal(path):
        pass

    assert path.read_bytes() == b""


@pytest.mark.parametrize("line", ["null", "42", "{}", '{"type": "unheard_of"}', "not json"])
def test_a_line_that_is_no_event_is_an_error_that_names_it(path: Path, line: str) -> None:
    with Journal(path) as journal:
        journal.append(ingested(1))
    with path.open("a") as file:
        file.write(line + "\n")

    with pytest.raises(DataError, match=r"journal\.jsonl, line 2: not a journal event"):
        list(read_events(path))


def test_a_second_writer_is_turned_away(path: Path) -> None:
    with Journal(path), pytest.raises(UsageError, match="another run is writing"), Journal(path):
        pass


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with (
        pytest.raises(UsageError, match="cannot write there"),
        Journal(tmp_path / "file" / "journal.jsonl"),
    ):
        pass


def test_lines_are_on_the_disk_within_a_fifth_of_a_second(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, synced = [100.0], list[float]()
    monkeypatch.setattr("recall_bench.core.append_log.time.monotonic", lambda: now[0])
    monkeypatch.setattr("recall_bench.core.append_log.os.fsync", lambda _: synced.append(now[0]))
    with Journal(path) as journal:
        for now[0] in (100.0, 100.1, 100.3, 100.4, 100.6):
            journal.append(ingested(1))

    assert synced == [100.0, 100.3, 100.6, 100.6], "and once more when it is closed"


def test_only_a_journal_that_is_written_now_is_busy(path: Path) -> None:
    assert not is_busy(path)
    with Journal(path):
        assert is_busy(path)
    assert not is_busy(path)


def test_a_lock_that_cannot_be_opened_keeps_no_one_out(path: Path) -> None:
    path.with_name(f".{path.name}.lock").mkdir(parents=True)

    assert not is_busy(path)


def test_a_journal_that_cannot_be_opened_is_not_kept_from_others(path: Path) -> None:
    path.mkdir(parents=True)
    unopened = Journal(path)
    with pytest.raises(UsageError, match="cannot be opened"), unopened:
        pass
    path.rmdir()

    with Journal(path) as journal:
        journal.append(ingested(1))

    assert len(list(read_events(path))) == 1


def test_a_write_that_fails_half_way_leaves_whole_lines_and_ends_the_writing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, room = os.write, [10]

    def full(file: int, line: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, line[: room.pop()])

    with Journal(path) as journal:
        journal.append(ingested(1))
        whole = path.read_bytes()
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(JournalLost, match="No space left"):
            journal.append(ingested(2))
        monkeypatch.undo()
        assert path.read_bytes() == whole, "nothing of the line that did not fit"
        with pytest.raises(JournalLost):
            journal.append(ingested(3))

    assert list(read_events(path)) == [ingested(1)]


def test_a_full_disk_under_a_new_journal_is_the_loss_of_the_journal(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "ftruncate", full)

    with pytest.raises(JournalLost, match="no space left on the disk"), Journal(path):
        pass
