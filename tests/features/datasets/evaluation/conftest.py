"""Fixtures of this folder."""

from tests.fixtures.running import rehearsal  # noqa: F401
