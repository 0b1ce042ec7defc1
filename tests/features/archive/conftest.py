"""Fixtures of this folder."""

from tests.fixtures.cli import adapter, data, without_bounds  # noqa: F401
from tests.fixtures.runs_importing import files, imported, opened  # noqa: F401
