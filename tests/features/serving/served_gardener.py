"""A server of the public protocol in a process of its own, for runs over gRPC.

    python -m tests.features.serving.served_gardener "PORT [METHOD:CALL:ACTION]"

ACTION is a status code to fail with, or `die` to be killed.
A call of 0 means every call. Without arguments it copies itself for each request.
"""

import asyncio
import os
import signal
import sys
from typing import Any

import grpc

from recall_bench.systems.grpc.grpc_messages import load_messages
from tests.features.serving.grpc_server import Diary, started
from tests.fork_server import serve_forks


class Gardener(Diary):
    """Answers with the line that shares most words, and misbehaves once as told."""

    def __init__(self, method: str, call: int, action: str) -> None:
        super().__init__()
        self._method, self._call, self._action = method, call, action
        self._seen = 0

    async def handle(self, method: str, request: Any, context: Any) -> Any:
        if method == self._method:
            self._seen += 1
            if self._call in (0, self._seen):
                await self._misbehave(context)
        return await super().handle(method, request, context)

    async def _misbehave(self, context: Any) -> None:
        if self._action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        await context.abort(grpc.StatusCode[self._action], "as told")

    def usual(self, method: str, request: Any) -> Any:
        if method != "Query":
            return super().usual(method, request)
        wanted = set(request.question.lower().strip("?").split())
        lines = [line for day in self.days for line in day.splitlines()] or ["no memory"]
        best = max(lines, key=lambda line: len(wanted & set(line.lower().strip(".").split())))
        return load_messages()["QueryResponse"](answer=best)


async def serve(port: int, fault: str) -> None:
    method, call, action = (fault or "none:0:none").split(":")
    _, bound = await started(Gardener(method, int(call), action), port=port)
    sys.stdout.write(f"{bound}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    request = sys.argv[1] if len(sys.argv) > 1 else serve_forks()
    number, _, wanted = request.partition(" ")
    asyncio.run(serve(int(number), wanted))
