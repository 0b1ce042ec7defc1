"""Calls in a worker thread end, and can be stopped, while the process is profiled."""

import subprocess
import sys

PROFILED = """
import cProfile, time
import anyio
from recall_bench.systems.python.worker_thread import WorkerThread

def work_on(swallows):
    try:
        while True:
            time.sleep(0.001)
    except BaseException:
        if not swallows:
            raise

async def cancel_calls(worker):
    for number in range(8):
        with anyio.move_on_after(0.02 * (1 + number % 3)):
            await worker.run(lambda: work_on(number % 2))
        assert not worker.is_stuck
        assert (await worker.run(lambda: number)).value == number

with cProfile.Profile():
    worker = WorkerThread("profiled")
    for number in range(20):
        assert worker.run_blocking(lambda: number).value == number
    anyio.run(cancel_calls, worker)
    assert worker.run_blocking(lambda: "still there").value == "still there"
print("done")
"""


def test_calls_end_and_can_be_stopped_under_a_profiler() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROFILED], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stdout == "done\n", done.stderr
