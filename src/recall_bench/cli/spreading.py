"""Options that say where the work of a run is done."""

import click

from recall_bench.cli.asking import combine_options
from recall_bench.cli.options import COUNT, make_choice, option
from recall_bench.settings import Executor

worker_options = combine_options(
    (
        option(
            "--executor",
            type=make_choice(Executor),
            help="Do the work in this process, in several, or on a Ray cluster [local].",
        ),
        option("--workers", type=COUNT, help="How many do the work [one a processor]."),
        option(
            "--ray-address",
            metavar="ADDRESS",
            help="The cluster of --executor ray, as HOST:PORT or auto [one started for the run].",
        ),
        option(
            "--worker-cpus",
            type=click.FloatRange(min=0),
            metavar="CPUS",
            help="What of a machine a worker on the cluster takes [1, or less if they are many].",
        ),
        option(
            "--worker-env",
            multiple=True,
            metavar="NAME",
            help="A variable that workers on the cluster are given. Can be repeated.",
        ),
    )
)
"""Who does the work. It changes no result."""
