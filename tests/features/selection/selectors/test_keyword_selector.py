"""One word of the prompt that points to a memory recalls it."""

from difflib import SequenceMatcher

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.keyword import (
    SIMILARITY,
    Presearch,
    build_keyword_selector,
    extract_words,
    is_hint_match,
)
from tests.features.selection.memories import (
    COFFEE,
    DEPLOY,
    GARDEN,
    MEMORIES,
    TRAVEL,
    names,
)
from tests.loops import loop_over_rows


def is_keyword_hit(prompt: str, memory: MemoryFile) -> bool:
    """Whether a word of the prompt hits the memory."""
    return bool(Presearch([memory], with_content=False).filter_memories(prompt))


pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        pytest.param("Is there a hotel near it?", TRAVEL, id="a keyword"),
        pytest.param("Book my TRAVEL, please", TRAVEL, id="the name, in any case"),
        pytest.param("Where is the checklist?", DEPLOY, id="a word of the name"),
        pytest.param("I will deploy tonight", DEPLOY, id="a part of a keyword"),
        pytest.param("two deployments failed", DEPLOY, id="all but an ending"),
        pytest.param("water the tomatoes", GARDEN, id="its one line, for want of keywords"),
    ],
)
def test_a_hit(prompt: str, memory: MemoryFile) -> None:
    assert is_keyword_hit(prompt, memory)


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        pytest.param("an oat flat white", COFFEE, id="a word of the text only"),
        pytest.param("two hotels", TRAVEL, id="an ending on a short word"),
        pytest.param("he is in ho", TRAVEL, id="two letters of a keyword"),
        pytest.param("so, what would you do before the", DEPLOY, id="nothing but stop words"),
        pytest.param("", TRAVEL, id="no word"),
    ],
)
def test_no_hit(prompt: str, memory: MemoryFile) -> None:
    assert not is_keyword_hit(prompt, memory)


def test_a_word_of_two_letters_counts_as_a_word() -> None:
    assert is_keyword_hit("restart the db", TRAVEL.replace(keywords=("db",)))


def test_a_word_that_is_said_twice_is_looked_for_once() -> None:
    assert extract_words("The rent! When is THE rent due, a b?") == ("rent", "due")


def test_polite_phrases_match_nothing() -> None:
    assert extract_words("Thanks, that looks great! Could you please remind me?") == ()


def test_words_in_any_script_are_words() -> None:
    assert is_keyword_hit("où est la clé ?", TRAVEL.replace(keywords=("clé",)))


def test_one_word_does_not_run_over_into_the_next() -> None:
    assert not is_keyword_hit("nobody telfl", TRAVEL.replace(keywords=("hotel", "flight")))


@loop_over_rows("length", range(3, 24))
def test_what_is_not_measured_could_not_have_been_alike(length: int) -> None:
    word = "abcdefghijklmnopqrstuvwxyz"[:length]

    for other in (word[:-1], f"{word[:-1]}-", f"{word[0]}{word[2:]}", f"{word[1:]}{word[0]}"):
        is_alike = SequenceMatcher(None, word, other).ratio() >= SIMILARITY
        assert is_hint_match(word, other) == is_alike


async def test_everything_that_is_hit_is_picked_by_name() -> None:
    picked = await names(build_keyword_selector({}), "the rent for the flat, and a hotel")

    assert picked == ("memory/landlord.md", "memory/travel.md")


async def test_a_folder_is_searched_as_each_of_its_memories_is() -> None:
    told = ("oat deployments flatter ent to rollou", "garden db ho telfl hotels Lisbon line")
    folder = (*MEMORIES, TRAVEL.replace(name="memory/x.md", keywords=("db", "configuration")))

    for prompt in (*told, "two configurations", "figuration", "\n", *folder[0].body.split()):
        one_by_one = tuple(each.name for each in folder if is_keyword_hit(prompt, each))
        assert await names(build_keyword_selector({}), prompt, folder) == one_by_one


async def test_a_prompt_that_points_nowhere_picks_nothing() -> None:
    assert await names(build_keyword_selector({}), "What is 17 times 23?") == ()


def test_it_has_no_settings() -> None:
    with pytest.raises(UsageError, match="'keyword' has no setting 'k'"):
        build_keyword_selector({"k": 3})
