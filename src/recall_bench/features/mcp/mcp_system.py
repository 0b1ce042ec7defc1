"""Any MCP memory server as a system, by a map of its tools.

`build_reference_server` is npm's reference memory server: a knowledge graph in one file. True
limits: it finds the notes that contain the letters of a query, and ranks nothing. So the question
is searched word by word and the ranking is ours. It reads and writes its whole file at every call.
"""

import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from weakref import WeakKeyDictionary, finalize

import msgspec

from recall_bench.core.errors import NotOffered, SystemGone, UsageError
from recall_bench.core.folders import TemporaryFolders, copy_folder
from recall_bench.core.memory import (
    UNDECLARED,
    Isolation,
    IsolationCard,
    Memory,
    MemorySystem,
    Offer,
    SystemCard,
)
from recall_bench.core.runtime import run_to_end
from recall_bench.core.user_code import require_libraries
from recall_bench.features.mcp.mcp_connection import (
    SILENCE_GRACE_S,
    HttpEndpoint,
    McpConnection,
    McpEndpoint,
    ServerGreeting,
    StdioEndpoint,
)
from recall_bench.features.mcp.mcp_memory import McpMemory, OwnServerMemory
from recall_bench.features.mcp.server_map import ServerMap, fill_template, read_server_map
from recall_bench.systems.snapshots import CopiedSnapshots
from recall_bench.systems.transports.server_yaml import shorten_digest


async def start_mcp_system(
    path: Path, env: Sequence[str] = (), *, grace_s: float = SILENCE_GRACE_S
) -> "McpSystem":
    """The system that this YAML file describes; its server is started once to read its name.

    UsageError if the file is wrong, or the server lacks a tool of it.
    """
    require_mcp()
    system = McpSystem(read_server_map(path), path=path, name=path.stem, env=env, grace_s=grace_s)
    try:
        await system.fetch_identity()
    finally:
        await system.close()
    return system


def require_mcp() -> None:
    """Import the SDK, which takes a second, before anything is timed; UsageError without it."""
    require_libraries("an MCP server", "mcp", "mcp.client.session")


