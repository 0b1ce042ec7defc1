"""Fixtures of this folder."""

from tests.fixtures.runs import finished, story  # noqa: F401
