"""Passes that write a dataset: persona, days, conversations, tool calls, questions.

A pass consists of units (a day, a window of days). Each is written whole, and skipped if it exists.
Every reply of a model is logged before it is used, so no call is paid for twice.
"""