class McpSystem:
    """One server per memory, or one running server for all."""

    def __init__(
        self,
        spec: ServerMap,
        *,
        path: Path,
        name: str,
        version: str = "",
        env: Sequence[str] = (),
        grace_s: float = SILENCE_GRACE_S,
    ) -> None:
        self.spec = spec
        self.snapshots = _McpSnapshots(self) if spec.snapshots == "copy" else None
        self._path = path
        self._name = name
        self._version = version
        self._env = tuple(env)
        self._grace_s = grace_s
        self._config: dict[str, object] = {
            "transport": "mcp",
            "map": shorten_digest(path),
            "query": spec.search.query,
            "each": spec.ingest.each,
        }
        self._folders = TemporaryFolders()
        self._open: set[McpMemory] = set()
        self._removers: WeakKeyDictionary[McpMemory, finalize[..., McpMemory]] = WeakKeyDictionary()
        """What removes the folder of a closed memory once it cannot be reopened."""
        self._opened = 0

    @property
    def card(self) -> SystemCard:
        """The server's name and version, once connected, and what the map says."""
        return SystemCard(
            name=self.spec.name or self._name,
            version=self._version or UNDECLARED,
            config=self._config,
            max_concurrency=self.spec.max_concurrency,
            clock=self.spec.clock,
            asker=self.spec.asker,
            answers=False,
            isolation=self._isolation,
        )

    @property
    def _isolation(self) -> IsolationCard | None:
        """None for a server that others started."""
        if self.spec.is_shared:
            return None
        return IsolationCard(kind=Isolation.PROCESS, env=self._env)

    @property
    def max_shards(self) -> int | None:
        """As the map says; by default 1 for a shared server, else any number."""
        return self.spec.max_shards or (1 if self.spec.is_shared else None)

    async def fetch_identity(self) -> None:
        """Read the server's name; UsageError if it lacks a tool of the map."""
        connection, greeting = await self._greet_server(self.make_folder())
        await connection.close()
        self._name = greeting.name or self._name
        self._version = greeting.version

    async def open(self, scenario: str) -> McpMemory:  # noqa: ARG002
        """An empty memory."""
        if self.spec.server.url is not None and not self.spec.is_named:
            url = self.spec.server.url
            if self.spec.reset is None and self._opened:
                raise UsageError(
                    f"the server at {url} cannot keep a second memory apart from the first; use "
                    "{memory} in the arguments of ingest and search, or name a tool as reset"
                )
            if self._open:
                raise UsageError(
                    f"the server at {url} holds one memory at a time, and one is open; use "
                    "{memory} in the arguments of ingest and search to keep several apart"
                )
        return await self.begin_memory(self.create_memory(), is_new=True)

    @property
    def offers(self) -> frozenset[Offer]:
        """What the map has tools for."""
        return self.spec.offers

    async def reopen(self, memory: Memory) -> McpMemory:
        """A memory on a new server that goes on with the files of another's, which is ended."""
        if not isinstance(memory, McpMemory):
            raise UsageError(f"a {type(memory).__name__} is not a memory of this system")
        if Offer.REOPEN not in self.offers:
            raise NotOffered(f"{self.card.name} cannot be started again on its files")
        await memory.close()
        remover = self._removers.pop(memory, None)
        if remover is not None:
            remover.detach()
        if not memory.state.is_dir():
            raise SystemGone(f"{self.card.name} has no files of this memory any more")
        successor = self.create_memory(memory.folder)
        successor.known, successor.name = dict(memory.known), memory.name
        return await self.begin_memory(successor, is_new=False)

    async def close(self) -> None:
        """Close every memory and remove every folder."""
        for memory in tuple(self._open):
            await memory.close()
        self._folders.remove_all()

    def create_memory(self, folder: Path | None = None) -> McpMemory:
        """A memory that is not connected yet, in an empty folder unless one is given."""
        self._opened += 1
        # Unique, because earlier runs may have left memories on a shared server.
        name = f"recall-bench-{self._opened}-{secrets.token_hex(4)}"
        kind = McpMemory if self.spec.server.url is not None else OwnServerMemory
        return kind(
            self.spec,
            self._connect,
            folder=folder or self.make_folder(),
            name=name,
            on_close=self._release,
        )

    async def copy_memory(self, memory: McpMemory) -> McpMemory:
        """A memory on a copy of the files; the server is ended first, so that they are complete."""
        await memory.disconnect()
        copy = self.create_memory()
        copy.known = dict(memory.known)
        # On one server of its own, the name is part of the files.
        copy.name = memory.name
        try:
            copy_folder(memory.state, copy.state)
        except (OSError, shutil.Error) as error:
            raise SystemGone(
                f"the files of {self.card.name} cannot be copied ({error}); run the same command "
                "again when they can"
            ) from error
        return copy

    async def begin_memory(self, memory: McpMemory, *, is_new: bool) -> McpMemory:
        """The memory, connected."""
        self._open.add(memory)
        try:
            await memory.begin(is_new=is_new)
        except BaseException:
            await memory.close()
            raise
        return memory

    def make_folder(self) -> Path:
        """A folder with an empty `state` that lasts until `close`, unless it is removed before."""
        folder = self._folders.make()
        (folder / "state").mkdir()
        return folder

    async def _connect(self, folder: Path) -> McpConnection:
        connection, _ = await self._greet_server(folder)
        return connection

    async def _greet_server(self, folder: Path) -> tuple[McpConnection, ServerGreeting]:
        server = self.spec.server
        endpoint: McpEndpoint
        if server.url is not None:
            where = server.url
            endpoint = HttpEndpoint(server.url, server.headers)
        else:
            where = f"the server {self._name}"
            place = {"state_dir": str(folder / "state")}
            endpoint = StdioEndpoint(
                [str(fill_template(word, place)) for word in server.command],
                {name: str(fill_template(text, place)) for name, text in server.env.items()},
                folder,
                self._env,
            )
        connection = McpConnection(endpoint, where=where, grace_s=self._grace_s)
        greeting = await connection.connect(self.spec.server.start_timeout_s)
        lacking = [tool for tool in self.spec.tools if tool not in greeting.tools]
        if lacking:
            await connection.close()
            raise UsageError(
                f"{self._path}: the server {greeting.name or self._name} has no tool "
                f"{lacking[0]!r}; name one of those it offers: "
                f"{', '.join(greeting.tools) or 'none'}"
            )
        return connection, greeting

    def _release(self, memory: McpMemory) -> None:
        self._open.discard(memory)
        if Offer.REOPEN not in self.offers:
            shutil.rmtree(memory.folder, ignore_errors=True)
        elif memory not in self._removers:
            self._removers[memory] = finalize(
                memory, shutil.rmtree, memory.folder, ignore_errors=True
            )


