"""A composed prompt asks for what it expects, and for nothing that it does not."""

import re
from collections.abc import Sequence
from functools import cache

import pytest

from recall_bench.features.selection.generation import composer
from recall_bench.features.selection.generation import composer as supporting
from recall_bench.features.selection.generation.composer import (
    CLEAR,
    MemoryRelevance,
    PromptComposer,
    list_messages,
    load_phrases,
)
from recall_bench.features.selection.generation.sample import DrawRefusal, SampleRandom, SuiteDraft
from recall_bench.features.selection.generation.suite_generator import KnownTests
from recall_bench.features.selection.memory_file import MemoryFile, read_memory
from tests.features.selection.generation.sample_memories import TWIN, memories

pytestmark = pytest.mark.anyio

DRAWER = memories()


@cache
def build_support() -> MemoryRelevance:
    """Built for the first test that needs it: whoever runs others need not wait for it."""
    return MemoryRelevance(DRAWER)


async def composed(picked: Sequence[MemoryFile], *labels: int) -> SuiteDraft | DrawRefusal:
    return await PromptComposer(DRAWER, build_support(), is_pooled=False).write(
        picked, SampleRandom(*labels)
    )


async def test_whatever_is_drawn_only_picked_memories_are_expected_and_each_is_supported() -> None:
    composer = PromptComposer(DRAWER, build_support(), is_pooled=False)
    for number in range(40):
        chance = SampleRandom("property", number)
        picked = chance.sample(DRAWER, chance.choose(range(1, 9)))

        draft = await composer.write(picked, chance)

        assert isinstance(draft, SuiteDraft)
        assert set(draft.expected) <= {memory.name for memory in picked}
        assert list(draft.expected) == sorted(set(draft.expected))
        assert 1 <= len(draft.expected) <= 6
        assert "{" not in draft.prompt
        patterns = re.sub(r'"[^"]*"', "", draft.prompt).split("? ")
        assert len(patterns) <= 3


async def test_a_sentence_is_not_used_if_another_memory_fits_it_as_well() -> None:
    others = (
        "Number cello is played by Bjarne at noon, badly, in a kitchen full of echoes.",
        "Number anchor was lost off Malta, deep under some wreck nobody ever dives to.",
        "Number walrus is fed with herring twice weekly, unless fog hides both piers.",
    )
    crowd = tuple(
        read_memory(f"memory/m{n}.md", f"The glacier was measured by Ulf in June. {other}")
        for n, other in enumerate(others)
    )
    every = (*DRAWER, *crowd)
    composer = PromptComposer(every, support := MemoryRelevance(every), is_pooled=False)
    for number in range(20):
        draft = await composer.write(crowd[:1], SampleRandom(number))

        assert isinstance(draft, SuiteDraft)
        assert "glacier" not in draft.prompt
        fits = dict(support.score_memories(draft.prompt))
        own = fits.pop(crowd[0].name)
        assert max(fits.values()) <= CLEAR * own


async def test_a_sentence_must_be_about_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(await composed(DRAWER[:3], 1), SuiteDraft)
    monkeypatch.setattr(composer, "STRONG", 1.1)

    assert isinstance(await composed(DRAWER[:3], 1), DrawRefusal)


async def test_a_memory_without_words_is_refused() -> None:
    blank = read_memory("memory/blank.md", "")
    composer = PromptComposer([blank], MemoryRelevance([blank]), is_pooled=False)

    assert isinstance(await composer.write([blank], SampleRandom(1)), DrawRefusal)


async def test_three_sentences_are_enough_and_no_two_are_of_one_pattern() -> None:
    for number in range(25):
        draft = await composed(SampleRandom(number).sample(DRAWER, 3), number)

        assert isinstance(draft, SuiteDraft)
        assert not any(
            text in draft.prompt for frame in load_phrases().frames for text in frame if text
        )
        starts = [" ".join(part.split()[:3]) for part in re.split(r"(?<=[.?]) ", draft.prompt)]
        assert len(starts) == len(set(starts)), draft.prompt


def test_a_near_copy_is_alike_and_another_memory_is_not() -> None:
    twin = read_memory("memory/loaf.md", TWIN)
    support = MemoryRelevance([*DRAWER, twin])

    assert support.find_alike("memory/rye-bread.md") == {"memory/loaf.md"}
    assert all(not build_support().find_alike(memory.name) for memory in DRAWER)


