"""Systems that are broken on purpose, each in one way, and the scripted ones of our tests.

From a checkout: `recall-bench doctor tests.faulty.faults:DropsWrites`.
"""
