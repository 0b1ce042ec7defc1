"""Replies of a worker process arrive in pieces of any size."""

from itertools import pairwise
from typing import cast

import anyio
import pytest
from anyio.abc import ByteReceiveStream, Process

from recall_bench.engine.process_worker import ProcessWorker
from recall_bench.engine.worker_messages import RunUnit, UnitEvents, encode_frame

EVENTS = [
    *(UnitEvents(lines=lines) for lines in (b"a", b"b" * 300, b"", b"c" * 5, b"d" * 40)),
    UnitEvents(is_over=True),
]
REPLIES = b"".join(map(encode_frame, (UnitEvents(), *EVENTS)))


class Pieces(ByteReceiveStream):
    """Gives out what it is told, a piece at a time."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.left = pieces

    async def receive(self, max_bytes: int = 65536) -> bytes:
        await anyio.lowlevel.checkpoint()
        if not self.left:
            raise anyio.EndOfStream
        return self.left.pop(0)

    async def aclose(self) -> None:
        self.left = []


class Pipe:
    """Takes whatever is sent."""

    async def send(self, content: bytes) -> None:
        await anyio.lowlevel.checkpoint()


class ReplayedProcess:
    """A process that has said everything already."""

    pid = 1

    def __init__(self, pieces: list[bytes]) -> None:
        self.stdin = Pipe()
        self.stdout = Pieces(pieces)


async def receive_messages(pieces: list[bytes]) -> list[object]:
    worker = ProcessWorker(cast("Process", ReplayedProcess(pieces)), 1)
    found: list[object] = []
    await worker.wait_ready()
    # It is sent and not looked at: the replies are there.
    await worker.perform(cast("RunUnit", "unit"), found.append)
    return found


@pytest.mark.anyio
async def test_wherever_they_are_cut_they_are_read_whole() -> None:
    for first in range(1, len(REPLIES) - 1):
        for second in {first + 1, first + 8, first + 60, len(REPLIES) - 1}:
            cuts = [0, first, *([second] if first < second < len(REPLIES) else []), len(REPLIES)]
            pieces = [REPLIES[a:b] for a, b in pairwise(cuts)]

            assert await receive_messages(pieces) == EVENTS, cuts
