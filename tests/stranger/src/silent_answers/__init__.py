"""What the feature adds. Its code is named here and imported when it is used."""

from recall_bench.core.feature import Command, Feature

FEATURE = Feature(
    name="silent-answers",
    commands=(
        Command(
            name="count-silent",
            target="silent_answers.command:count_silent_command",
            help="Count the empty answers of a run.",
        ),
    ),
    systems={"silent": "silent_answers.system:build_silent"},
    loaders={"two-lines": "silent_answers.loader:load_two_lines"},
    rows={"silent": "silent_answers.row:build_silent_row"},
)
