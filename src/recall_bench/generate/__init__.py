"""The passes that write a dataset: persona, days, conversations, tool calls, questions.

Every pass is made of units (a day, a window of days) that are written whole and skipped when they
are there. What a model replied is on record before anything is made of it, so nothing is paid for
twice however a pass ends.
"""
