"""Fixtures of this folder."""

from tests.fixtures.runs_importing import files, imported, opened  # noqa: F401
