"""Every built-in system keeps the contract: the same history and question, the same answer.

It does not matter how the history came in, who was asked before, which copy is asked, or in
which process.
"""

import asyncio
import hashlib
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import msgspec
import pytest

from recall_bench.core.distribution import get_version
from recall_bench.core.errors import SystemFault, UsageError
from recall_bench.core.memory import Answer, EvidenceControl, Memory, MemorySystem, Passage
from recall_bench.core.settings import describe_settings
from recall_bench.core.user_code import list_plugins
from recall_bench.systems.builtin import baselines, retrieval_systems
from recall_bench.systems.builtin.no_memory import NO_RECORD
from recall_bench.systems.builtin.options import BUILT_IN_OPTIONS
from tests.faulty.fakes import ScriptedMemory
from tests.hash_seeds import list_other_hash_seeds
from tests.loops import loop_over_rows
from tests.systems.asking import answered
from tests.systems.diary import EPISODES, QUESTIONS, question

pytestmark = pytest.mark.anyio

Factory = Callable[[Mapping[str, object]], MemorySystem]

FACTORIES: dict[str, Factory] = {
    "none": baselines.build_none,
    "random": retrieval_systems.build_random,
    "recency": retrieval_systems.build_recency,
    "bm25": retrieval_systems.build_bm25,
    "vector": retrieval_systems.build_vector,
    "hybrid": retrieval_systems.build_hybrid,
    "full-context": retrieval_systems.build_full_context,
    "placebo": retrieval_systems.build_placebo,
    "oracle": retrieval_systems.build_oracle,
}
CHECKPOINTS = (1, 2, 5, 9, 12)

EVIDENCE = {
    question(text).id: (Passage(text="The boiler was set.", day=day, source="principal"),)
    for day, text in enumerate(QUESTIONS, start=3)
}

every_system = pytest.mark.parametrize("name", FACTORIES)


def system_of(name: str, **config: object) -> MemorySystem:
    system = FACTORIES[name](config)
    if isinstance(system, EvidenceControl):
        system.receive_evidence("diary", EVIDENCE)
    return system


async def lived(system: MemorySystem, days: int) -> Memory:
    memory = await system.open("diary")
    for episode in EPISODES[:days]:
        await memory.ingest(episode)
    await memory.settle()
    return memory


async def replies(memory: Memory, day: int) -> list[Answer]:
    return [await answered(memory, question(text, day=day)) for text in QUESTIONS]


@every_system
async def test_forked_and_fresh_memories_give_the_same_answers(name: str) -> None:
    system = system_of(name)
    assert system.snapshots is not None
    growing = await system.open("diary")

    for episode in EPISODES:
        await growing.ingest(episode)
        if episode.day in CHECKPOINTS:
            await growing.settle()
            copy = await system.snapshots.open(await system.snapshots.save(growing))
            fresh = await lived(system_of(name), episode.day)

            assert await replies(copy, episode.day) == await replies(fresh, episode.day)


@every_system
async def test_a_copy_asked_and_fed_further_leaves_no_trace(name: str) -> None:
    system = system_of(name)
    assert system.snapshots is not None
    original = await lived(system, 5)
    before = await replies(original, 5)
    token = await system.snapshots.save(original)

    copy = await system.snapshots.open(token)
    await replies(copy, 5)
    for episode in EPISODES[5:]:
        await copy.ingest(episode)
    await copy.settle()
    await replies(copy, 12)
    await copy.close()

    assert await replies(original, 5) == before
    assert await replies(await system.snapshots.open(token), 5) == before


@every_system
async def test_the_original_goes_on_after_a_copy_did(name: str) -> None:
    system = system_of(name)
    assert system.snapshots is not None
    original = await lived(system, 5)
    copy = await system.snapshots.open(await system.snapshots.save(original))
    await copy.ingest(EPISODES[11])
    await copy.settle()

    for episode in EPISODES[5:9]:
        await original.ingest(episode)
    await original.settle()

    assert await replies(original, 9) == await replies(await lived(system_of(name), 9), 9)


