"""Selection suites: whether an agent recalls exactly the right memory files for a prompt.

A suite is a folder of memories and a folder of `.bench` tests. `files` reads and writes the
formats, `suite` makes a scenario of them, `selectors` are whoever picks, and the engine runs them
like any system; `scoring` classes each test as PERFECT, OVERRECALL or UNDERRECALL.
"""
