"""Telling the dead from the living."""

from pathlib import Path

import pytest

from tests.features.models.event_loop import until


def is_running(pid: int) -> bool:
    """Whether the process exists and is not merely waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        if not Path("/proc/self").exists():
            pytest.skip("tells the dead from the living by /proc")
        return False


async def until_gone(*pids: int) -> None:
    """The killed may need a moment to be gone."""
    await until(lambda: not any(map(is_running, pids)))
