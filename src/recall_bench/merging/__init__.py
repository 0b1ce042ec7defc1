"""Journals of one plan, carried out apart, made into one."""
