"""Public datasets as files: where they come from, where they lie, and what they hold."""

from recall_bench.downloading.places import check_pin, find_download, find_layer_file

__all__ = ["check_pin", "find_download", "find_layer_file"]