async def test_of_two_that_are_alike_only_one_may_be_relevant() -> None:
    ferries = "Ferries leave the harbour at nine. Tickets are sold aboard, and dogs travel free."
    first = read_memory("memory/one.md", ferries)
    second = read_memory("memory/two.md", f"The zeppelin was sold to Bakken in Oslo. {ferries}")
    every = (*DRAWER, first, second)
    composer = PromptComposer(every, support := MemoryRelevance(every), is_pooled=True)
    both = {first.name, second.name}

    drafts = [await composer.write([second], SampleRandom(number)) for number in range(25)]

    assert support.find_alike(second.name) == {first.name}
    made = [draft for draft in drafts if isinstance(draft, SuiteDraft)]
    special = [set(draft.expected) for draft in made if "zeppelin" in draft.prompt]
    shared = [set(draft.expected) for draft in made if "zeppelin" not in draft.prompt]
    assert special
    assert all(expected == {second.name} for expected in special)
    assert both in shared


@pytest.mark.parametrize("other", ["SAME_WORDS", "SAME_MEANING"])
def test_words_or_meaning_alone_make_two_memories_alike(
    monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    ferries = "Ferries leave the harbour at nine. Tickets are sold aboard, and dogs travel free."
    twins = [read_memory(f"memory/{n}.md", f"{ferries} Pier {n}.") for n in (0, 1)]
    monkeypatch.setattr(supporting, other, 2.0)

    assert MemoryRelevance(twins).find_alike("memory/0.md") == {"memory/1.md"}


def test_the_same_keywords_make_two_memories_alike_and_one_does_not() -> None:
    def keyed(name: str, keywords: str, body: str) -> MemoryFile:
        return read_memory(f"memory/{name}.md", f"<fuzzy-match>{keywords}</fuzzy-match>\n{body}")

    some = [
        keyed("a", "harbour, ferry", "Boats leave at nine."),
        keyed("b", "Ferry, HARBOUR", "The timetable hangs on the fridge."),
        keyed("c", "harbour, museum, castle", "Closed on Mondays."),
        keyed("d", "museum", "Uncle Bo hates waiting."),
        keyed("e", "museum", "Sandwiches cost more upstairs."),
    ]

    assert MemoryRelevance(some).find_alike("memory/a.md") == {"memory/b.md"}
    assert MemoryRelevance(some).find_alike("memory/c.md") == frozenset()
    assert MemoryRelevance(some).find_alike("memory/d.md") == frozenset()


def test_there_are_many_categories_of_small_talk_and_none_says_the_same() -> None:
    every = [text for category in load_phrases().small_talk for text in list_messages(category)]

    assert len(load_phrases().small_talk) >= 12
    assert all(len(list_messages(category)) >= 8 for category in load_phrases().small_talk)
    assert len(every) == len(set(every))
    assert all(text == text.strip() and not set(text) & set("{}|") for text in every)
    assert all(text[-1] in ".?!" for text in every)


def test_draws_depend_on_their_labels_alone() -> None:
    things = range(100)

    assert SampleRandom(1, 2).sample(things, 9) == SampleRandom(1, 2).sample(things, 9)
    assert SampleRandom(1, 2).sample(things, 9) != SampleRandom(1, 3).sample(things, 9)
    assert SampleRandom(12).shuffle(things) != SampleRandom(1, 2).shuffle(things)
    stream = SampleRandom(1)
    assert stream.shuffle(things) != stream.shuffle(things)
    assert sorted(SampleRandom(5).shuffle(things)) == list(things)


@pytest.mark.parametrize(
    ("prompt", "expected", "twin"),
    [
        pytest.param("where IS   the key", ("memory/b.md",), "old", id="the same words"),
        pytest.param("Where is the old key, then?", ("memory/a.md",), None, id="more is said"),
        pytest.param("Then where is the key?", ("memory/a.md",), "old", id="nearly, same set"),
        pytest.param("Then where is the key?", ("memory/b.md",), None, id="nearly, other set"),
    ],
)
def test_a_repeat_is_known(prompt: str, expected: tuple[str, ...], twin: str | None) -> None:
    known = KnownTests()
    known.add("old", SuiteDraft(prompt="Where is the key?", expected=("memory/a.md",)))

    assert known.find_repeat(SuiteDraft(prompt=prompt, expected=expected)) == twin
