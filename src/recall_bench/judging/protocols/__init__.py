"""How public datasets are graded, each way by a name, a version and a digest.

    registry.find("locomo/official").grade(Submission(...)) -> Score
    await registry.find("longmemeval/official-rules").grade(Submission(...), model) -> Score

Every protocol takes one `Submission` (score.py) and gives one `Score` from 0 to 1. Those that
compute are plain functions; those that ask a language model are async and take it as an argument.
A protocol that follows a dataset's own script to the digit is called `official`; one that keeps
its rules in our words is `official-rules`; the others are ours and say what they do differently.
The modules' docstrings hold the rules: locomo, longmemeval, choice, matching.
"""
