"""Fixtures of this folder."""

from tests.fixtures.running import rehearsal  # noqa: F401
from tests.fixtures.running_pool import none_left  # noqa: F401
