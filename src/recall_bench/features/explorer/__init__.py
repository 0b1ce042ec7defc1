"""Runs in the browser."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.explorer"

FEATURE = Feature(
    name="explorer",
    commands=(
        Command(
            name="view",
            target=f"{HERE}.view_command:view_command",
            help="Explore runs in the browser: compare them, read and label answers.",
            section="Understand",
            is_first=True,
        ),
    ),
)
