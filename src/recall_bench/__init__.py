"""Measure what an agent remembers."""
