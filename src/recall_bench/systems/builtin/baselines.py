"""The built-in systems. They need no key, no network and no model but static word vectors.

They bracket every other system: `none`, `random` and `recency` from below, `gold-passages` and
`oracle` from above, the first as the ceiling of retrieval, the second as the ceiling of the judge;
`bm25`, `vector` and `hybrid` are plain retrieval, and `full-context` stands for reading everything.
All of them quote the record, and give the same answer every time.

What searches is imported when a system that searches is built.
"""

from collections.abc import Mapping

from recall_bench.core.memory import MemorySystem
from recall_bench.systems.builtin.no_memory import NoMemorySystem
from recall_bench.systems.builtin.options import NoOptions, build_card, read_options


def build_none(config: Mapping[str, object]) -> MemorySystem:
    """Remembers nothing and says so."""
    return NoMemorySystem(build_card("none", read_options("none", config, NoOptions), ()))


def build_random(config: Mapping[str, object]) -> MemorySystem:
    """Quotes passages drawn at random, the same for the same question and history."""
    from recall_bench.systems.builtin import retrieval_systems

    return retrieval_systems.build_random(config)


def build_bm25(config: Mapping[str, object]) -> MemorySystem:
    """Finds passages by their words."""
    from recall_bench.systems.builtin import retrieval_systems

    return retrieval_systems.build_bm25(config)


def build_vector(config: Mapping[str, object], *, endpoint: str | None = None) -> MemorySystem:
    """Finds passages by their meaning."""
    from recall_bench.systems.builtin import retrieval_systems

    return retrieval_systems.build_vector(config, endpoint=endpoint)


def build_hybrid(config: Mapping[str, object], *, endpoint: str | None = None) -> MemorySystem:
    """Finds passages by words, meaning and the dates a question names. The default system."""
    from recall_bench.systems.builtin import retrieval_systems

    return retrieval_systems.build_hybrid(config, endpoint=endpoint)


def build_recency(config: Mapping[str, object], *, endpoint: str | None = None) -> MemorySystem:
    """The hybrid system over the last days only."""
    from recall_bench.systems.builtin import retrieval_systems

    return retrieval_systems.build_recency(config, endpoint=endpoint)


def build_full_context(config: Mapping[str, object]) -> MemorySystem:
    """Reads everything for every question, and weighs all words the same."""
    from recall_bench.systems.builtin import retrieval_systems

    return retrieval_systems.build_full_context(config)


def build_oracle(config: Mapping[str, object]) -> MemorySystem:
    """Quotes the evidence of the reference answer, or the reference: the ceiling of the judge."""
    from recall_bench.systems.builtin import retrieval_systems

    return retrieval_systems.build_oracle(config)


def build_gold_passages(config: Mapping[str, object]) -> MemorySystem:
    """Finds the evidence of each question for the reader: the ceiling of retrieval."""
    from recall_bench.systems.builtin import retrieval_systems

    return retrieval_systems.build_gold_passages(config)
