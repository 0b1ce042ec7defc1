"""Fixtures of this folder."""

from tests.fixtures.systems_agents import agents, garden  # noqa: F401
