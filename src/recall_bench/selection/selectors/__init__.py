"""Whoever picks memories for a prompt, one a file."""
