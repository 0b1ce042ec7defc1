"""Adapters served to other processes."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.serving"

FEATURE = Feature(
    name="serving",
    commands=(
        Command(
            name="serve",
            target=f"{HERE}.serve_command:serve_command",
            help="Serve an adapter to other processes: gRPC, HTTP or JSON lines.",
            section="Run",
        ),
    ),
)
