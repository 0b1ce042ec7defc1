"""Suites of `.bench` files: whether the right memory files are recalled."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.selection"

FEATURE = Feature(
    name="selection",
    commands=(
        Command(
            name="select",
            target=f"{HERE}.select_command:select_command",
            help="Test whether an agent recalls exactly the right memory files.",
            section="Run",
        ),
    ),
)
