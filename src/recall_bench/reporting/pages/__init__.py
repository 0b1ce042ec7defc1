"""A report as one HTML file that opens from a disk and asks nothing of any network."""

from recall_bench.reporting.pages.page import write_page

__all__ = ["write_page"]
