"""Presearch keeps a memory for any word of the prompt that points to it, and no other memory."""

from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.keyword import Presearch
from tests.features.selection.scripted_agent import BREAD, FLIGHTS, MEMORIES, PARKING, WIFI
from tests.loops import loop_over_rows


def is_keyword_hit(prompt: str, memory: MemoryFile) -> bool:
    """Whether a word of the prompt hits the memory."""
    return bool(Presearch([memory], with_content=False).filter_memories(prompt))


def left(prompt: str, *, with_content: bool) -> list[str]:
    search = Presearch(MEMORIES, with_content=with_content)
    return [memory.name for memory in search.filter_memories(prompt)]


@loop_over_rows(
    ("prompt", "by_keyword", "by_content"),
    [
        ("sourdough?", [BREAD], [BREAD]),
        ("the wifi", [WIFI], [WIFI]),
        ("Rye!", [], [BREAD]),
        ("fridays, airports, aisle", [], [BREAD, FLIGHTS]),
        ("start a frida", [], [BREAD]),
        ("ar", [], []),
        ("booking the cheap car", [FLIGHTS, PARKING], [FLIGHTS, PARKING]),
        ("what do you think", [], []),
        ("", [], []),
    ],
)
def test_words_are_looked_for_in_keywords_and_on_demand_in_the_text(
    prompt: str, by_keyword: list[str], by_content: list[str]
) -> None:
    assert left(prompt, with_content=False) == by_keyword
    assert left(prompt, with_content=True) == by_content


@loop_over_rows(
    "prompt", ["Is the starter fed?", "aisl", "ai", "nine cheap seats", "All about it", "parkings"]
)
def test_the_text_is_searched_as_keywords_are(prompt: str) -> None:
    as_keywords = [
        memory.name
        for memory in MEMORIES
        if is_keyword_hit(prompt, memory)
        or is_keyword_hit(prompt, memory.replace(keywords=(*memory.keywords, memory.text)))
    ]

    assert left(prompt, with_content=True) == as_keywords


def test_a_folder_is_narrowed_for_every_prompt() -> None:
    search = Presearch(MEMORIES, with_content=True)

    found = [
        [memory.name for memory in search.filter_memories(prompt)]
        for prompt in ("rye", "aisle", "rye")
    ]

    assert found == [[BREAD], [FLIGHTS], [BREAD]]
