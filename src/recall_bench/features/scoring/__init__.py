"""Answers and rankings that were made elsewhere, scored as a run."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.scoring"

FEATURE = Feature(
    name="scoring",
    commands=(
        Command(
            name="score",
            target=f"{HERE}.score_command:score_command",
            help="Score answers or rankings that you made elsewhere, without a system.",
            section="Run",
        ),
    ),
    forms={
        "answers": f"{HERE}.recorded_system:build_recorded_answers",
        "rankings": f"{HERE}.recorded_system:build_recorded_rankings",
    },
)
