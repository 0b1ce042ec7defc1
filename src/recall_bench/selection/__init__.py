"""Selection suites: whether an agent recalls exactly the right memory files for a prompt.

A suite is a folder of memories and a folder of `.bench` tests. `files` reads and writes the
formats, `suite` makes a scenario of them, `selectors` are whoever picks, and the engine runs them
like any system; `scoring` says when a selection is PERFECT, OVERRECALL or UNDERRECALL, `outcomes`
classes every test of a run, `summary` adds them up, `report` and `results` tell them, and
`prompt_log` remembers them. `power` says what so many tests can tell, `generate` makes new ones.
"""
