"""Fixtures of this folder."""

from tests.fixtures.systems_endpoint import endpoint, shared, threads  # noqa: F401
