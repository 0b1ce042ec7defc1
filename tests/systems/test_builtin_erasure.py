"""The built-ins erase what they are told to, from every part of what they hold, and list it."""

from datetime import datetime, timedelta

import anyio
import pytest

from recall_bench.core.errors import NotOffered, UsageError
from recall_bench.core.memory import EraseScope, Offer, list_offers
from recall_bench.core.scenario import Episode, Question, Turn
from recall_bench.systems.builtin import retrieval_systems
from recall_bench.systems.builtin.index_memory import IndexMemory, IndexSystem

START = datetime(2026, 3, 2)

TEXTS = {
    1: "The garden shed opens with the code Zilpo4471. Ada bought apples at the market.",
    2: "Bruno Keller called about the boiler. He wants it serviced before winter.",
    3: "Ada planted seven tulips beside the pond.",
    40: "The concert tickets cost 85 euros each.",
}


def build_episode(day: int, text: str, session: str | None = None) -> Episode:
    return Episode(
        id=f"e{day}", day=day, at=START + timedelta(days=day - 1), text=text, session=session
    )


def build_question(text: str, *, day: int = 41) -> Question:
    return Question(id="q", text=text, asked_at=START + timedelta(days=day - 1), scenario="s")


SYSTEMS = {
    "bm25": lambda: retrieval_systems.build_bm25({}),
    "vector": lambda: retrieval_systems.build_vector({}),
    "hybrid": lambda: retrieval_systems.build_hybrid({}),
    "rerank": lambda: retrieval_systems.build_hybrid({"rerank": True, "lexical_boost": 0.5}),
    "summaries": lambda: retrieval_systems.build_hybrid({"consolidate": "beside"}),
    "only-summaries": lambda: retrieval_systems.build_hybrid({"consolidate": "only"}),
    "full-context": lambda: retrieval_systems.build_full_context({}),
    "recency": lambda: retrieval_systems.build_recency({"days": 60}),
    "random": lambda: retrieval_systems.build_random({}),
}


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> IndexSystem:
    built = SYSTEMS[request.param]()
    assert isinstance(built, IndexSystem)
    return built


async def open_filled(
    system: IndexSystem, days: tuple[int, ...] = (1, 2, 3, 40), *, settles: bool = True
) -> IndexMemory:
    memory = await system.open("s")
    for day in days:
        await memory.ingest(build_episode(day, TEXTS[day]))
    if settles:
        await memory.settle()
    return memory


async def list_texts(memory: IndexMemory) -> str:
    return "\n".join(entry.text for entry in await memory.list_stored())


@pytest.mark.parametrize("settles", [True, False])
def test_a_forgotten_subject_is_in_nothing_that_the_memory_holds(
    system: IndexSystem, settles: bool
) -> None:
    async def run() -> None:
        memory = await open_filled(system, settles=settles)
        assert b"zilpo4471" in memory.dump().lower()
        reply = await memory.erase(EraseScope.FORGET, "the code of the garden shed")
        assert reply.confirmed
        assert reply.count
        assert b"zilpo4471" not in memory.dump().lower()
        await memory.settle()
        assert "Zilpo4471" not in await list_texts(memory)
        assert "85 euros" in await list_texts(memory)
        answer = await memory.answer(build_question("Which code opens the garden shed?"))
        assert "Zilpo4471" not in repr(answer)

    anyio.run(run)


def test_what_is_left_answers_like_a_memory_that_never_had_the_rest(system: IndexSystem) -> None:
    async def run() -> None:
        memory = await open_filled(system)
        await memory.erase(EraseScope.DELETE, "e1")
        never = await open_filled(system, days=(2, 3, 40))
        question = build_question("What do the concert tickets cost?")
        if system.card.config.get("consolidate", "none") == "none":
            assert await memory.answer(question) == await never.answer(question)
        # A summary of a week is not made again without one of its days.
        assert set(await memory.list_stored()) <= set(await never.list_stored())
        assert {entry.day for entry in await memory.list_stored()} == {2, 3, 40}

    anyio.run(run)


