"""Public datasets, measured by what their ground truth really is.

    evaluate(assemble_evaluation(settings, request)) -> Evaluated

A request names a dataset and a protocol. `assembly` makes a job of it, which the engine carries
out like any other; `controls` runs the floors and ceilings beside it; `scoring` measures every
question from the journal and the dataset; `estimates` makes figures of them, and `report` and
`markdown` tell them. The protocols, each with its sticky version, are in `methodologies`.
"""
