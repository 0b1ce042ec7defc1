"""Processes that share a folder: copies of this one where it can be copied, which start at once."""

import multiprocessing
from typing import TYPE_CHECKING

from tests.fork_server import can_fork

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext

PROCESSES: "ForkContext | SpawnContext" = (
    multiprocessing.get_context("fork") if can_fork() else multiprocessing.get_context("spawn")
)
