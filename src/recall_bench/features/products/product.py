"""What in-process products share: registration, embedder, and the base of their adapters."""

import inspect
import os
import shutil
import sqlite3
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, TypeVar

from recall_bench.core.distribution import format_install
from recall_bench.core.errors import UsageError
from recall_bench.core.folders import measure_folder
from recall_bench.core.memory import MemorySystem
from recall_bench.systems.endpoint_client import request_embeddings
from recall_bench.systems.notes import DayNote, StoredNote, list_visible_sessions, split_notes
from recall_bench.systems.python.adapter import DayMetadata, QueryContext
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.transports.child_environment import STATE_DIR

UNUSED_KEY = "unused"
"""The clients of model servers require a key, and the endpoint ignores it."""

T = TypeVar("T")

Passages = dict[str, object]
"""An adapter's reply: the key `passages` and a list of mappings."""


class Product:
    """Builds the system of a product from its settings, or says what is missing for it.

    Nothing of the product is imported before it is called.
    """

    def __init__(
        self,
        adapter: type,
        *,
        needs: tuple[str, ...] = (),
        programs: tuple[str, ...] = (),
        extra: str | None = None,
        wants_endpoint: bool = False,
    ) -> None:
        self.adapter = adapter
        self.name: str = getattr(adapter, "name", adapter.__name__)
        self.needs = needs
        """The modules it imports that the base install lacks."""
        self.programs = programs
        """The programs it starts, which no extra installs."""
        self.extra = self.name if extra is None else extra
        """The extra of recall-bench that installs the modules."""
        self.wants_endpoint = wants_endpoint
        """Whether it needs a model endpoint, so that one must be started for it."""
        self.__doc__ = adapter.__doc__

    @property
    def takes_endpoint(self) -> bool:
        """Whether its adapter has a parameter for a model endpoint."""
        return "endpoint" in inspect.signature(self.adapter).parameters

    @property
    def is_installed(self) -> bool:
        """Whether every module it needs can be imported here."""
        return all(map(_is_importable, self.needs))

    def __call__(
        self, config: Mapping[str, object], *, endpoint: str | None = None
    ) -> MemorySystem:
        """The system, or UsageError. The endpoint, a base URL ending in /v1, is on no card."""
        if not self.is_installed:
            raise UsageError(f"{self.name} is not installed; {format_install(self.extra)}")
        for program in self.programs:
            if shutil.which(program) is None:
                raise UsageError(
                    f"{self.name} needs the program {program}, which is not on the PATH; install it"
                )
        if endpoint is None and self.wants_endpoint:
            raise UsageError(f"{self.name} needs a model endpoint, and none was started for it")
        if endpoint is not None and not self.takes_endpoint:
            raise UsageError(f"{self.name} has no use for a model endpoint; start none for it")
        arguments = {"endpoint": endpoint} if self.takes_endpoint else {}
        # Default settings also decide what is found, so they belong on the card.
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(self.adapter).parameters.items()
            if name not in arguments and parameter.default is not inspect.Parameter.empty
        }
        # A program that was started for a run is given a folder, which outlasts it.
        folder = os.environ.get(STATE_DIR)
        return build_python_system(
            self.adapter,
            {**defaults, **config},
            given=arguments,
            is_ours=True,
            state_dir=Path(folder) if folder else None,
            keeps_states=folder is not None,
        )


