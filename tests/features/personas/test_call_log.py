"""Replies on record: durable, never asked for again, and asked for anew when overwriting."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from recall_bench.core.errors import DataError, FolderBusy
from recall_bench.core.usage import Usage
from recall_bench.features.personas.call_log import CallLog, ModelCall
from recall_bench.systems.models.model import Prompt

PROMPT = Prompt(system="s", user="u")


def call(log: CallLog, text: str, cost_usd: float = 0.5) -> ModelCall:
    return ModelCall(
        at=datetime(2026, 1, 1, tzinfo=UTC),
        unit="day 1",
        key=log.make_key("m", PROMPT, 0),
        model="m",
        text=text,
        usage=Usage(calls=1, cost_usd=cost_usd),
    )


def test_a_reply_is_there_for_the_next_run_and_so_is_its_price(tmp_path: Path) -> None:
    with CallLog(tmp_path / "x.jsonl") as log:
        log.record_call(call(log, "said"))
    with CallLog(tmp_path / "x.jsonl") as log:
        found = log.find_reply(log.make_key("m", PROMPT, 0))

        assert found is not None
        assert found.text == "said"
        assert found.usage == Usage(cached=1)
        assert log.spent == Usage(calls=1, cost_usd=0.5)
        assert log.find_reply(log.make_key("m", PROMPT, 1)) is None
        assert log.find_reply(log.make_key("other", PROMPT, 0)) is None


def test_a_torn_last_line_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with CallLog(path) as log:
        log.record_call(call(log, "whole"))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])

    with CallLog(path) as log:
        assert log.spent.calls == 1
    assert path.read_bytes() == whole


def test_a_changed_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}\n")

    with pytest.raises(DataError, match=r"x\.jsonl, line 1"), CallLog(path):
        pass
    path.write_text("")
    with CallLog(path):  # the lock was let go
        pass


def test_one_process_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with CallLog(path), pytest.raises(FolderBusy), CallLog(path):
        pass


def test_overwriting_asks_anew_and_goes_on_when_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with CallLog(path) as log:
        log.record_call(call(log, "first"))
        first = log.make_key("m", PROMPT, 0)
        log.begin_round(overwrite=True)
        second = log.make_key("m", PROMPT, 0)
        log.mark_written("day 1")

        assert first != second
        assert log.find_reply(second) is None
    with CallLog(path) as log:
        log.begin_round(overwrite=True)

        assert log.make_key("m", PROMPT, 0) == second
        assert log.is_done_in_round("day 1")
        assert not log.is_done_in_round("day 2")
        log.end_round()
    with CallLog(path) as log:
        log.begin_round(overwrite=False)
        assert log.make_key("m", PROMPT, 0) == second
        log.begin_round(overwrite=True)
        assert log.make_key("m", PROMPT, 0) not in {first, second}
        assert not log.is_done_in_round("day 1")
