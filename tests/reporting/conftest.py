"""The fixtures of a small run that is written event by event."""

from tests.written_runs import finished, story

__all__ = ["finished", "story"]
