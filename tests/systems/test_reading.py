"""The controls read as they say: by lot, from end to end, or what they were told."""

import pytest

from recall_bench.core.memory import (
    Answer,
    EvidenceControl,
    Memory,
    MemorySystem,
    Passage,
    PassageControl,
    RetrievalReply,
)
from recall_bench.systems.builtin import baselines, retrieval_systems
from recall_bench.systems.builtin.no_memory import NO_RECORD
from tests.systems.asking import answered
from tests.systems.diary import EPISODES, question

pytestmark = pytest.mark.anyio

BOILER = "To how many degrees was the boiler set?"


async def lived(system: MemorySystem, days: int = 12) -> Memory:
    memory = await system.open("diary")
    for episode in EPISODES[:days]:
        await memory.ingest(episode)
    await memory.settle()
    return memory


async def drawn(text: str, **config: object) -> Answer:
    return await answered((await lived(retrieval_systems.build_random(config))), question(text))


async def test_the_lot_is_the_question_and_the_seed() -> None:
    first = await drawn(BOILER)

    assert await drawn(BOILER) == first
    assert await drawn(BOILER, seed=7) != first
    assert await drawn("Another question?") != first


async def test_no_passage_is_drawn_twice_and_never_more_than_there_are() -> None:
    passages = (await drawn(BOILER, k=100)).passages

    assert len(set(passages)) == len(passages)
    assert {passage.day for passage in passages} == set(range(1, 13))


async def reread(text: str, **config: object) -> Answer:
    return await answered(
        (await lived(retrieval_systems.build_full_context(config))), question(text)
    )


async def test_the_passage_with_most_of_the_questions_words_is_quoted() -> None:
    found = await reread("Who keeps the key to the stall?")

    assert found.text.startswith("On 2025-02-28 (market): The stall at Ostgate opens at seven.")
    assert found.passages[0].score == 1.0


async def test_of_equally_full_passages_the_latest_is_quoted() -> None:
    assert (await reread("boiler degrees")).text == (
        "On 2025-03-07 (principal): The boiler is now at 13 degrees for the seedlings."
    )


async def test_neighbours_of_the_same_day_and_session_are_read_too() -> None:
    system = retrieval_systems.build_full_context({"quotes": 1})
    memory = await system.open("diary")
    await memory.ingest(
        EPISODES[0].replace(
            text="# session: a\n\nOne.\n\nThe boiler of the hall broke.\n\n"
            "Mara Lind mended it.\n\n# session: b\n\nJo Hart came."
        )
    )
    await memory.settle()

    said = (await answered(memory, question("Who mended the broken boiler of the hall?"))).text

    assert "Mara Lind mended it." in said
    assert "Jo Hart" not in said


async def test_everything_is_reported_as_far_as_the_budget_reaches() -> None:
    everything = (await reread(BOILER, budget=100_000)).passages
    little = (await reread(BOILER, budget=150)).passages

    assert {passage.day for passage in everything} == set(range(1, 13))
    assert little == everything[: len(little)]
    assert sum(len(passage.text) for passage in little) <= 150


async def test_too_few_words_in_common_is_no_record() -> None:
    assert (await reread("Which satellite did the astronauts repair today?")).text == NO_RECORD


TOLD = Passage(text="Bo lost the key.", day=8, source="market")
PLAIN = Passage(text="Quiet day; rain.", day=6, source="day-0006")


def told(*passages: Passage) -> MemorySystem:
    system = retrieval_systems.build_oracle({})
    assert isinstance(system, EvidenceControl)
    system.receive_evidence("diary", {question(BOILER).id: passages})
    return system


async def test_the_oracle_quotes_the_references_word_for_word() -> None:
    found = await answered((await lived(told(TOLD, PLAIN))), question(BOILER))

    assert found.text == "On 2025-03-03 (market): Bo lost the key.\nOn 2025-03-01: Quiet day; rain."
    assert found.passages == (TOLD, PLAIN)


async def test_the_oracle_does_not_know_the_future() -> None:
    found = await answered((await lived(told(TOLD, PLAIN), days=7)), question(BOILER, day=7))

    assert found.passages == (PLAIN,)


async def test_the_oracle_without_references_has_no_record() -> None:
    memory = await lived(told(TOLD))

    assert await answered(memory, question("Anything else?")) == Answer(text=NO_RECORD)


async def test_the_oracle_may_get_references_after_it_was_opened() -> None:
    system = retrieval_systems.build_oracle({})
    memory = await lived(system)
    assert isinstance(system, EvidenceControl)

    system.receive_evidence("diary", {question(BOILER).id: (TOLD,)})

    assert (await answered(memory, question(BOILER))).passages == (TOLD,)


def found_by(*passages: Passage) -> MemorySystem:
    system = retrieval_systems.build_gold_passages({})
    assert isinstance(system, PassageControl)
    system.receive_passages("diary", {question(BOILER).id: passages})
    return system


async def test_gold_passages_are_given_to_the_reader_with_their_days_and_sessions() -> None:
    system = found_by(TOLD, PLAIN)

    found = await (await lived(system)).answer(question(BOILER))

    assert not system.card.answers
    assert isinstance(found, RetrievalReply)
    assert [passage.text for passage in found.passages] == [
        "On 2025-03-03 (market): Bo lost the key.",
        "On 2025-03-01: Quiet day; rain.",
    ]
    assert [passage.day for passage in found.passages] == [8, 6]


async def test_gold_passages_come_from_the_days_so_far() -> None:
    found = await (await lived(found_by(TOLD, PLAIN), days=7)).answer(question(BOILER, day=7))

    assert [passage.day for passage in found.passages] == [6]


async def test_another_session_is_not_named_to_an_asker_who_may_see_the_passage() -> None:
    found = await (await lived(found_by(TOLD))).answer(question(BOILER, session="family"))

    assert [passage.text for passage in found.passages] == ["On 2025-03-03: Bo lost the key."]


async def test_only_the_oracle_is_a_confidant() -> None:
    others = (
        baselines.build_none,
        retrieval_systems.build_random,
        retrieval_systems.build_hybrid,
        retrieval_systems.build_full_context,
    )

    assert not any(isinstance(factory({}), EvidenceControl) for factory in others)
    assert not any(isinstance(factory({}), PassageControl) for factory in others)


async def test_the_placebo_finds_likely_text_of_every_day_but_the_evidences() -> None:
    days = {passage.day for passage in (await placebo()).passages}
    best = (await placebo()).passages[0].day
    without_best = (await placebo(Passage(text="boiler", day=best, source="market"))).passages

    assert 12 in days
    assert best not in {passage.day for passage in without_best}
    assert "boiler" in without_best[0].text


async def placebo(*evidence: Passage) -> Answer:
    system = retrieval_systems.build_placebo({"k": 50})
    assert isinstance(system, PassageControl)
    system.receive_passages("diary", {question(BOILER).id: evidence})
    return await answered(await lived(system), question(BOILER))