@every_system
async def test_what_is_ingested_is_known_at_once_and_answers_do_not_depend_on_when_it_settles(
    name: str,
) -> None:
    eager = await system_of(name).open("diary")
    for episode in EPISODES:
        await eager.ingest(episode)

        asked = await replies(eager, episode.day)

        assert asked == await replies(await lived(system_of(name), episode.day), episode.day)


@every_system
async def test_a_snapshot_taken_between_days_keeps_what_is_not_settled_yet(name: str) -> None:
    system = system_of(name)
    assert system.snapshots is not None
    memory = await lived(system, 4)
    await memory.ingest(EPISODES[4])
    copy = await system.snapshots.open(await system.snapshots.save(memory))

    await copy.settle()

    assert await replies(copy, 5) == await replies(await lived(system_of(name), 5), 5)


@every_system
async def test_a_dropped_state_cannot_be_reopened(name: str) -> None:
    system = system_of(name)
    assert system.snapshots is not None
    token = await system.snapshots.save(await lived(system, 1))

    await system.snapshots.drop(token)

    with pytest.raises(SystemFault, match="never saved"):
        await system.snapshots.open(token)


@every_system
async def test_a_memory_of_another_system_cannot_be_saved(name: str) -> None:
    snapshots = system_of(name).snapshots
    assert snapshots is not None

    with pytest.raises(UsageError, match="ScriptedMemory"):
        await snapshots.save(ScriptedMemory(lambda lived, asked: ""))


@every_system
async def test_asking_again_and_in_any_order_gives_the_same_answer(name: str) -> None:
    memory = await lived(system_of(name), 12)
    first = await replies(memory, 12)

    backwards = [await answered(memory, question(text)) for text in reversed(QUESTIONS)]

    assert backwards[::-1] == first


@every_system
async def test_scenarios_know_nothing_of_each_other(name: str) -> None:
    system = system_of(name)
    await lived(system, 12)

    stranger = await system.open("another")

    assert {reply.text for reply in await replies(stranger, 12)} == {NO_RECORD}


@every_system
async def test_passages_come_from_ingested_days(name: str) -> None:
    memory = await lived(system_of(name), 5)

    for reply in await replies(memory, 5):
        assert {passage.day for passage in reply.passages} <= {1, 2, 3, 4, 5}


@every_system
async def test_the_card_names_every_setting_and_every_part(name: str) -> None:
    card = system_of(name).card

    parts = card.config.get("parts", {})
    assert (card.name, card.version) == (name, get_version())
    assert card.max_concurrency > 8
    assert isinstance(parts, dict)
    assert all(version(part) == installed for part, installed in parts.items())
    assert msgspec.json.decode(msgspec.json.encode(card.config)) == card.config


def test_the_hybrid_card_spells_out_its_defaults() -> None:
    config = dict(system_of("hybrid").card.config)

    parts = config.pop("parts")
    assert isinstance(parts, dict)
    assert set(parts) == {"bm25s", "PyStemmer", "wordllama", "tokenizers", "numpy"}
    assert config == {
        "k": 10,
        "quotes": 10,
        "k1": 0.9,
        "b": 0.4,
        "keyword": True,
        "vector": True,
        "weight": 0.7,
        "fusion": "weighted",
        "temporal_boost": 0.2,
        "turn_boost": 0.3,
        "session_boost": 0.1,
        "spread": 0.2,
        "lexical_boost": 0.0,
        "rerank": False,
        "neighbours": 0,
        "chunking": "passage",
        "window_chars": 800,
        "window_overlap": 200,
        "consolidate": "none",
        "threshold": 0.23,
        "respect_sessions": False,
    }


def test_every_built_in_is_listed_with_its_settings() -> None:
    own = [each for each in list_plugins("systems") if each.module == baselines.__name__]

    assert {each.name for each in own} == set(BUILT_IN_OPTIONS)
    for each in own:
        settings = each.load()({}).card.config
        fields = set(BUILT_IN_OPTIONS[each.name].__struct_fields__)
        assert set(settings) - {"parts"} == fields, each.name


