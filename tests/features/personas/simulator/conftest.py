"""Fixtures of this folder."""

from tests.fixtures.generate_world import built  # noqa: F401
