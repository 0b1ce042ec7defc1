"""Fixtures of this folder."""

from tests.written_runs import story

__all__ = ["story"]
