"""A product is made from its settings and what the run brings, or says what it lacks."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core import user_code
from recall_bench.core.distribution import format_install
from recall_bench.core.errors import UsageError
from recall_bench.core.memory import MemorySystem, MemoryWithFolder, RetrievalReply
from recall_bench.features.products.product import NoteEraser, Product
from recall_bench.systems.notes import StoredNote
from recall_bench.systems.python.adapter import DayMetadata, QueryContext
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.transports.child_environment import STATE_DIR
from tests.conftest import episode
from tests.systems.diary import question

pytestmark = pytest.mark.anyio


class Silent(NoteEraser):
    """A product that deletes what it is asked to, all but the last, and says nothing."""

    def __init__(self, *texts: str) -> None:
        self.notes = [
            StoredNote(key=text, text=text, episode="day", session="", day=1) for text in texts
        ]

    def list_notes(self) -> list[StoredNote]:
        return self.notes

    def erase_notes(self, keys: Sequence[str]) -> None:
        self.notes = [note for note in self.notes if note.key not in keys[:-1]]


def test_what_was_asked_for_does_not_pass_for_a_confirmation() -> None:
    silent = Silent("Ada came.", "Ada left.")
    assert silent.delete_person("Ada") is None
    assert [note.text for note in silent.notes] == ["Ada left."]


class Shelf:
    """Finds where it was told to look.

    And much besides.
    """

    name = "shelf"
    answers = False

    def __init__(self, *, state_dir: Path, k: int = 10, endpoint: str | None = None) -> None:
        self.k = k
        self.endpoint = endpoint

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        pass

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        return {"passages": [{"text": f"{self.k} from {self.endpoint}"}]}


class Drawer(Shelf):
    name = "drawer"

    def __init__(self, *, state_dir: Path) -> None:
        super().__init__(state_dir=state_dir)
        self.path = state_dir / "contents"

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        self.path.write_text(content, encoding="utf-8")

    def reopen(self) -> None:
        pass


class Box(Shelf):
    name = "box"

    def __init__(self) -> None:
        super().__init__(state_dir=Path())


async def found(system: MemorySystem) -> str:
    memory = await system.open("ada")
    reply = await memory.answer(question("?"))
    await memory.close()
    await system.close()
    assert isinstance(reply, RetrievalReply)
    return reply.passages[0].text


async def test_a_program_that_a_run_started_leaves_its_files_in_the_folder_it_was_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next process goes on with them when this one was killed."""
    monkeypatch.setenv(STATE_DIR, str(tmp_path))
    system = Product(Drawer)({})
    memory = await system.open("ada")
    await memory.ingest(episode(1, "a key"))
    assert isinstance(memory, MemoryWithFolder)
    folder = memory.state_folder
    await memory.close()
    await system.close()

    assert folder is not None
    assert folder.is_relative_to(tmp_path)
    assert (folder / "contents").read_text(encoding="utf-8").strip() == "a key"


async def test_settings_and_endpoint_reach_the_adapter() -> None:
    system = Product(Shelf)({"k": 3}, endpoint="http://127.0.0.1:1/v1")

    assert await found(system) == "3 from http://127.0.0.1:1/v1"


async def test_the_card_has_every_setting_and_no_address() -> None:
    first = Product(Shelf)({}, endpoint="http://127.0.0.1:1/v1")
    second = Product(Shelf)({}, endpoint="http://127.0.0.1:2/v1")

    assert first.card == second.card
    assert first.card.config == {"k": 10}
    await first.close()
    await second.close()


async def test_what_is_given_besides_the_settings_is_for_every_memory() -> None:
    system = build_python_system(Shelf, {"k": 2}, given={"endpoint": "there"})

    await (await system.open("ada")).close()

    assert await found(system) == "2 from there"


def test_what_a_run_brings_is_not_a_setting() -> None:
    with pytest.raises(UsageError, match="endpoint is not a setting, every run brings its own"):
        Product(Shelf)({"endpoint": "http://elsewhere/v1"})


def test_an_unknown_setting_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"it takes k$"):
        Product(Shelf)({"top": 3})


def test_a_missing_module_is_answered_with_the_extra_to_install() -> None:
    product = Product(Shelf, needs=("json", "no_such_module.inside"), extra="shelves")

    with pytest.raises(UsageError) as refusal:
        product({})

    assert str(refusal.value) == f"shelf is not installed; {format_install('shelves')}"


def test_a_missing_program_is_named() -> None:
    with pytest.raises(UsageError, match="shelf needs the program no-such-program, which is not"):
        Product(Shelf, programs=("no-such-program",))({})


def test_a_product_that_cannot_do_without_an_endpoint_says_so() -> None:
    with pytest.raises(UsageError, match="shelf needs a model endpoint"):
        Product(Shelf, wants_endpoint=True)({})


def test_an_endpoint_is_not_taken_silently_by_a_product_that_has_no_use_for_it() -> None:
    product = Product(Box)

    assert not product.takes_endpoint
    with pytest.raises(UsageError, match="box has no use for a model endpoint"):
        product({}, endpoint="http://127.0.0.1:1/v1")


def test_a_product_is_described_by_its_adapter() -> None:
    assert Product(Shelf).__doc__ == Shelf.__doc__
    assert (Product(Shelf).name, Product(Shelf).extra) == ("shelf", "shelf")


def test_products_are_found_by_name_like_any_other_system() -> None:
    installed = {entry.name for entry in user_code.list_plugins("systems")}

    assert {"chroma", "files", "langmem", "lancedb", "llama-index", "qdrant", "txtai"} <= installed


def test_naming_a_product_imports_nothing_of_it() -> None:
    products = {
        entry.value.partition(":")[0]
        for entry in user_code.list_plugins("systems")
        if ".products." in entry.value
    }
    program = (
        f"import sys, importlib; "
        f"[importlib.import_module(name) for name in {sorted(products)!r}]; "
        f"print(*{{name.split('.')[0] for name in sys.modules}})"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    needed = {
        need.split(".")[0]
        for entry in user_code.list_plugins("systems")
        if ".products." in entry.value
        for need in entry.load().needs
    }
    assert needed
    assert not needed & set(done.stdout.split())
