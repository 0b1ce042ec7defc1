"""How public datasets are graded; every protocol has a name, a version and a digest.

    registry.find_protocol("locomo/official").grade(Submission(...)) -> ProtocolScore
    await registry.find_protocol("longmemeval/official-rules").grade(Submission(...), model)

A protocol takes one `Submission` and returns one `ProtocolScore` from 0 to 1. One that computes is
a plain function; one that asks a language model is async and takes the model as an argument.
`official` follows a dataset's own script to the digit, `official-rules` keeps its rules in our
words, and the others are ours. The modules state the rules: string_match, longmemeval_protocol and
multiple_choice.
"""