@pytest.mark.parametrize(
    ("scope", "value", "gone", "kept"),
    [
        (EraseScope.DELETE, "e2", "boiler", "tulips"),
        (EraseScope.PERSON, "bruno keller", "boiler", "tulips"),
        (EraseScope.DAYS, "10", "tulips", "85 euros"),
        (EraseScope.FORGET, "the boiler", "Bruno", "apples"),
    ],
)
def test_each_scope_erases_what_it_names_and_no_more(
    system: IndexSystem, scope: EraseScope, value: str, gone: str, kept: str
) -> None:
    async def run() -> None:
        memory = await open_filled(system)
        assert gone in await list_texts(memory)
        assert (await memory.erase(scope, value)).confirmed
        held = await list_texts(memory)
        assert gone not in held
        assert kept in held
        assert gone.lower().encode() not in memory.dump().lower()

    anyio.run(run)


def test_a_retention_rule_holds_for_what_comes_later(system: IndexSystem) -> None:
    async def run() -> None:
        memory = await open_filled(system, days=(1, 2, 3))
        await memory.erase(EraseScope.DAYS, "10")
        assert "tulips" in await list_texts(memory)
        copy = memory.copy()
        for each in (memory, copy):
            await each.ingest(build_episode(40, TEXTS[40]))
            await each.settle()
            assert "tulips" not in await list_texts(each)
            assert "85 euros" in await list_texts(each)

    anyio.run(run)


def test_a_session_is_erased_by_the_episode_s_session_or_the_heading(system: IndexSystem) -> None:
    async def run() -> None:
        memory = await system.open("s")
        await memory.ingest(build_episode(1, "The rent is 900 euros.", session="flat"))
        headings = "# session: work\n\nThe raise is 5 percent.\n\n# session: flat\n\nA quiet day.\n"
        await memory.ingest(build_episode(2, headings))
        await memory.settle()
        assert (await memory.erase(EraseScope.SESSION, "flat")).confirmed
        held = await list_texts(memory)
        assert "900" not in held
        assert "quiet" not in held
        assert "5 percent" in held

    anyio.run(run)


def test_what_a_person_said_is_erased_by_the_speaker(system: IndexSystem) -> None:
    async def run() -> None:
        memory = await system.open("s")
        turns = (
            Turn(speaker="Mira", text="My badge number is 5512."),
            Turn(speaker="Tom", text="Mine is at home."),
        )
        episode = build_episode(1, "Mira: My badge number is 5512.\nTom: Mine is at home.")
        await memory.ingest(episode.replace(turns=turns))
        await memory.settle()
        await memory.erase(EraseScope.PERSON, "Mira")
        assert "5512" not in await list_texts(memory)

    anyio.run(run)


def test_a_copy_keeps_what_the_memory_erased_later(system: IndexSystem) -> None:
    async def run() -> None:
        memory = await open_filled(system)
        token = await system.snapshots.save(memory)
        question = build_question("What do the concert tickets cost?")
        before = await memory.answer(question)
        await memory.erase(EraseScope.DELETE, "e40")
        copy = await system.snapshots.open(token)
        assert await copy.answer(question) == before
        assert "85 euros" not in await list_texts(memory)

    anyio.run(run)


def test_nothing_erased_is_not_confirmed(system: IndexSystem) -> None:
    async def run() -> None:
        memory = await open_filled(system)
        for scope, value in [
            (EraseScope.FORGET, "the submarine"),
            (EraseScope.FORGET, "what is it"),
            (EraseScope.PERSON, " "),
            (EraseScope.DELETE, "e9"),
        ]:
            reply = await memory.erase(scope, value)
            assert (reply.confirmed, reply.count) == (False, 0)
        with pytest.raises(UsageError, match="is not a number of days"):
            await memory.erase(EraseScope.DAYS, "a week")

    anyio.run(run)


def test_a_control_that_knows_the_evidence_offers_nothing() -> None:
    async def run() -> None:
        system = retrieval_systems.build_oracle({})
        assert list_offers(system) == frozenset()
        memory = await system.open("s")
        assert isinstance(memory, IndexMemory)
        with pytest.raises(NotOffered):
            await memory.erase(EraseScope.DELETE, "e1")
        with pytest.raises(NotOffered):
            await memory.list_stored()

    anyio.run(run)


def test_every_part_but_reopening_and_consolidating_is_offered(system: IndexSystem) -> None:
    assert list_offers(system) == frozenset(Offer) - {Offer.CONSOLIDATE, Offer.REOPEN}
