"""Fixtures of this folder."""

from tests.fixtures.reporting_exports import runs  # noqa: F401
