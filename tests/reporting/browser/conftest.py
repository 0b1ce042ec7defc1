"""Fixtures of this folder."""

from tests.fixtures.reporting_browser import browser, explorer, shared_tab, tab, visit  # noqa: F401
