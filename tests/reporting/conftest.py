"""Fixtures of this folder."""

from tests.fixtures.cli import adapter, data, without_bounds  # noqa: F401
from tests.fixtures.reporting import finished, story  # noqa: F401
