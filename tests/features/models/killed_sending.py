"""Deaths of a process that sends batches: just before or after each step that others can see."""

import inspect
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from recall_bench.features.models import batch_delivery
from recall_bench.features.models.batch_files import BatchFiles
from recall_bench.features.models.batch_service import BatchService

Step = tuple[object, str]

SENDING_STEPS: Sequence[Step] = (
    (BatchService, "fetch"),
    (BatchFiles, "write_requests"),
    (batch_delivery, "replace_file"),
)
"""What is sent to the service, and what is written beside it."""


def die_at(moment: int, steps: Sequence[Step] = SENDING_STEPS) -> None:
    """Kill -9 this process at the so many-th moment: there is one before and one after a step."""
    left = [moment]

    def count() -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for owner, name in steps:
        setattr(owner, name, _wrap(getattr(owner, name), count))


def _wrap(step: Callable[..., Any], count: Callable[[], None]) -> Callable[..., Any]:
    def run(*words: Any, **more: Any) -> Any:
        count()
        found = step(*words, **more)
        count()
        return found

    async def run_async(*words: Any, **more: Any) -> Any:
        count()
        found = await step(*words, **more)
        count()
        return found

    return run_async if inspect.iscoroutinefunction(step) else run
