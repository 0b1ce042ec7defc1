"""Selectors: what picks the memories for a prompt."""
