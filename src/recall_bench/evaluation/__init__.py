"""Public datasets, measured by what their ground truth really is.

    evaluate(assemble_evaluation(request, open_dataset(request))) -> Evaluated

A request names a dataset and a protocol. `opening` reads the dataset and `assembly` makes a job of
it, which the engine carries out like any other; `controls` runs the floors and ceilings beside it;
`scoring` measures every question from the journal and the dataset, with what was found in `found`;
`estimates` makes figures of them, `report` and `markdown` tell them, and `numbering` writes them.
The protocols, each with its sticky version, are in `methodologies`.
"""
