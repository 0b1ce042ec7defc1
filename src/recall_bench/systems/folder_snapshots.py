"""Saved states of memories that are folders."""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio.to_thread

from recall_bench.core.folders import copy_folder, remove_folder


class FolderSnapshots:
    """Snapshots that are folders of ours, each named by its token."""

    def __init__(self, make_folder: Callable[[], Path]) -> None:
        self._make_folder = make_folder
        self._saved: dict[str, Path] = {}

    async def drop(self, token: str) -> None:
        """Forget a saved state."""
        shutil.rmtree(self._saved.pop(token), ignore_errors=True)

    async def pack(self, token: str, place: Path) -> None:
        """Write a copy of the snapshot."""
        await anyio.to_thread.run_sync(copy_folder, self._saved[token], place)

    async def discard(self, place: Path) -> None:
        """Nothing is kept outside the folder."""

    async def _keep(self, fill: Callable[[Path], Awaitable[None]]) -> str:
        """A token for a new folder, after it was filled."""
        folder = self._make_folder()
        try:
            await fill(folder)
        except BaseException:
            remove_folder(folder)
            raise
        self._saved[folder.name] = folder
        return folder.name

    async def _keep_copy(
        self, source: Path, copy: Callable[[Path, Path], None] = copy_folder
    ) -> str:
        async def fill(folder: Path) -> None:
            await anyio.to_thread.run_sync(copy, source, folder)

        return await self._keep(fill)