class ProductEmbedder:
    """Embeds in this process, or through an OpenAI-compatible endpoint if one is given."""

    def __init__(self, endpoint: str | None = None) -> None:
        self._endpoint = endpoint
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        if self._dimensions is None:
            self._dimensions = len(self.embed(["length"])[0])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text. ConnectionError or TimeoutError if the endpoint does not serve."""
        if self._endpoint is not None:
            return request_embeddings(self._endpoint, texts)
        from recall_bench.systems.models.static_embedding import embed

        vectors: list[list[float]] = embed(texts).tolist()
        return vectors


@dataclass(kw_only=True, eq=False)
class ProductAdapter:
    """Base of the adapters of products; its fields are their settings."""

    name: ClassVar[str]
    package: ClassVar[str]
    """The distribution whose version is recorded."""
    clock = "native"
    answers = False

    k: int = 10
    """How many passages are found where a run sets no limit."""
    respect_sessions: bool = False

    @property
    def version(self) -> str:
        """The version of the product."""
        return version(self.package)

    @property
    def honours_sessions(self) -> bool:
        """Whether what one session said is kept from another."""
        return self.respect_sessions

    def list_sessions(self, context: QueryContext) -> tuple[str, ...] | None:
        """The sessions that a question may see; None for all."""
        return list_visible_sessions(context) if self.respect_sessions else None


@dataclass(kw_only=True, eq=False)
class FolderAdapter(ProductAdapter):
    """Base of the adapters whose product keeps its files in a folder, inside this process."""

    state_dir: Path

    def stored_bytes(self) -> int:
        """The size of the product's folder."""
        return measure_folder(self.state_dir)


@dataclass(kw_only=True, eq=False)
class NoteFinder(FolderAdapter, ABC):
    """Base of those that find notes one question at a time."""

    def query(self, question: str, context: QueryContext) -> Passages:
        """The notes found, best first."""
        sessions = self.list_sessions(context)
        return {"passages": self.find_passages(question, context.top_k or self.k, sessions)}

    @abstractmethod
    def find_passages(
        self, question: str, limit: int, sessions: Sequence[str] | None
    ) -> list[dict[str, object]]:
        """The best passages, of these sessions unless that is None."""


class NoteEraser(ABC):
    """Erases and lists notes by a product's own means.

    A subclass lists its notes and deletes those that it is given. Which are meant is decided here,
    the same way for all: a product that deletes by key or filter need not know what a day is.
    """

    @abstractmethod
    def list_notes(self) -> Iterable[StoredNote]:
        """Every note in the store."""

    @abstractmethod
    def erase_notes(self, keys: Sequence[str]) -> int | None:
        """Delete at least one note; how many the product says it deleted, None if it says nothing.

        What was asked for is not returned: it would pass for a confirmation by the product.
        """

    def delete(self, episode: str) -> int | None:
        """Erase the notes of an episode."""
        return self._erase(lambda note: note.episode == episode)

    def delete_session(self, session: str) -> int | None:
        """Erase the notes of a session."""
        return self._erase(lambda note: note.session == session)

    def delete_person(self, person: str) -> int | None:
        """Erase the notes that have the name."""
        return self._erase(lambda note: person in note.text)

    def stored(self) -> list[dict[str, object]]:
        """List every note."""
        return [note.entry for note in self.list_notes()]

    def stored_days(self) -> set[int] | None:
        """The days of the notes in the store."""
        return {note.day for note in self.list_notes()}

    def _erase(self, is_meant: Callable[[StoredNote], bool]) -> int | None:
        keys = [note.key for note in self.list_notes() if is_meant(note)]
        return self.erase_notes(keys) if keys else None


@dataclass(kw_only=True, eq=False)
class StoreAdapter(NoteEraser, NoteFinder):
    """Base of the adapters whose product embeds notes.

    A subclass opens its store in `setup`.
    """

    endpoint: str | None = None

    def __post_init__(self) -> None:
        self.embedder = ProductEmbedder(self.endpoint)

    @abstractmethod
    def setup(self) -> None:
        """Open the store in the folder, which may hold one already."""

    def reopen(self) -> None:
        """Open what an earlier process left in the folder."""
        self.setup()

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Store the day's notes."""
        if notes := split_notes(day, content, metadata):
            self.add_notes(notes)

    @abstractmethod
    def add_notes(self, notes: Sequence[DayNote]) -> None:
        """Store at least one note."""


def split_batches(entries: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The entries in order, at most `size` at a time."""
    for start in range(0, len(entries), size):
        yield entries[start : start + size]


def _is_importable(module: str) -> bool:
    if module in sys.modules:
        return True
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def require_sqlite_extensions() -> None:
    """RuntimeError if this Python's sqlite3 cannot load extensions."""
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        raise RuntimeError("this Python's sqlite3 loads no extensions; use another, as Debian's")
