"""Fixtures of this folder."""

from tests.fixtures.judging_rubric import _no_proxy  # noqa: F401
