"""Fixtures of this folder."""

from tests.fixtures.cli import adapter, data, without_bounds  # noqa: F401
from tests.fixtures.running import rehearsal  # noqa: F401
from tests.fixtures.running_matrix import _sketched_matrix, broken, write  # noqa: F401
