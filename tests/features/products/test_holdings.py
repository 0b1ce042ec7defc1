"""What a system holds, it can be asked for, whatever it is plugged in through.

The days are those it could tell something of, and the bytes what it takes to keep them.
"""

import shlex
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from recall_bench.core.errors import SystemFault
from recall_bench.core.folders import measure_folder
from recall_bench.core.memory import Holdings, Memory, MemorySystem, MemoryWithHoldings
from recall_bench.features.products.files import MarkdownFiles
from recall_bench.systems.builtin.chunks import split_chunks
from recall_bench.systems.grpc.grpc_system import connect_grpc_system
from recall_bench.systems.python.adapter import DayMetadata
from recall_bench.systems.python.system import build_python_system
from recall_bench.systems.transports.command_system import start_command_system
from recall_bench.systems.transports.http_system import connect_http_system
from tests.conftest import episode
from tests.faulty.fakes import ScriptedSystem
from tests.faulty.faults import DropsWrites
from tests.features.serving.grpc_server import Cabinet
from tests.features.serving.grpc_server import hosting as hosting_grpc
from tests.features.serving.http_servers import serving
from tests.systems import command_child
from tests.systems.builtin.test_baselines import every_system, system_of
from tests.systems.diary import EPISODES, question
from tests.systems.python_adapters import Notes, opened
from tests.systems.test_ablations import ALL_ON

pytestmark = pytest.mark.anyio


async def held(memory: Memory) -> Holdings:
    assert isinstance(memory, MemoryWithHoldings)
    return await memory.holdings()


def notes_that(**methods: object) -> type:
    return type("Telling", (Notes,), methods)


async def test_an_adapter_without_the_method_has_no_holdings() -> None:
    async with opened(Notes) as memory:
        assert await held(memory) == Holdings()


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        ({"stored_days": lambda self: [3, 1, 3]}, Holdings(days=(1, 3))),
        ({"stored_days": lambda self: iter(())}, Holdings(days=())),
        ({"stored_bytes": lambda self: 0}, Holdings(bytes=0)),
        (
            {"stored_days": lambda self: {2: "b"}, "stored_bytes": lambda self: 9},
            Holdings(days=(2,), bytes=9),
        ),
        ({"stored_days": lambda self: None, "stored_bytes": lambda self: None}, Holdings()),
    ],
    ids=["days", "no days", "bytes", "both", "neither after all"],
)
async def test_an_adapter_may_report_days_or_bytes_or_both(
    methods: Mapping[str, object], expected: Holdings
) -> None:
    async with opened(notes_that(**methods)) as memory:
        assert await held(memory) == expected


async def test_an_adapter_may_report_holdings_asynchronously() -> None:
    async def days(self: Notes) -> Iterable[int]:
        return range(1, 3)

    async def size(self: Notes) -> int:
        return 7

    async with opened(notes_that(stored_days=days, stored_bytes=size)) as memory:
        assert await held(memory) == Holdings(days=(1, 2), bytes=7)


async def test_the_numbers_of_numpy_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    methods = {
        "stored_days": lambda self: np.arange(1, 4),
        "stored_bytes": lambda self: np.int64(5),
    }

    async with opened(notes_that(**methods)) as memory:
        told = await held(memory)

    assert told == Holdings(days=(1, 2, 3), bytes=5)
    assert type(told.bytes) is int


async def test_the_days_are_read_where_the_adapter_lives() -> None:
    threads: list[str] = []

    class Rows(Notes):
        def setup(self) -> None:
            threads.append(threading.current_thread().name)

        def stored_days(self) -> Iterable[int]:
            threads.append(threading.current_thread().name)
            yield 1

    async with opened(Rows) as memory:
        assert await held(memory) == Holdings(days=(1,))

    assert len(threads) == 2
    assert len(set(threads)) == 1


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("stored_days", 3),
        ("stored_days", "12"),
        ("stored_days", ["12"]),
        ("stored_days", [True]),
        ("stored_days", [-1]),
        ("stored_days", [2**31]),
        ("stored_bytes", 1.5),
        ("stored_bytes", "9"),
        ("stored_bytes", -1),
        ("stored_bytes", 2**63),
    ],
)
async def test_what_is_no_number_of_days_or_bytes_is_a_fault(method: str, told: object) -> None:
    async with opened(notes_that(**{method: lambda self: told})) as memory:
        with pytest.raises(SystemFault, match=rf"{method}\(\) (told|returned)"):
            await held(memory)


