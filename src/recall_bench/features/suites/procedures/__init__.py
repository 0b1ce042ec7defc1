"""Conventions stated over weeks, and tasks that show whether they are kept."""