def test_the_help_of_the_adapter_names_every_built_in() -> None:
    text = describe_settings()["adapter"].help.text

    assert f"The system: {', '.join(BUILT_IN_OPTIONS)}, another that" in text


@every_system
def test_an_unknown_setting_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' has no setting 'wieght'"):
        system_of(name, wieght=1)


def test_a_misspelt_setting_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="did you mean 'weight'"):
        system_of("hybrid", wieght=1)


@loop_over_rows(
    ("name", "config"),
    [
        ("hybrid", {"weight": 1.5}),
        ("hybrid", {"fusion": "magic"}),
        ("bm25", {"k": 0}),
        ("vector", {"threshold": "high"}),
        ("recency", {"days": -1}),
        ("random", {"seed": None}),
        ("hybrid", {"chunking": "word"}),
        ("hybrid", {"consolidate": "yearly"}),
        ("hybrid", {"neighbours": -1}),
        ("hybrid", {"lexical_boost": "much"}),
        ("hybrid", {"temporal_boost": -0.1}),
        ("hybrid", {"rerank": "perhaps"}),
        ("hybrid", {"window_chars": 0}),
        ("recency", {"window_overlap": 800}),
    ],
)
def test_a_value_that_cannot_be_is_refused(name: str, config: dict[str, object]) -> None:
    (setting,) = config

    with pytest.raises(UsageError, match=rf"'{name}' .*{setting}"):
        system_of(name, **config)


def test_a_number_may_come_as_text() -> None:
    assert system_of("recency", days="3").card.config["days"] == 3


async def test_none_always_says_there_is_no_record() -> None:
    memory = await lived(system_of("none"), 12)

    assert set(await replies(memory, 12)) == {Answer(text=NO_RECORD)}


async def test_recency_knows_the_last_days_only() -> None:
    memory = await lived(system_of("recency", days=3, threshold=0), 12)

    days = {passage.day for reply in await replies(memory, 12) for passage in reply.passages}

    assert days == {10, 11, 12}


async def test_hybrid_with_all_weight_on_one_part_ranks_as_that_part() -> None:
    asked = question("Who keeps the key to the stall at Ostgate?")

    for name, weight in (("bm25", 1), ("vector", 0)):
        part = await answered((await lived(system_of(name), 12)), asked)
        memory = await lived(system_of("hybrid", weight=weight, temporal_boost=0, threshold=0), 12)
        assert (await answered(memory, asked)).passages == part.passages


_ASK_ALL = """
import asyncio, logging, socket, sys
def refuse(*args): raise OSError("the network was used")
socket.socket.connect = refuse
from tests.systems.builtin.test_baselines import FACTORIES, lived, replies, system_of
assert not {"numpy", "bm25s", "Stemmer", "wordllama"} & set(sys.modules), "imported too early"
async def ask_all():
    return [str(await replies(await lived(system_of(name), 12), 12)) for name in FACTORIES]
said = asyncio.run(ask_all())
assert not {"bm25s", "scipy"} & set(sys.modules), "imported for a search"
root = logging.getLogger()
assert (root.handlers, root.level) == ([], logging.WARNING), "somebody configured logging"
logging.basicConfig(level=logging.INFO, force=True)
assert asyncio.run(ask_all()) == said
sys.stdout.write("\\n".join(said))
"""


def spoken(hash_seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _ASK_ALL],
        cwd=Path(__file__).parents[3],
        env={"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "boiler" in done.stdout
    return hashlib.sha256(done.stdout.encode()).hexdigest()


def test_another_process_says_the_same_offline_and_prints_nothing() -> None:
    async def ask_all() -> list[str]:
        return [str(await replies(await lived(system_of(name), 12), 12)) for name in FACTORIES]

    said = hashlib.sha256("\n".join(asyncio.run(ask_all())).encode()).hexdigest()

    for seed in list_other_hash_seeds():
        assert spoken(seed) == said, f"hash seed {seed}"