async def test_a_memory_that_drops_days_says_which_it_holds() -> None:
    system = build_python_system(DropsWrites)
    memory = await system.open("diary")
    for each in EPISODES:
        await memory.ingest(each)
    await memory.settle()

    told = await held(memory)

    assert told.days == (3, 4, 8, 9, 11, 12)
    await memory.close()
    await system.close()


async def lived(system: MemorySystem, days: int = 12) -> Memory:
    memory = await system.open("diary")
    for each in EPISODES[:days]:
        await memory.ingest(each)
    await memory.settle()
    return memory


FEWER: Mapping[str, tuple[int, ...]] = {"none": (), "recency": tuple(range(6, 13))}


@every_system
async def test_a_built_in_holds_every_day_it_could_quote(name: str) -> None:
    told = await held(await lived(system_of(name)))

    days = FEWER.get(name, tuple(range(1, 13)))
    assert told.days == days
    assert told.bytes is None if name == "oracle" else (told.bytes or 0) >= len(days)


async def test_a_window_holds_the_days_in_it() -> None:
    told = await held(await lived(system_of("recency", days=3)))

    assert told.days == (10, 11, 12)


async def test_summaries_alone_are_of_every_day() -> None:
    told = await held(await lived(system_of("hybrid", consolidate="only")))

    assert told.days == tuple(range(1, 13))


async def test_nothing_is_held_of_a_day_without_a_word() -> None:
    memory = await lived(system_of("bm25"), 2)
    await memory.ingest(episode(3, "\n"))
    await memory.settle()

    assert (await held(memory)).days == (1, 2)


@every_system
async def test_holdings_do_not_depend_on_settling_or_asking(name: str) -> None:
    await _assert_same(lambda: system_of(name))


async def test_holdings_are_stable_with_every_option_on() -> None:
    await _assert_same(lambda: system_of("hybrid", **ALL_ON))


async def _assert_same(made: Callable[[], MemorySystem]) -> None:
    system = made()
    assert system.snapshots is not None
    growing = await system.open("diary")
    for each in EPISODES:
        await growing.ingest(each)
        await growing.settle()
        if each.day in (2, 7, 12):
            copy = await system.snapshots.open(await system.snapshots.save(growing))
            await copy.answer(question("Who keeps the key to the stall?", day=each.day))
            fresh = await held(await lived(made(), each.day))
            assert await held(growing) == await held(copy) == fresh


async def size(name: str, **config: object) -> int:
    told = (await held(await lived(system_of(name, **config)))).bytes
    assert told is not None
    return told


async def test_a_size_is_that_of_the_texts_and_of_what_is_searched() -> None:
    texts = [each.search_text for day in EPISODES for each in split_chunks(day)]
    written = sum(len(text.encode()) for text in texts)

    drawn, meanings, words = await size("random"), await size("vector"), await size("bm25")

    assert drawn == written
    assert meanings == written + 4 * 256 * len(texts)
    assert words > written
    assert await size("hybrid") == words + meanings - written


async def size_of_day(text: str, name: str, **config: object) -> int | None:
    memory = await system_of(name, **config).open("diary")
    await memory.ingest(episode(1, text))
    await memory.settle()
    return (await held(memory)).bytes


async def test_a_text_counts_as_it_is_written_down() -> None:
    assert await size_of_day("Fig 🐈", "random") == len("Fig 🐈".encode()) == 8


async def test_words_count_with_their_places_counts_and_weights() -> None:
    words = 2 * len("figplum") + 4 * 4
    starts, places, counts, lengths = 3 * 8, 2 * 4, 2 * 4, 1 * 4
    rarity, scores = 2 * 4, 2 * 4

    told = await size_of_day("fig fig plum", "bm25")

    index = starts + places + counts + lengths + rarity + scores
    assert told == len("fig fig plum") + words + index


