"""Adapters for products, each in an environment of its own."""

from recall_bench.core.feature import Feature

HERE = "recall_bench.features.products"

FEATURE = Feature(
    name="products",
    systems={
        "chroma": f"{HERE}.chroma:product",
        "files": f"{HERE}.files:product",
        "hebb-mind": f"{HERE}.hebb_mind:product",
        "lancedb": f"{HERE}.lancedb:product",
        "langmem": f"{HERE}.langmem:product",
        "llama-index": f"{HERE}.llama_index:product",
        "mem0": f"{HERE}.mem0:product",
        "mempalace": f"{HERE}.mempalace:product",
        "qdrant": f"{HERE}.qdrant:product",
        "txtai": f"{HERE}.txtai:product",
        "cognee": f"{HERE}.cognee:product",
        "graphiti": f"{HERE}.graphiti:product",
        "hindsight": f"{HERE}.hindsight:product",
        "letta": f"{HERE}.letta:product",
        "supermemory": f"{HERE}.supermemory:product",
        "zep": f"{HERE}.zep:product",
    },
)