class _McpSnapshots(CopiedSnapshots[McpMemory]):
    """Snapshots: copies of a server's files, made while it does not run."""

    def __init__(self, system: McpSystem) -> None:
        super().__init__(McpMemory, system.copy_memory)
        self._system = system

    async def open(self, token: str) -> McpMemory:
        """A new server on a copy of the files."""
        return await self._system.begin_memory(await super().open(token), is_new=False)

    async def open_last(self, token: str) -> McpMemory:
        """A server on the saved files themselves."""
        return await self._system.begin_memory(await super().open_last(token), is_new=False)

    async def drop(self, token: str) -> None:
        """Forget a saved state, unless it was opened."""
        if (memory := self._saved.pop(token, None)) is not None:
            shutil.rmtree(memory.folder, ignore_errors=True)


REFERENCE_NAME = "mcp-server-memory"
REFERENCE_FOLDER_VARIABLE = "RECALL_BENCH_MCP_SERVER_MEMORY"
"""The environment variable that names the folder npm installed the server into."""

_REFERENCE_MAP = Path(__file__).with_name("servers") / f"{REFERENCE_NAME}.yaml"
_REFERENCE_PACKAGE = Path("node_modules", "@modelcontextprotocol", "server-memory")


def build_reference_server(config: Mapping[str, object]) -> MemorySystem:
    """MCP's reference memory server, a graph in a file: finds notes by letters. One setting, `k`.

    UsageError says what is missing for it.
    """
    require_mcp()
    folder = Path(os.environ.get(REFERENCE_FOLDER_VARIABLE) or Path(".products", REFERENCE_NAME))
    package = (folder / _REFERENCE_PACKAGE).resolve()
    if not (package / "dist" / "index.js").is_file():
        raise UsageError(
            f"{REFERENCE_NAME} is not installed in {folder}; make product "
            f"NAME={REFERENCE_NAME}, or let {REFERENCE_FOLDER_VARIABLE} name "
            "the folder that npm installed @modelcontextprotocol/server-memory into"
        )
    node = shutil.which("node")
    if node is None:
        raise UsageError(
            f"{REFERENCE_NAME} needs the program node, which is not on the PATH; install it"
        )
    spec_of_package = read_server_map(_REFERENCE_MAP)
    command = (node, str(package / "dist" / "index.js"))
    spec = msgspec.structs.replace(
        spec_of_package,
        server=msgspec.structs.replace(spec_of_package.server, command=command),
        k=_read_k(config, spec_of_package.k),
    )
    version = str(json.loads((package / "package.json").read_text(encoding="utf-8"))["version"])
    return McpSystem(spec, path=_REFERENCE_MAP, name=REFERENCE_NAME, version=version)


def _read_k(config: Mapping[str, object], default: int) -> int:
    unknown = sorted(set(config) - {"k"})
    if unknown:
        raise UsageError(f"{REFERENCE_NAME} has no setting {unknown[0]!r}; the one there is is k")
    k = config.get("k", default)
    if not isinstance(k, int) or k < 1:
        raise UsageError(f"k is {k!r}; say how many notes are given back, from 1")
    return k


def start_described_server(path: Path, env: Sequence[str]) -> MemorySystem:
    """The MCP server that a YAML file describes."""
    return run_to_end(start_mcp_system, path, env)
