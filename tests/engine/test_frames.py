"""How many of our frames lie between a command and the system that gets its question."""

import sys
from pathlib import Path

import pytest

import recall_bench
from recall_bench.systems.builtin.index_memory import IndexMemory
from tests.commands import Invoke
from tests.gardener import write_persona

OURS = str(Path(recall_bench.__file__).parent)
MOST, MOST_AFTER_EXECUTE = 12, 6


@pytest.mark.parametrize("lifecycle", ["fresh", "forked", "growing"])
def test_the_way_to_the_system_is_short_and_the_same(
    invoke: Invoke, tmp_path: Path, lifecycle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: list[list[str]] = []
    answer = IndexMemory.answer

    def note_frames(self: IndexMemory, *given: object) -> object:
        frame, way = sys._getframe(1), list[str]()
        while frame.f_back is not None:
            if frame.f_code.co_filename.startswith(OURS):
                way.append(frame.f_code.co_qualname)
            frame = frame.f_back
        ways.append(way[::-1])
        return answer(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(IndexMemory, "answer", note_frames)
    write_persona(tmp_path / "data")
    flags = ("--data", tmp_path / "data", "--ranges", "5d", "--lifecycle", lifecycle)
    shown = invoke("run", *flags, "--adapter", "bm25", "--no-heatmap-png")

    assert shown.code == 0, shown.err
    assert ways
    for way in ways:
        assert len(way) <= MOST, way
        assert len(way[way.index("execute") + 1 :]) <= MOST_AFTER_EXECUTE, way
        assert "_CheckpointAsker.ask_trials" in way
