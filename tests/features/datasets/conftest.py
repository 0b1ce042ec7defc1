"""Fixtures of this folder."""

from tests.fixtures.cli import adapter, data, without_bounds  # noqa: F401
from tests.fixtures.datasets_download import cache, publish, server, watch  # noqa: F401