async def test_words_that_are_compared_count_with_their_vectors() -> None:
    compared = await size_of_day("fig plum", "hybrid", rerank=True)

    numbers, vectors = 2 * 4, 2 * 4 * 256
    plain = await size_of_day("fig plum", "hybrid") or 0
    assert compared == plain + numbers + len("figplum") + vectors


async def test_a_summary_counts_and_so_does_what_a_later_one_is_made_of() -> None:
    told = await size_of_day("Fig.", "hybrid", keyword=False, consolidate="beside")

    day = summary = unfinished_week = len("Fig.") + 4 * 256
    assert told == day + summary + unfinished_week


@pytest.mark.parametrize(
    "switched", [{"rerank": True}, {"lexical_boost": True}, {"consolidate": "beside"}]
)
async def test_what_is_kept_for_a_setting_counts(switched: Mapping[str, object]) -> None:
    assert await size("hybrid", **switched) > await size("hybrid")


async def test_a_window_that_moved_on_weighs_less_than_all_days() -> None:
    assert await size("recency", days=3) < await size("recency", days=12)


async def test_what_a_window_keeps_to_be_indexed_again_counts_too() -> None:
    passages = sum(len(split_chunks(day)) for day in EPISODES)

    assert await size("recency", days=12) > await size("hybrid") + 4 * 256 * passages


def test_a_folder_weighs_what_its_files_do(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b").write_bytes(b"678")

    assert measure_folder(tmp_path) == 8
    assert measure_folder(tmp_path / "nowhere") == 0


def test_files_hold_the_days_there_is_a_file_of(tmp_path: Path) -> None:
    files = MarkdownFiles(state_dir=tmp_path)
    for day in (2, 11):
        told = DayMetadata(day_number=day, date="2026-01-02", persona_id="ada")
        files.ingest_day(day, "The cat is Fig.", told)

    assert sorted(files.stored_days()) == [2, 11]
    assert files.stored_bytes() == sum(path.stat().st_size for path in tmp_path.iterdir())


@asynccontextmanager
async def over_http(system: MemorySystem) -> AsyncIterator[MemorySystem]:
    async with serving(system) as url:
        client = await connect_http_system(url)
        yield client
        await client.close()


@asynccontextmanager
async def over_grpc(system: MemorySystem) -> AsyncIterator[MemorySystem]:
    async with hosting_grpc(system) as port:  # type: ignore[arg-type]  # any system will do
        client = await connect_grpc_system(f"grpc://127.0.0.1:{port}")
        yield client
        await client.close()


Carried = Callable[[MemorySystem], AbstractAsyncContextManager[MemorySystem]]

both_servers = pytest.mark.parametrize("carried", [over_http, over_grpc])


@both_servers
async def test_a_server_passes_on_what_a_memory_holds(carried: Carried) -> None:
    async with carried(Cabinet()) as system:
        memory = await system.open("ada")
        assert await held(memory) == Holdings(days=(), bytes=2**40)
        await memory.ingest(EPISODES[4])

        assert await held(memory) == Holdings(days=(5,), bytes=2**40)


@both_servers
async def test_a_server_says_nothing_of_a_memory_that_does_not(carried: Carried) -> None:
    async with carried(ScriptedSystem(lambda lived, question: "")) as system:
        assert await held(await system.open("ada")) == Holdings()


@pytest.mark.parametrize("tells", [True, False])
async def test_a_program_is_asked_only_if_it_declares_holdings(tells: bool) -> None:
    words = [sys.executable, "-I", "-S", command_child.__file__, *(["tells"] if tells else [])]
    system = await start_command_system(f"command:{shlex.join(words)}", {})
    memory = await system.open("ada")
    await memory.ingest(episode(1, "The cat is Fig."))

    # A program that does not declare it ends at a request that it does not know.
    assert await held(memory) == (Holdings(days=(1,), bytes=15) if tells else Holdings())
    await memory.close()
    await system.close()
