"""Public datasets as files: where they come from, where they lie, and what they hold."""

from recall_bench.downloading.places import is_pinned, layer_file, located

__all__ = ["is_pinned", "layer_file", "located"]
