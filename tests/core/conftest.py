"""Fixtures of this folder."""

from tests.fixtures.generate_world import bakery, built  # noqa: F401
