"""Fixtures of this folder."""

from tests.fixtures.models import nobodys_environment  # noqa: F401
