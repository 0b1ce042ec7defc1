"""The built-in systems. They need no key, no network and no model but static word vectors.

They bracket every other system: `none`, `random`, `placebo` and `recency` from below,
`gold-passages` and `oracle` from above, the first as the ceiling of retrieval, the second as the
ceiling of the judge; `bm25`, `vector` and `hybrid` are plain retrieval, and `full-context` stands
for reading everything.
All of them quote the record, and give the same answer every time.

What searches is imported when a system that searches is built.
"""

from collections.abc import Mapping

from recall_bench.core.memory import MemorySystem
from recall_bench.core.runtime import make_lazy_exports
from recall_bench.systems.builtin.no_memory import NoMemorySystem
from recall_bench.systems.builtin.options import NoOptions, build_card, read_options

__all__, __getattr__, __dir__ = make_lazy_exports(
    __name__,
    {
        ".retrieval_systems": "build_bm25 build_full_context build_gold_passages build_hybrid "
        "build_oracle build_placebo build_random build_recency build_vector"
    },
)


def build_none(config: Mapping[str, object]) -> MemorySystem:
    """Remembers nothing and says so."""
    return NoMemorySystem(build_card("none", read_options("none", config, NoOptions), ()))
